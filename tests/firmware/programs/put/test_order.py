"""Rules of order, one event before another: the engines of one NIC stand still until the rule would
be broken."""

import pytest

from lanai_firmware.programs.put.layout import CLOSED, FLAG, OUTSTANDING, Counter, Kind
from lanai_firmware.programs.put.state import BUFFERS

from ..holding import go_on
from .rig import FREE, HEAP, play

A, B, C = FREE, FREE + 256, FREE + 512
NOWHERE = 0x7000_0000


def numbered(n):
    return bytes([n + 1]) * 8


def held_back(fabric, sender, kept):
    """Packets of a NIC are kept until `release` is called."""
    fabric.filter = lambda source, target, packet: (kept.append(packet) or []) if source == sender else [packet]

    def release(target):
        fabric.filter = lambda source, target, packet: [packet]
        fabric.wires.setdefault((sender, target), type(fabric.nics[0].wire)()).extend(kept)
        fabric.run()

    return release


def test_a_flag_waits_until_all_before_it_is_in_memory():
    """Else a write that fails later would not keep it back."""
    fabric, (one, two) = play(2)
    one.put(1, NOWHERE - HEAP, b"lost")
    one.request(1, Kind.PUT, A, 4 | int(FLAG), b"flag")
    go_on(fabric, ("copy", 1))
    fabric.run()
    assert two.counter(Counter.FAULTS) == 1
    assert not any(two.heap[A : A + 4])


def test_a_fence_is_answered_when_all_before_it_is_in_memory():
    fabric, (one, two) = play(2)
    one.put(1, A, b"data")
    one.ask(1, Kind.FENCE, 0, C)
    go_on(fabric, ("copy", 1))
    assert one.counted(Counter.ANSWERED) == 0
    fabric.run()
    assert one.counter(Counter.ANSWERED) == 1
    assert two.heap[A : A + 4] == b"data"


def test_nothing_passes_a_fence():
    """Neither a put nor a question, until it is answered."""
    fabric, (one, two) = play(2)
    kept = []
    release = held_back(fabric, 1, kept)
    one.ask(1, Kind.FENCE, 0, C)
    one.put(1, A, b"data")
    one.ask(1, Kind.ADD, B, C, operand=1)
    fabric.run()
    assert not any(two.heap[A:C])
    assert len(kept) == 1
    release(0)
    assert two.heap[A : A + 4] == b"data"
    assert two.word(B) == 1


def test_no_more_questions_are_open_than_other_nics_have_room_for():
    fabric, (one, two) = play(2)
    kept = []
    release = held_back(fabric, 1, kept)
    for n in range(5):
        one.ask(1, Kind.ADD, A, B + 4 * n, operand=1)
    fabric.run()
    assert two.word(A) == len(kept) == int(OUTSTANDING)
    release(0)
    assert two.word(A) == 5


def test_a_packet_leaves_when_its_bytes_are_there():
    fabric, (one, two) = play(2)
    one.heap[B : B + 8] = numbered(0)
    one.request(1, Kind.PUT, A, 8, source=HEAP + B)
    go_on(fabric, ("copy", 0))
    assert not any(fabric.wires.values())
    assert two.counted(Counter.RECEIVED) == 0
    fabric.run()
    assert two.heap[A : A + 8] == numbered(0)


def test_an_answer_leaves_when_its_bytes_are_there():
    fabric, (one, two) = play(2)
    two.heap[A : A + 8] = numbered(0)
    one.ask(1, Kind.GET, A, B, 8)
    go_on(fabric, ("copy", 1))
    assert one.counted(Counter.ANSWERED) == 0
    fabric.run()
    assert one.heap[B : B + 8] == numbered(0)


@pytest.mark.parametrize("kind", [Kind.SWAP, Kind.ADD])
def test_a_word_is_answered_when_it_has_been_read_and_changed(kind):
    fabric, (one, two) = play(2)
    two.set_word(A, 7)
    one.ask(1, kind, A, B, operand=3)
    go_on(fabric, ("copy", 1))
    two.nic.ring(1)  # another turn, in which the word is not there
    go_on(fabric, ("copy", 1))
    assert one.counted(Counter.ANSWERED) == 0
    fabric.act(("copy", 1, 0))  # it is read
    go_on(fabric, ("copy", 1))
    assert one.counted(Counter.ANSWERED) == 0, "it is not written"
    fabric.run()
    assert (one.word(B), two.word(A)) == (7, 10 if kind is Kind.ADD else 3)


def test_a_packet_on_its_way_out_is_not_overwritten():
    count = 2 * BUFFERS
    fabric, (one, two) = play(2)
    for n in range(count):
        one.put(1, A + 8 * n, numbered(n))
    go_on(fabric, ("send", 0))
    fabric.run()
    assert two.heap[A : A + 8 * count] == b"".join(map(numbered, range(count)))


def test_an_answer_on_its_way_out_is_not_overwritten():
    count = 2 * BUFFERS
    fabric, (one, *others) = play(count // int(OUTSTANDING) + 1)
    for n in range(count):
        one.set_word(A + 4 * n, n + 1)
        others[n // int(OUTSTANDING)].ask(0, Kind.GET, A + 4 * n, B + 4 * n)
    go_on(fabric, ("send", 0))
    fabric.run()
    assert [others[n // int(OUTSTANDING)].word(B + 4 * n) for n in range(count)] == list(range(1, count + 1))


def test_a_packet_that_has_arrived_is_not_overwritten_before_its_bytes_are_in_memory():
    count = 3 * BUFFERS
    fabric, (one, two) = play(2)
    for n in range(count):
        one.put(1, A + 8 * n, numbered(n))
    go_on(fabric, ("copy", 1))
    fabric.run()
    assert two.heap[A : A + 8 * count] == b"".join(map(numbered, range(count)))


def test_the_host_finds_the_bytes_when_it_finds_the_count():
    """The second report is not written into the first one, which may still be on its way."""
    fabric, (one, two) = play(2)
    seen = set()
    for n in range(4):
        one.put(1, A + 8 * n, numbered(n))
        go_on(fabric, ("copy", 1))
    while actions := fabric.actions():
        for action in actions:
            fabric.act(action)
            count = two.counter(Counter.RECEIVED)
            assert two.heap[A : A + 8 * count] == b"".join(map(numbered, range(count)))
            seen.add(count)
    assert len(seen) > 2


def test_memory_is_released_when_nothing_is_on_its_way_to_it():
    fabric, (one, two) = play(2)
    one.put(1, A, b"data")
    go_on(fabric, ("copy", 1))
    two.write("heap", int(CLOSED))
    go_on(fabric, ("copy", 1))
    assert two.read("released") == 0
    fabric.run()
    assert two.read("released") == 1


def test_no_more_copies_are_queued_than_the_host_dma_takes():
    """Gets and puts at once: each takes a place in the queue of both NICs."""
    fabric, hosts = play(3)
    for n in range(8):
        for host in hosts:
            for node in range(3):
                host.request(node, Kind.PUT, C + 4 * n, 4, source=HEAP + A)
                host.ask(node, Kind.ADD, B, B + 8, operand=1)
        for number in (0, 1, 2):
            go_on(fabric, *(("copy", other) for other in range(3) if other != number))
    fabric.run()
    for host in hosts:
        assert (host.counter(Counter.RECEIVED), host.counter(Counter.FAULTS)) == (24, 0)
