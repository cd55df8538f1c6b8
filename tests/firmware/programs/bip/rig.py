"""NICs of the Python model that run the BIP firmware, and the barest of hosts: memory at BASE, requests,
landings and long sends by hand."""

import struct

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.nic.model import Fabric
from lanai_firmware.programs.bip import layout, state
from lanai_firmware.programs.bip.layout import (
    CHANNEL_SHIFT,
    IS_PART,
    LANDED_AT,
    LENGTH,
    MARKED,
    NODE_AT,
    NUMBER_AT,
    RINGS_AT,
    SLOT,
    SLOTS,
    Border,
    Landing,
    Long,
    Word,
    host_bytes,
)
from lanai_firmware.programs.bip.main import turn
from lanai_firmware.programs.bip.sending import write_heads
from lanai_hdl.config import lanai41

from .. import rig
from ..rig import VALID

BASE = 0x1000_0000
WINDOW = 0x1000_0000
PAGE = 4096
USER = 0x1200_0000  # pages of the program's memory
USER_BYTES = 80 * PAGE


class Host(rig.RingHost):
    """One rank: its memory, and what it asks for."""

    def __init__(self, fabric, number):
        super().__init__(fabric, number, state, layout)
        self.longs = 0
        self.landings = [0] * len(fabric.nics)
        self.taken = [0] * len(fabric.nics)
        self.memory = bytearray(host_bytes(len(fabric.nics)))
        self.user = bytearray(USER_BYTES)
        self.nic.memory.add(BASE, memoryview(self.memory))
        self.nic.memory.add(USER, memoryview(self.user))
        with self.nic.machine:
            state.nic.config.node, state.nic.config.window = number, WINDOW
            write_heads()
        self.write("base", BASE)

    def send(self, node, data, what=None):
        """Ask for a short packet. `what`: the word as the rank writes it."""
        self.asked += 1
        self.post(data + struct.pack(">II", node << 16 | len(data) if what is None else what, self.asked))

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
        place = self.taken[node] % int(SLOTS)
        end = int(RINGS_AT) + (node << int(CHANNEL_SHIFT)) + (place + 1) * int(SLOT)
        mark = self._at(end - 4)
        if not mark:
            return None
        self.memory[end - 4 : end] = bytes(4)
        self.taken[node] += 1
        return bytes(self.memory[end - 4 - (mark & int(LENGTH)) : end - 4])

    def all_arrived(self, node):
        return list(iter(lambda: self.arrived(node), None))

    def _at(self, offset):
        return int.from_bytes(self.memory[offset : offset + 4], "big")


def play(count, **nic):
    """NICs whose ranks have begun, and their hosts. `nic`: of their configuration."""
    fabric = Fabric(count, turn, lanai41().but(**nic))
    hosts = [Host(fabric, number) for number in range(count)]
    fabric.run()
    return fabric, hosts


def mark(node, number, length, *, part=False):
    return int(MARKED) | int(IS_PART) * part | node << int(NODE_AT) | (number & 0xFF) << int(NUMBER_AT) | length


def arrive(fabric, target, data, word, verdict=VALID):
    """A packet with that last word comes to a NIC, whoever made it."""
    rig.arrive(fabric, target, data + word.to_bytes(4, "big"), verdict)


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
