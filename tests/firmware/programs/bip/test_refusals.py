"""Requests that a rank may not make, and packets that no sound NIC sends: each is a fault of the rank that it
belongs to, and of no other."""

import ast
from collections import Counter

import pytest

from lanai_firmware.programs.bip import common, receiving, reporting, sending, state
from lanai_firmware.programs.bip import main as bip_main
from lanai_firmware.programs.bip.layout import HEAD, NODES, PAGES, PART, SHORT, Word, host_bytes

from ..mutants import functions_of, tree_of
from ..rig import CRC, pattern
from .rig import BASE, PAGE, USER, WINDOW, arrive, innocent, mark, play, still_works

FOREIGN = 0x2200_0000  # a page in another rank's window
NOWHERE = 0x1F00_0000  # one of this rank's that is not there
SPACE = int(PAGES) * PAGE

REQUESTS = {
    "the node behind the last": 3 << 16 | 8,
    "a node whose number ends like that of one": (256 + 1) << 16 | 8,
    "no bytes": 1 << 16,
    "bytes that are not words": 1 << 16 | 6,
    "more bytes than a request has": 1 << 16 | int(SHORT) + 4,
}


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_for_what_there_is_not_is_refused(what):
    """It counts as a fault and as done at its own NIC, nothing leaves, and requests behind it go on."""
    fabric, hosts = play(3)
    sent = []
    fabric.filter = lambda source, target, packet: sent.append(packet) or [packet]
    hosts[0].send(1, b"whatever", REQUESTS[what])
    fabric.run()
    assert not sent
    assert (hosts[0].word(Word.FAULTS), hosts[0].word(Word.LEFT)) == (1, 1)
    innocent(hosts, but=hosts[0])
    still_works(fabric, hosts)
    assert hosts[0].word(Word.FAULTS) == 1


LONGS = {
    "the node behind the last": {"node": 3},
    "no bytes": {"size": 0},
    "more bytes than it has pages": {"size": SPACE + PAGE + 1},
    "more bytes than its pages hold from there on": {"size": SPACE + PAGE, "first": 1},
    "a first byte that is not in the first page": {"first": PAGE},
    "packets of no bytes": {"packet": 0},
    "packets that are not words": {"packet": 1022},
    "packets that are too long": {"packet": int(PART) + 4},
}


@pytest.mark.parametrize("what", LONGS)
def test_a_long_send_that_there_cannot_be_is_refused(what):
    fabric, hosts = play(3)
    sent = []
    fabric.filter = lambda source, target, packet: sent.append(packet) or [packet]
    hosts[0].send_long(**{"node": 1, "size": 5000} | LONGS[what])
    fabric.run()
    assert not sent
    assert (hosts[0].word(Word.FAULTS), hosts[0].word(Word.LONGS)) == (1, 1)
    innocent(hosts, but=hosts[0])
    still_works(fabric, hosts)
    assert hosts[0].word(Word.FAULTS) == 1


@pytest.mark.parametrize("page", [FOREIGN, NOWHERE])
def test_a_page_that_is_not_the_ranks_own_is_not_read(page):
    """It is a fault here. Nothing of the packet leaves, so that the receiver notices the gap."""
    fabric, (one, two) = play(2)
    one.nic.memory.add(FOREIGN, memoryview(bytearray(b"secret".ljust(PAGE))))
    two.land(0, 3 * PAGE)
    one.send_long(1, 3 * PAGE, packet=4096, pages=[USER, page, USER + PAGE])
    fabric.run()
    assert (one.word(Word.FAULTS), one.word(Word.LONGS), two.word(Word.FAULTS)) == (1, 1, 1)
    assert b"secret" not in two.user
    assert not two.landed(0)
    assert one.nic.bus_errors == (page == NOWHERE)


@pytest.mark.parametrize("page", [FOREIGN, NOWHERE])
def test_a_page_that_is_not_the_ranks_own_is_not_written(page):
    fabric, (one, two) = play(2)
    foreign = bytearray(PAGE)
    two.nic.memory.add(FOREIGN, memoryview(foreign))
    one.user[: 3 * PAGE] = pattern(3 * PAGE)
    two.land(0, 3 * PAGE, pages=[USER, page, USER + PAGE])
    one.send_long(1, 3 * PAGE)
    fabric.run()
    assert two.word(Word.FAULTS) >= 1
    assert one.word(Word.FAULTS) == 0
    assert not any(foreign)


