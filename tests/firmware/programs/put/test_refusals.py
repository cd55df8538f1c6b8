"""Requests that a rank may not make, and packets that no sound NIC sends: each is reported as a fault to
the rank that it belongs to, and to no other."""

import ast
from collections import Counter as Counted

import pytest

from lanai_firmware.programs.put import answering, common, receiving, reporting, sending, state
from lanai_firmware.programs.put import main as put_main
from lanai_firmware.programs.put.layout import (
    ASKS,
    BODY,
    BUS,
    CLOSED,
    INLINE_WORDS,
    KIND_AT,
    LENGTH,
    NODES,
    SPOILT,
    Counter,
    Kind,
)
from lanai_firmware.programs.put.state import BUFFERS
from lanai_firmware.programs.put_barrier import barriers
from lanai_firmware.programs.put_barrier import main as barrier_main

from ..mutants import functions_of, tree_of
from ..rig import CRC, go_on
from .rig import ASK, FREE, HEAP, SIZE, arrive, play

A, B, C = FREE, FREE + 256, FREE + 512
INLINE = 4 * int(INLINE_WORDS)
NO_KIND = 7
SECRET = b"what was there before"


def length(kind, size=0):
    return size | kind << int(KIND_AT)


def innocent(hosts, but):
    """The other hosts know of no fault, and no byte of theirs has changed."""
    for host in hosts:
        if host is not but:
            assert host.counter(Counter.FAULTS) == 0
            assert not any(host.heap[A:])


def still_works(fabric, hosts):
    """Every rank asks every NIC, itself too."""
    before = [host.word(SIZE - 4) for host in hosts]
    answered = [host.counter(Counter.ANSWERED) for host in hosts]
    for host in hosts:
        for node in range(len(hosts)):
            host.ask(node, Kind.ADD, SIZE - 4, SIZE - 64 + 4 * node, operand=1)
    fabric.run()
    assert [host.word(SIZE - 4) - old for host, old in zip(hosts, before, strict=True)] == [len(hosts)] * len(hosts)
    assert [host.counter(Counter.ANSWERED) - old for host, old in zip(hosts, answered, strict=True)] == [
        len(hosts)
    ] * len(hosts)


