"""NICs of the Python model that run the put firmware, and the barest of hosts: heaps, and requests
by hand."""

import struct
from collections import deque

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.nic.model import Fabric, Packet
from lanai_firmware.programs.put import state
from lanai_firmware.programs.put.layout import COUNTERS, KIND_AT, RING, Ask, Border, Counter, Kind, Request
from lanai_firmware.programs.put.main import turn
from lanai_hdl.machine import Verdict

HEAP = 0x1000_0000
SIZE = 0x4000
NIC = f"{state.__name__}.nic", state.Nic
FIELDS = struct.Struct(">5I")
ASK = struct.Struct(">2I")
assert ASK.size == int(sizeof(Ask))


class Host:
    """One rank: its heap, at HEAP on its bus, and its requests."""

    def __init__(self, fabric, number, adaptive):
        self.nic, self.number, self.asked = fabric.nics[number], number, 0
        self.heap = bytearray(SIZE)
        self.nic.memory.add(HEAP, memoryview(self.heap))
        self.nic.latch |= {"SCRATCH1": number, "SCRATCH2": adaptive}
        with self.nic.machine as machine:
            machine.place(*NIC)
            state.nic.config.nodes = len(fabric.nics)
            for node in range(len(fabric.nics)):
                state.nic.config.routes[node] = route(node)
            self.border = state.nic._address + int(offset_of(state.Nic, "border"))
        self.write("heap", HEAP)

    def write(self, member, value):
        self.nic.pio_write(self.border + int(offset_of(Border, member)), value.to_bytes(4, "big"))
        self.nic.ring(1)

    def read(self, member):
        return int.from_bytes(self.nic.pio_read(self.border + int(offset_of(Border, member)), 4), "big")

    def request(self, node, kind, address, length, inline=b"", source=0):
        self.asked += 1
        fields = FIELDS.pack(node, address, length | kind << int(KIND_AT), source, self.asked)
        end = self.border + ((self.asked - 1) % int(RING) + 1) * int(sizeof(Request))
        self.nic.pio_write(end - len(fields) - len(inline), inline + fields)
        self.nic.ring(1)

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
        place = self.border + (request - 1) % int(RING) * int(sizeof(Request))
        for name, value in members.items():
            self.nic.pio_write(place + int(offset_of(Request, name)), value.to_bytes(4, "big"))


def route(node):
    return (0x80 | node) << 24


def play(count, adaptive=0, turn=turn):
    """NICs that have begun, and their hosts."""
    fabric = Fabric(count, turn)
    hosts = [Host(fabric, number, adaptive) for number in range(count)]
    return fabric, hosts


def arrive(fabric, target, address, length, number, data=b"", verdict=int(Verdict.VALID)):
    """A packet that no sound NIC sends comes to a NIC."""
    wire = fabric.wires.setdefault((len(fabric.nics), target), deque())
    wire.append(Packet(route(target), struct.pack(">3I", address, length, number) + data, verdict))


FREE = 4 * int(COUNTERS)  # the first byte of a heap that the NIC does not write
CRC = int(Verdict.VALID | Verdict.CRC)
