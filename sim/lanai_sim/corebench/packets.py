"""A NIC in plain Python that packets from a file come to: what event-driven firmware needs to run without a bench.

There is no host: nothing rings the doorbell, and a copy from or to host memory fails as on a bus without memory.
"""

from collections import deque
from collections.abc import Iterable
from pathlib import Path

from lanai_firmware.iss import Processor
from lanai_firmware.iss.memory import RegisterPort
from lanai_firmware.lang import Machine
from lanai_firmware.nic.model import HostMemory, Nic, Packet
from lanai_firmware.nic.model.nic import BY_ADDRESS
from lanai_hdl.config import NicConfig
from lanai_hdl.machine import REGISTERS_LOCAL, Verdict
from lanai_host.errors import UserError

LOOKED_AT = ("ISR", "RECV_VERDICT", "RECV_STATUS", "RECV_DONE", "SEND_DONE", "SEND_STATUS")  # by firmware that polls


def read_packets(path: str) -> list[Packet]:
    """The packets of a file, in hexadecimal, one a line; `#` begins a comment, `!` before a packet spoils its CRC."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(
            f"cannot read --packets {path!r}: {why}; name a file with a packet in hexadecimal a line"
        ) from error
    found = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        digits = text.removeprefix("!")
        try:
            data = bytes.fromhex(digits)
        except ValueError:
            raise UserError(
                f"{path}:{number}: {digits.strip()!r} is not a packet; write its bytes, as in 0001 ff"
            ) from None
        if len(data) % 4:
            raise UserError(
                f"{path}:{number}: a packet of {len(data)} bytes is not whole words; fill it up to a multiple of 4"
            )
        if data:
            found.append(Packet(0, data, int(Verdict.VALID | Verdict.CRC if text != digits else Verdict.VALID)))
    return found


class Idle(Exception):
    """The firmware waits, and nothing can happen any more."""


class FedNic(Nic):
    """A NIC that gets these packets, as soon as it takes them. It moves on while the firmware waits or polls."""

    def __init__(self, packets: Iterable[Packet], config: NicConfig) -> None:
        super().__init__(HostMemory(), lambda: None, config)
        self.machine = Machine(config.sram_size, registers=self)
        self.coming, self.came = deque(packets), 0

    def read(self, address: int) -> int:
        if self._name(address) in LOOKED_AT:
            self._step()
        return super().read(address)

    def write(self, address: int, value: int) -> None:
        name = self._name(address)
        super().write(address, value)
        while name == "WAIT" and value and not self.events() & value:
            if not self._step():
                if not self.armed:
                    raise Idle
                self.tick()

    @staticmethod
    def _name(address: int) -> str:
        if address not in BY_ADDRESS:
            raise UserError(
                f"the register at {address:#x} is not in the model of a NIC; it has {', '.join(BY_ADDRESS.values())}"
            )
        return BY_ADDRESS[address]

    def _step(self) -> bool:
        """Let one engine act: what is under way goes first."""
        if self.arriving:
            self.finish()
        elif self.may_copy():
            self.copy()
        elif self.may_send():
            self.send()
        elif self.coming and self.accepts():
            self.accept(self.coming.popleft())
            self.came += 1
        else:
            return False
        return True


class OfProcessor(RegisterPort):
    """The registers of a NIC as the golden model meets them, whose SRAM is that of the NIC from here on."""

    def __init__(self, nic: FedNic) -> None:
        self.nic = nic

    def connect(self, processor: Processor) -> None:
        self.nic.machine.sram = _Sram(processor)  # type: ignore[assignment]

    def read(self, offset: int) -> int:
        return self.nic.read(REGISTERS_LOCAL + offset)

    def write(self, offset: int, value: int) -> bool:
        try:
            self.nic.write(REGISTERS_LOCAL + offset, value)
        except Idle:
            return True
        return False


class _Sram:
    """The memory of the golden model, as the engines of a NIC read and write it."""

    def __init__(self, processor: Processor) -> None:
        self.processor = processor

    def __getitem__(self, part: slice) -> bytes:
        return self.processor.memory.read(part.start, part.stop - part.start)

    def __setitem__(self, part: slice, data: bytes) -> None:
        self.processor.write(part.start, bytes(data))
