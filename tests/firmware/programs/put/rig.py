"""NICs of the Python model that run the put firmware, and the barest of hosts: heaps, and requests
by hand."""

import struct

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.nic.model import Fabric
from lanai_firmware.programs.put import layout, state
from lanai_firmware.programs.put.layout import COUNTERS, KIND_AT, Ask, Counter, Kind, Request
from lanai_firmware.programs.put.main import turn

from .. import rig
from ..rig import VALID

HEAP = 0x1000_0000
SIZE = 0x4000
FIELDS = struct.Struct(">5I")
ASK = struct.Struct(">2I")
assert ASK.size == int(sizeof(Ask))


class Host(rig.RingHost):
    """One rank: its heap, at HEAP on its bus, and its requests."""

    def __init__(self, fabric, number, adaptive):
        super().__init__(fabric, number, state, layout)
        self.heap = bytearray(SIZE)
        self.nic.memory.add(HEAP, memoryview(self.heap))
        self.nic.latch |= {"SCRATCH1": number, "SCRATCH2": adaptive}
        self.write("heap", HEAP)

    def request(self, node, kind, address, length, inline=b"", source=0):
        self.asked += 1
        self.post(inline + FIELDS.pack(node, address, length | kind << int(KIND_AT), source, self.asked))

    def put(self, node, address, data):
        self.request(node, Kind.PUT, address, len(data), data)

    def ask(self, node, kind, address, result, length=4, operand=0):
        self.request(node, kind, address, length, ASK.pack(HEAP + result, operand))

    def word(self, offset):
        return int.from_bytes(self.heap[offset : offset + 4], "big")

    def set_word(self, offset, value):
        self.heap[offset : offset + 4] = value.to_bytes(4, "big")

    def counter(self, which: Counter):
        return self.word(4 * which)

    def counted(self, which: Counter):
        """Return a counter of the NIC, even if the host does not know its value yet."""
        with self.nic.machine:
            return int(state.nic.counters[which])

    def overwrite(self, request, **members):
        """Change words of a request, the first of which is 1, after the NIC was notified of it."""
        for name, value in members.items():
            self.nic.pio_write(self.place(request) + int(offset_of(Request, name)), value.to_bytes(4, "big"))


def play(count, adaptive=0, turn=turn):
    """NICs that have begun, and their hosts."""
    fabric = Fabric(count, turn)
    hosts = [Host(fabric, number, adaptive) for number in range(count)]
    return fabric, hosts


def arrive(fabric, target, address, length, number, data=b"", verdict=VALID):
    """A packet comes to a NIC, whoever made it."""
    rig.arrive(fabric, target, struct.pack(">3I", address, length, number) + data, verdict)


FREE = 4 * int(COUNTERS)  # the first byte of a heap that the NIC does not write