def test_memory_that_is_not_the_ranks_own_is_not_its_base():
    fabric, (one, two) = play(2)
    foreign = bytearray(0x8000)
    with two.nic.machine:
        state.nic.base = 0
    two.nic.memory.add(FOREIGN, memoryview(foreign))
    two.write("base", FOREIGN)
    one.send(1, b"data")
    fabric.run()
    assert not any(foreign)
    assert two.counted(Word.FAULTS) == 1
    two.write("base", BASE)
    fabric.run()
    assert two.all_arrived(0) == [b"data"]


def test_no_ring_reaches_behind_the_window():
    """The base may be so near the window's end that all just fits, and no nearer."""
    fabric, (one, two) = play(2)
    end, size = 2 * WINDOW, host_bytes(2)
    with two.nic.machine:
        state.nic.base = 0
    rings = bytearray(size)
    two.nic.memory.add(end - size, memoryview(rings))
    behind = bytearray(0x8000)
    two.nic.memory.add(end, memoryview(behind))
    one.send(1, b"data")
    two.write("base", end - size + 4)
    fabric.run()
    assert two.counted(Word.FAULTS) == 1
    two.write("base", end - size)
    fabric.run()
    assert b"data" in rings
    assert not any(behind)


LANDINGS = {
    "no bytes": {"size": 0},
    "more bytes than it has pages": {"size": SPACE + 1},
    "more bytes than its pages hold from there on": {"size": SPACE, "first": 1},
    "a first byte that is not in the first page": {"size": 2000, "first": PAGE},
    "fewer bytes than come": {"size": 900},
}


@pytest.mark.parametrize("what", LANDINGS)
def test_a_landing_that_there_cannot_be_is_a_fault(what):
    fabric, (one, two) = play(2)
    two.land(0, **LANDINGS[what])
    one.send_long(1, 1000)
    fabric.run()
    assert two.word(Word.FAULTS) == 1
    assert not any(two.user)
    assert not two.landed(0)
    assert one.word(Word.FAULTS) == 0


def test_a_part_that_nobody_waits_for_is_a_fault():
    fabric, hosts = play(2)
    hosts[0].send_long(1, 1000)
    fabric.run()
    assert hosts[1].word(Word.FAULTS) == 1
    assert not any(hosts[1].user)
    hosts[1].land(0, 1000)
    hosts[0].send_long(1, 1000)
    fabric.run()
    assert (hosts[1].word(Word.FAULTS), hosts[1].landed(0)) == (1, 1)
    hosts[0].send_long(1, 1000)
    fabric.run()
    assert (hosts[1].word(Word.FAULTS), hosts[1].landed(0)) == (2, 1)


def test_a_landing_and_a_long_send_are_read_once():
    """The rank changes them while bytes are on their way: as many come, and to where it said first."""
    fabric, hosts = play(3)
    one, two, _ = hosts
    one.user[: 10 * 1024] = pattern(10 * 1024)
    two.land(0, 10 * 1024)
    one.send_long(1, 10 * 1024)
    while not any(two.user):
        for action in fabric.actions():
            fabric.act(action)
    one.longs -= 1
    one.send_long(2, 1 << 31, first=99, packet=7)
    two.landings[0] -= 1
    two.land(0, 1 << 31, first=77)
    fabric.run()
    assert two.user[: 10 * 1024] == pattern(10 * 1024)
    assert two.landed(0) == 1
    innocent(hosts[2:], but=one)
    assert [host.word(Word.FAULTS) for host in hosts] == [0, 0, 0]


