"""Parts of the rigs of all firmwares: hosts with a ring of requests, packets that no sound NIC sends, and engines
that stand still while all else goes on."""

from collections import deque

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.nic.model import Packet
from lanai_hdl.machine import Verdict

VALID, CRC = int(Verdict.VALID), int(Verdict.VALID | Verdict.CRC)


class RingHost:
    """One rank on a NIC: its words in the SRAM there, and its requests, which `asked` counts. `state` and `layout` are
    the firmware's modules."""

    def __init__(self, fabric, number, state, layout):
        self.nic, self.number, self.asked = fabric.nics[number], number, 0
        self.state, self.layout = state, layout
        with self.nic.machine as machine:
            machine.place(f"{state.__name__}.nic", state.Nic)
            state.nic.config.nodes = len(fabric.nics)
            for node in range(len(fabric.nics)):
                state.nic.config.routes[node] = route(node)
            self.border = state.nic._address + int(offset_of(state.Nic, "border"))

    def write(self, member, value):
        self.nic.pio_write(self.border + int(offset_of(self.layout.Border, member)), value.to_bytes(4, "big"))
        self.nic.ring(1)

    def read(self, member):
        return int.from_bytes(self.nic.pio_read(self.border + int(offset_of(self.layout.Border, member)), 4), "big")

    def place(self, request):
        """Return where a request is, the first of which is 1."""
        return self.border + (request - 1) % int(self.layout.RING) * int(sizeof(self.layout.Request))

    def post(self, data):
        """Write the last bytes of the request that was asked for last."""
        self.nic.pio_write(self.place(self.asked) + int(sizeof(self.layout.Request)) - len(data), data)
        self.nic.ring(1)


def route(node):
    return (0x80 | node) << 24


def arrive(fabric, target, data, verdict=VALID):
    """A packet that no sound NIC sends comes to a NIC."""
    fabric.wires.setdefault((len(fabric.nics), target), deque()).append(Packet(route(target), data, verdict))


def pattern(size, number=0):
    return bytes((7 * n + 31 * number + 1) % 251 for n in range(size))


def go_on(fabric, *held, limit=1000):
    """Let everything happen until nothing else can, but what is `held`, such as ("copy", 1): the host DMA
    of NIC 1. No timer goes off."""
    for _ in range(limit):
        actions = [action for action in fabric.actions() if action[:2] not in held and action[0] != "tick"]
        if not actions:
            return
        for action in actions:
            fabric.act(action)
    raise AssertionError(f"the NICs are still busy after {limit} rounds")
