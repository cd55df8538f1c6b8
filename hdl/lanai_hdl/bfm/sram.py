"""The LBUS and its SRAM, as one requester sees them."""

import random

from .pins import Pins


class SramModel:
    """Grants and performs the requests of one `LbusMaster`; `refuse` is the chance that a slot is
    somebody else's.

    `data` is the SRAM; `log` keeps (write, address, be) of every access.
    """

    def __init__(self, pins: Pins, size: int, *, refuse: float = 0.0, seed: int = 0) -> None:
        self.pins = pins
        self.data = bytearray(size)
        self.refuse = refuse
        self.chance = random.Random(seed)
        self.log: list[tuple[bool, int, int]] = []

    async def serve(self) -> None:
        """Serves for ever. The grant of a slot is decided before its request is known, as other
        requesters' needs are."""
        rdata = 0
        while True:
            offered = int(self.chance.random() >= self.refuse)
            self.pins.set(grant=0, rdata=rdata)
            request, write, addr, wdata, be = await self.pins.settled("request", "write", "addr", "wdata", "be")
            self.pins.set(grant=int(offered and request))
            await self.pins.step()
            rdata = self.chance.getrandbits(32)  # no read, no promise
            if not (offered and request):
                continue
            self.log.append((bool(write), addr, be if write else 0b1111))
            if write:
                for lane, byte in enumerate(wdata.to_bytes(4, "big")):
                    if be >> (3 - lane) & 1:
                        self.data[addr + lane] = byte
            else:
                rdata = int.from_bytes(self.data[addr : addr + 4], "big")