def test_each_word_of_a_rank_is_read_in_one_place():
    """Memory that a rank may change at any time is read once, and by no other function. A page is read when
    its bytes are moved."""
    reads = Counter()
    for module in (common, bip_main, receiving, reporting, sending):
        for function in functions_of(module):
            reads.update(
                (function.python.__name__, ast.unparse(node))
                for node in ast.walk(tree_of(function))
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Load)
                and (ast.unparse(node.value) in ("request", "landing", "long", "nic.border", "nic.border.long"))
            )
    once = [
        ("begin", "nic.border.base"),
        ("send_short", "nic.border.requests"),
        ("send_short", "request.number"),
        ("send_short", "request.what"),
        ("queue_short", "request.body"),  # its address: the send DMA reads it
        ("begin_long", "nic.border.long"),
        ("begin_long", "long.number"),
        ("begin_long", "long.node"),
        ("begin_long", "long.first"),
        ("begin_long", "long.packet"),
        ("begin_long", "long.length"),
        ("fetch_run", "nic.border.long"),
        ("fetch_run", "nic.border.long.pages"),
        ("store_part", "nic.border.landings"),
        ("open_landing", "landing.number"),
        ("open_landing", "landing.first"),
        ("open_landing", "landing.length"),
        ("report", "nic.border.base"),
        ("report", "nic.border.released"),
    ]
    assert reads == Counter(once) + Counter({("store_part", "landing.pages"): 3})


def unsound(data, word, verdict=None):
    """A packet comes to NIC 1 of 2 and is a fault. No byte of its host's memory changes, and what comes
    behind it is right."""
    fabric, hosts = play(2)
    hosts[1].land(0, 64)
    arrive(fabric, 1, data, word, *([verdict] if verdict else []))
    fabric.run()
    assert hosts[1].word(Word.FAULTS) == 1
    assert not any(hosts[1].user)
    assert hosts[1].arrived(0) is None


def test_a_packet_of_another_size_than_it_says_is_a_fault():
    unsound(b"one word too many!!!", mark(0, 0, 16))
    unsound(b"one too few!", mark(0, 0, 16))
    unsound(bytes(int(HEAD)) + b"one too many", mark(0, 0, 8, part=True))
    unsound(bytes(int(HEAD)) + b"few!", mark(0, 0, 8, part=True))


def test_a_packet_without_bytes_is_a_fault():
    unsound(bytes(4), mark(0, 0, 4) & ~0x1FFF)
    unsound(bytes(int(HEAD)), mark(0, 0, 0, part=True))


def test_a_packet_that_is_too_long_is_a_fault():
    unsound(bytes(int(SHORT) + 4), mark(0, 0, int(SHORT) + 4))
    unsound(bytes(int(HEAD) + int(PART) + 4), mark(0, 0, int(PART) + 4, part=True))


def test_a_packet_without_a_mark_is_a_fault():
    unsound(b"whatever", 8)


def test_a_packet_of_a_node_that_there_is_not_is_a_fault():
    for node in (2, int(NODES), 255):
        unsound(b"whatever", mark(node, 0, 8))


def test_a_packet_that_is_not_the_next_one_is_a_fault():
    for number in (1, 2, 255):
        unsound(b"whatever", mark(0, number, 8))


def test_a_damaged_packet_is_a_fault_and_so_is_the_gap_behind_it():
    unsound(b"whatever", mark(0, 0, 8), CRC)
    fabric, (one, two) = play(2)
    fabric.filter = lambda source, target, packet: [] if not two.taken[0] and b"lost" in packet.data else [packet]
    for data in (b"lost", b"seen", b"next"):
        one.send(1, data)
    fabric.run()
    assert two.all_arrived(0) == [b"next"]
    assert two.word(Word.FAULTS) == 1


def test_a_packet_that_is_not_whole_words_is_a_fault():
    fabric, hosts = play(2)
    arrive(fabric, 1, b"odd", mark(0, 0, 3))
    fabric.run()
    assert hosts[1].word(Word.FAULTS) == 1


def test_a_rank_sends_in_its_own_name_only():
    """Whatever it writes into its request, and whenever: the mark is not there."""
    fabric, (one, two, _) = play(3)
    one.send(1, mark(2, 0, 4).to_bytes(4, "big"))
    fabric.run()
    assert two.arrived(2) is None
    assert two.arrived(0) == mark(2, 0, 4).to_bytes(4, "big")


def test_routes_are_the_nics_own():
    """A NIC behind the same switch that is not one of the job is out of reach."""
    fabric, hosts = play(3)
    with hosts[0].nic.machine:
        state.nic.config.nodes = 2
    hosts[0].send(2, b"data")
    fabric.run()
    assert hosts[0].word(Word.FAULTS) == 1
    innocent(hosts, but=hosts[0])
