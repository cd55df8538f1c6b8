"""NICs of the Python model that run the BIP firmware, and the barest of hosts: memory at BASE, requests,
landings and long sends by hand."""

import struct
from collections import deque

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.nic.model import Fabric, Packet
from lanai_firmware.programs.bip import state
from lanai_firmware.programs.bip.layout import (
    CHANNEL_SHIFT,
    IS_PART,
    LANDED_AT,
    LENGTH,
    MARKED,
    NODE_AT,
    NUMBER_AT,
    RING,
    RINGS_AT,
    SLOT,
    SLOTS,
    Border,
    Landing,
    Long,
    Request,
    Word,
    host_bytes,
)
from lanai_firmware.programs.bip.main import turn
from lanai_firmware.programs.bip.sending import write_heads
from lanai_hdl.config import lanai41
from lanai_hdl.machine import Verdict

BASE = 0x1000_0000
WINDOW = 0x1000_0000
PAGE = 4096
USER = 0x1200_0000  # pages of the program's memory
USER_BYTES = 80 * PAGE
NIC = f"{state.__name__}.nic", state.Nic
CRC = int(Verdict.VALID | Verdict.CRC)


class Host:
    """One rank: its memory, and what it asks for."""

    def __init__(self, fabric, number):
        self.nic, self.number = fabric.nics[number], number
        self.asked = self.longs = 0
        self.landings = [0] * len(fabric.nics)
        self.read = [0] * len(fabric.nics)
        self.memory = bytearray(host_bytes(len(fabric.nics)))
        self.user = bytearray(USER_BYTES)
        self.nic.memory.add(BASE, memoryview(self.memory))
        self.nic.memory.add(USER, memoryview(self.user))
        with self.nic.machine as machine:
            machine.place(*NIC)
            config = state.nic.config
            config.node, config.nodes, config.window = number, len(fabric.nics), WINDOW
            for node in range(len(fabric.nics)):
                config.routes[node] = route(node)
            write_heads()
            self.border = state.nic._address + int(offset_of(state.Nic, "border"))
        self.write("base", BASE)

    def write(self, member, value):
        self.nic.pio_write(self.border + int(offset_of(Border, member)), value.to_bytes(4, "big"))
        self.nic.ring(1)

    def released(self):
        return int.from_bytes(self.nic.pio_read(self.border + int(offset_of(Border, "released")), 4), "big")

    def send(self, node, data, what=None):
        """Ask for a short packet. `what`: the word as the rank writes it."""
        self.asked += 1
        fields = struct.pack(">II", node << 16 | len(data) if what is None else what, self.asked)
        end = self.place(self.asked) + int(sizeof(Request))
        self.nic.pio_write(end - len(fields) - len(data), data + fields)
        self.nic.ring(1)

    def place(self, request):
        """Return where a request is, the first of which is 1."""
        return self.border + (request - 1) % int(RING) * int(sizeof(Request))

    def land(self, node, size, first=0, pages=None):
        self.landings[node] += 1
        start = self.border + int(offset_of(Border, "landings")) + node * int(sizeof(Landing))
        self.describe(start, int(offset_of(Landing, "first")), pages, (first, size, self.landings[node]))

    def send_long(self, node, size, first=0, packet=1024, pages=None):
        self.longs += 1
        start = self.border + int(offset_of(Border, "long"))
        self.describe(start, int(offset_of(Long, "node")), pages, (node, first, size, packet, self.longs))
        self.nic.ring(1)

    def describe(self, start, end_at, pages, end):
        pages = range(USER, USER + 64 * PAGE, PAGE) if pages is None else pages
        self.nic.pio_write(start, b"".join(page.to_bytes(4, "big") for page in pages))
        self.nic.pio_write(start + end_at, struct.pack(f">{len(end)}I", *end))

    def word(self, which):
        return self._at(4 * which)

    def counted(self, which):
        """Return a word of the NIC, even if the host does not know its value yet."""
        with self.nic.machine:
            return int(state.nic.words[which])

    def landed(self, node):
        return self._at(int(LANDED_AT) + 4 * node)

    def arrived(self, node):
        """Take the next packet out of a ring; None if there is none."""
        place = self.read[node] % int(SLOTS)
        end = int(RINGS_AT) + (node << int(CHANNEL_SHIFT)) + (place + 1) * int(SLOT)
        mark = self._at(end - 4)
        if not mark:
            return None
        self.memory[end - 4 : end] = bytes(4)
        self.read[node] += 1
        return bytes(self.memory[end - 4 - (mark & int(LENGTH)) : end - 4])

    def all_arrived(self, node):
        return list(iter(lambda: self.arrived(node), None))

    def _at(self, offset):
        return int.from_bytes(self.memory[offset : offset + 4], "big")


def route(node):
    return (0x80 | node) << 24


def play(count, **nic):
    """NICs whose ranks have begun, and their hosts. `nic`: of their configuration."""
    fabric = Fabric(count, turn, lanai41().but(**nic))
    hosts = [Host(fabric, number) for number in range(count)]
    fabric.run()
    return fabric, hosts


def mark(node, number, length, *, part=False):
    return int(MARKED) | int(IS_PART) * part | node << int(NODE_AT) | (number & 0xFF) << int(NUMBER_AT) | length


def arrive(fabric, target, data, word, verdict=int(Verdict.VALID)):
    """A packet that no sound NIC sends comes to a NIC."""
    wire = fabric.wires.setdefault((len(fabric.nics), target), deque())
    wire.append(Packet(route(target), data + word.to_bytes(4, "big"), verdict))


def pattern(size, number=0):
    return bytes((7 * n + 31 * number + 1) % 251 for n in range(size))


def innocent(hosts, but):
    """The other hosts know of no fault, and no byte of theirs has changed."""
    for host in hosts:
        if host is not but:
            assert host.counted(Word.FAULTS) == 0
            assert not any(host.user)
            assert not any(host.memory[int(RINGS_AT) :])


def still_works(fabric, hosts):
    """Each rank sends to each, itself too, a short message and a long one."""
    for host in hosts:
        for peer in hosts:
            peer.land(host.number, 3000, first=100)
            host.send(peer.number, b"test" + bytes([host.number, peer.number, 0, 0]))
            host.send_long(peer.number, 3000, first=5000 % PAGE, packet=1024)
            fabric.run()
            assert peer.all_arrived(host.number)[-1] == b"test" + bytes([host.number, peer.number, 0, 0])
            assert peer.landed(host.number) == peer.landings[host.number]
            assert host.word(Word.LONGS) == host.longs