REFUSED = {
    "a barrier without the tree": (1, 6, 0, 0),
    "more bytes than a packet has": (1, Kind.GET, int(BODY) + 1, 0),
    "as many bytes as can be said": (1, Kind.GET, int(LENGTH), 0),
    "an answer": (1, Kind.ANSWER, 12, 0),
    "a kind that there is not": (1, NO_KIND, 4, 0),
    "more inline bytes than there are": (1, Kind.PUT, INLINE + 4, 0),
    "inline bytes that are not words": (1, Kind.PUT, 5, 0),
    "the node behind the last": (3, Kind.PUT, 4, 0),
    "a node whose number ends like that of one": (int(NODES) + 1, Kind.PUT, 4, 0),
    "bytes that are said to be spoilt": (1, Kind.PUT, int(SPOILT) | 4, HEAP),
    "a bit that means nothing": (1, Kind.PUT, 1 << 16 | 4, HEAP),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_request_for_what_there_is_not_is_refused(what):
    """It counts as a fault and as done at its own NIC, nothing leaves, and requests behind it go on."""
    node, kind, size, source = REFUSED[what]
    fabric, hosts = play(3)
    sent = []
    fabric.filter = lambda source, target, packet: sent.append(packet) or [packet]
    one = hosts[0]
    one.request(node, kind, A, size, ASK.pack(HEAP + B, 1), source)
    fabric.run()
    assert not sent
    assert one.counter(Counter.FAULTS) == one.counter(Counter.COMPLETED) == 1
    assert one.counter(Counter.ANSWERED) == int(kind != Kind.PUT)
    innocent(hosts, but=one)
    still_works(fabric, hosts)
    assert one.counter(Counter.FAULTS) == 1


def test_the_longest_requests_are_not_refused():
    fabric, (one, two) = play(2)
    two.heap[A : A + int(BODY)] = bytes(n % 251 for n in range(int(BODY)))
    one.ask(1, Kind.GET, A, A, int(BODY))
    one.put(1, A + int(BODY), b"inline words" * (INLINE // 12))
    one.request(1, Kind.PUT, A, int(LENGTH) >> 3, source=HEAP)
    fabric.run()
    assert one.counter(Counter.COMPLETED) == 3
    assert one.counter(Counter.FAULTS) == two.counter(Counter.FAULTS) == 0
    assert one.heap[A : A + int(BODY)] == bytes(n % 251 for n in range(int(BODY)))


def test_a_refused_request_is_done_when_those_before_it_have_left():
    """COMPLETED shows which sources may change: it must not run ahead."""
    fabric, (one, two) = play(2)
    one.request(1, Kind.PUT, A, 8, source=HEAP + B)
    one.request(1, Kind.PUT, A, 5, b"12345678")
    go_on(fabric, ("copy", 0))
    assert (one.counted(Counter.COMPLETED), one.counted(Counter.FAULTS)) == (0, 0)
    fabric.run()
    assert (one.counter(Counter.COMPLETED), one.counter(Counter.FAULTS)) == (2, 1)
    assert two.counter(Counter.RECEIVED) == 1


def test_a_refused_question_counts_as_answered_behind_those_before_it():
    fabric, (one, two) = play(2)
    two.set_word(A, 5)
    held = []
    fabric.filter = lambda source, target, packet: (held.append(packet) or []) if source == 1 else [packet]
    one.ask(1, Kind.GET, A, B)
    one.ask(1, Kind.GET, A, C, int(BODY) + 1)
    fabric.run()
    assert one.counted(Counter.ANSWERED) == 0
    fabric.wires[1, 0].extend(held)
    fabric.run()
    assert (one.counter(Counter.ANSWERED), one.counter(Counter.FAULTS), one.word(B)) == (2, 1, 5)


def test_a_request_is_read_once():
    """The rank changes it while its packets are on their way: they go where it said first."""
    fabric, hosts = play(3)
    one, two, _ = hosts
    size = 6 * int(BODY)
    source = FREE + 64
    one.heap[source : source + size] = data = bytes(n % 251 for n in range(size))
    one.request(1, Kind.PUT, A, size, source=HEAP + source)
    go_on(fabric, ("copy", 0))
    one.overwrite(1, node=2, address=C, length=int(LENGTH), source=0)
    fabric.run()
    assert two.heap[A : A + size] == data
    assert not any(two.heap[A + size :])
    assert two.counter(Counter.RECEIVED) == 6
    innocent(hosts[2:], but=one)
    still_works(fabric, hosts)


def test_each_word_of_a_request_is_read_in_one_place():
    """Memory that a rank may change at any time is read once, and by no other function."""
    border = "address_of(nic.border.requests[nic.taken % RING])"
    reads = Counted()
    for module in (answering, common, put_main, receiving, reporting, sending, barriers, barrier_main):
        for function in functions_of(module):
            tree = tree_of(function)
            live = {
                node.targets[0].id
                for node in ast.walk(tree)
                if isinstance(node, ast.Assign) and ast.unparse(node.value) == border
            }
            assert ast.unparse(tree).count("nic.border.requests") == len(live)
            reads.update(
                (function.python.__name__, ast.unparse(node))
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in live
            )
    members = ("number", "node", "address", "length", "source")
    expected = [("has_request", f"live.{member}") for member in members]
    assert reads == Counted(
        [*expected, ("copy_inline", "live.inline"), ("arrive", "live.inline"), ("arrive", "live.inline")]
    )


def test_a_question_for_more_than_a_packet_holds_is_refused_by_the_nic_that_answers():
    """Whatever the NIC that asks lets pass."""
    fabric, hosts = play(4)
    one, two, three, four = hosts

    def widen(source, target, packet):
        if source == 0:
            packet.data = packet.data[:4] + length(Kind.GET, int(LENGTH)).to_bytes(4, "big") + packet.data[8:]
        return [packet]

    fabric.filter = widen
    one.ask(1, Kind.GET, A, B, 4)
    for host in (three, four):
        for n in range(2):
            host.ask(1, Kind.ADD, A, B + 4 * n, operand=1)
    fabric.run()
    assert (one.counter(Counter.ANSWERED), one.counter(Counter.FAULTS)) == (1, 1)
    assert [host.counter(Counter.ANSWERED) for host in (three, four)] == [2, 2]
    assert two.word(A) == 4
    assert [host.counter(Counter.FAULTS) for host in (two, three, four)] == [0, 0, 0]


def test_an_answer_that_nobody_waits_for_is_a_fault():
    """A NIC that counted it would wait for answers for ever."""
    fabric, hosts = play(2)
    one, two = hosts
    two.heap[A : A + 12] = SECRET[:12]
    arrive(fabric, 1, A, length(Kind.ANSWER, 12), int(NODES) << 16, b"forged bytes")
    fabric.run()
    assert (two.counter(Counter.ANSWERED), two.counter(Counter.FAULTS)) == (0, 1)
    assert two.heap[A : A + 12] == SECRET[:12]
    two.ask(0, Kind.ADD, A, B, operand=1)
    fabric.run(limit=1000)
    assert one.word(A) == 1


def unsound(size=8, kind=Kind.PUT, number=0, data=b"whatever", verdict=None):
    """A packet comes to NIC 1 of 2 and is a fault. No byte of its host's memory changes, and what
    comes behind it is right."""
    fabric, hosts = play(2)
    two = hosts[1]
    two.heap[A:C] = before = bytes([0xAB]) * (C - A)
    arrive(fabric, 1, A, length(kind, size), number, data, *([verdict] if verdict else []))
    fabric.run()
    assert two.counter(Counter.FAULTS) == 1
    assert two.counter(Counter.RECEIVED) == 0
    assert two.heap[A:C] == before


def test_a_packet_of_another_size_than_it_says_is_a_fault():
    unsound(size=8, data=b"one word too many")
    unsound(size=8, data=b"two!")
    unsound(size=0, data=b"a word..")
    unsound(size=0, kind=Kind.SWAP, data=bytes(8 + 4))
    unsound(size=0, kind=Kind.SWAP, data=bytes(8 - 4))


def test_a_packet_of_a_kind_that_there_is_not_is_a_fault():
    for kind in (6, NO_KIND):
        unsound(kind=kind, data=ASK.pack(HEAP, 1))


def test_a_packet_of_a_node_that_there_cannot_be_is_a_fault():
    for number in (2 * int(NODES), 0xFFFF):
        unsound(number=number << 16)


def test_a_question_of_a_node_that_there_is_not_is_a_fault():
    """There is no route to it."""
    for number in (2, int(NODES) - 1):
        unsound(size=0, kind=Kind.SWAP, number=number << 16, data=ASK.pack(HEAP, 1))


def test_a_question_with_the_number_of_an_answer_is_a_fault():
    """A fence would wait for ever for what was sent before it, and all questions behind it too."""
    unsound(size=0, kind=Kind.FENCE, number=int(NODES) << 16, data=ASK.pack(HEAP, 1))
    unsound(size=0, kind=Kind.FENCE, number=2 * int(NODES) << 16, data=ASK.pack(HEAP, 1))


def test_a_fence_is_answered_if_more_has_come_than_it_waits_for():
    fabric, (_, two) = play(2)
    arrive(fabric, 1, 0, length(Kind.FENCE), 0, ASK.pack(HEAP + B, 0))
    arrive(fabric, 1, A, length(Kind.PUT, 4), 1, b"data")
    two.ask(1, Kind.ADD, B, C, operand=1)
    fabric.run()
    assert two.word(B) == 1
    assert two.heap[A : A + 4] == b"data"


def test_a_packet_that_is_not_the_next_one_is_a_fault():
    for number in (1, 2, 0xFFFF):
        unsound(number=number)


def test_a_damaged_packet_is_a_fault_and_so_is_the_gap_behind_it():
    unsound(verdict=CRC)


def test_more_questions_than_there_is_room_for_are_faults():
    """Sound NICs ask no more than that, all together."""
    fabric, (_, two) = play(2)
    more = 5
    for n in range(BUFFERS + int(ASKS) + more):
        arrive(fabric, 1, A, length(Kind.GET, 4), n, ASK.pack(HEAP + B, 0))
    go_on(fabric, ("send", 1), limit=5000)
    assert two.counter(Counter.FAULTS) == more


def test_a_nic_does_not_reach_the_memory_of_a_rank_that_has_ended():
    """Nor memory that it knows by an address on the bus, as that of a long message."""
    fabric, (one, two) = play(2)
    two.heap[A : A + 4] = SECRET[:4]
    two.write("heap", int(CLOSED))
    fabric.run()
    one.request(1, Kind.PUT, HEAP + A, 4 | int(BUS), b"late")
    one.ask(1, Kind.GET, HEAP + A, B, 4 | int(BUS))
    one.ask(1, Kind.SWAP, HEAP + A, B, 4 | int(BUS))
    fabric.run()
    assert one.counter(Counter.ANSWERED) == one.counter(Counter.FAULTS) == 2
    assert two.heap[A : A + 4] == SECRET[:4]
    assert one.word(B) == 0
    assert not two.nic.copied
    assert not two.nic.bus_errors


def test_a_nic_reaches_no_memory_before_the_rank_has_begun():
    fabric, (one, two) = play(2)
    two.write("heap", 0)
    one.put(1, A, b"data")
    one.ask(1, Kind.ADD, B, C, operand=1)
    fabric.run()
    assert not two.nic.bus_errors
    assert bytes(two.heap) == bytes(SIZE)
    two.write("heap", HEAP)
    fabric.run()
    assert two.heap[A : A + 4] == b"data"
    assert two.word(B) == 1


def test_routes_are_the_nics_own():
    """A request names a node of the job. A NIC behind the same switch that is not one is out of reach."""
    fabric, hosts = play(3)
    with hosts[0].nic.machine:
        state.nic.config.nodes = 2
    hosts[0].put(2, A, b"data")
    fabric.run()
    assert hosts[0].counter(Counter.FAULTS) == 1
    innocent(hosts, but=hosts[0])
