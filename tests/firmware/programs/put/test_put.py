"""The put firmware in plain Python: puts, questions and their answers, and what happens when memory
cannot be reached."""

import pytest

from lanai_firmware.programs.put.layout import ASKS, BUS, CLOSED, FLAG, NODES, OUTSTANDING, Counter, Kind
from lanai_firmware.programs.put.state import BUFFERS

from ..rig import CRC
from .rig import FREE, HEAP, SIZE, play

A, B, C = FREE, FREE + 256, FREE + 512


def test_a_put_arrives_and_is_counted():
    fabric, (one, two) = play(2)
    one.put(1, A, b"abcdefgh")
    fabric.run()
    assert two.heap[A : A + 8] == b"abcdefgh"
    assert (one.counter(Counter.COMPLETED), two.counter(Counter.RECEIVED)) == (1, 1)
    assert two.counter(Counter.SUM) == 1


def test_a_get_brings_bytes_of_the_other_heap():
    fabric, (one, two) = play(2)
    two.heap[A : A + 999] = bytes(n % 251 for n in range(999))
    one.ask(1, Kind.GET, A, B, 999)
    fabric.run()
    assert one.heap[B : B + 999] == two.heap[A : A + 999]
    assert one.heap[B + 999] == 0
    assert one.counter(Counter.ANSWERED) == 1
    assert two.counter(Counter.RECEIVED) == 0


def test_changes_of_a_word_are_atomic():
    """Three NICs add to one word, each several times: each sees another number."""
    fabric, hosts = play(4)
    for n in range(5):
        for host in hosts[1:]:
            host.ask(0, Kind.ADD, A, B + 4 * n, operand=1)
    fabric.run()
    seen = [host.word(B + 4 * n) for host in hosts[1:] for n in range(5)]
    assert sorted(seen) == list(range(15))
    assert hosts[0].word(A) == 15


def test_a_swap_leaves_the_operand_and_answers_with_the_word_before():
    fabric, (one, two) = play(2)
    two.set_word(A, 77)
    one.ask(1, Kind.SWAP, A, B, operand=88)
    fabric.run()
    assert (one.word(B), two.word(A)) == (77, 88)


def test_questions_of_all_nodes_find_room():
    assert int(ASKS) == int(OUTSTANDING) * int(NODES)
    fabric, (one, two) = play(2)
    for n in range(10):
        one.ask(1, Kind.ADD, A, B + 4 * n, operand=2)
    fabric.run()
    assert two.word(A) == 20
    assert one.counter(Counter.ANSWERED) == 10


@pytest.mark.parametrize("adaptive", [0, 1])
def test_requests_behind_a_fence_wait_until_all_before_is_there(adaptive):
    """The network holds back the first put; what is behind the fence must not pass it."""
    fabric, (one, two) = play(2, adaptive)
    held = []
    first = []

    def hold(source, target, packet):
        if (source, target) == (0, 1) and not first:
            first.append(packet)
            held.append(packet)
            return []
        return [packet]

    fabric.filter = hold
    one.put(1, A, b"data")
    one.ask(1, Kind.FENCE, 0, C)
    one.put(1, B, b"flag")
    if not adaptive:  # this network keeps the order
        first.append(None)
    fabric.run()
    if adaptive:
        assert two.heap[A : A + 4] == two.heap[B : B + 4] == bytes(4)
        fabric.wires[0, 1].extend(held)
        fabric.run()
    assert (two.heap[A : A + 4], two.heap[B : B + 4]) == (b"data", b"flag")
    assert one.counter(Counter.FAULTS) == two.counter(Counter.FAULTS) == 0


def test_without_a_fence_a_put_may_pass_another():
    fabric, (one, two) = play(2, adaptive=1)
    packets = []

    def hold(source, target, packet):
        packets.append(packet)
        return [] if len(packets) == 1 else [packet]

    fabric.filter = hold
    one.put(1, A, b"data")
    one.put(1, B, b"flag")
    fabric.run()
    assert (two.heap[A : A + 4], two.heap[B : B + 4]) == (bytes(4), b"flag")


def test_in_a_network_that_keeps_the_order_a_put_that_passes_another_is_a_fault():
    fabric, (one, two) = play(2)
    packets = []

    def hold(source, target, packet):
        packets.append(packet)
        return [] if len(packets) == 1 else [packet]

    fabric.filter = hold
    one.put(1, A, b"data")
    one.put(1, B, b"flag")
    fabric.run()
    assert two.counter(Counter.FAULTS) == 1
    assert two.heap[B : B + 4] == bytes(4)


@pytest.mark.parametrize("kind", [Kind.GET, Kind.SWAP, Kind.ADD])
def test_an_answer_whose_memory_could_not_be_reached_is_a_fault_at_both(kind):
    fabric, (one, two) = play(2)
    one.ask(1, kind, 0x7000_0000 - HEAP, B, operand=3)
    one.ask(1, Kind.GET, A, C)
    two.set_word(A, 5)
    fabric.run()
    assert (one.counter(Counter.FAULTS), two.counter(Counter.FAULTS)) == (1, 1)
    assert one.counter(Counter.ANSWERED) == 2
    assert (one.word(B), one.word(C)) == (0, 5)


def test_a_put_whose_bytes_could_not_be_read_is_a_fault_at_the_receiver_and_no_flag_follows():
    fabric, (one, two) = play(2)
    one.request(1, Kind.PUT, A, 8, source=0x7000_0000)
    one.request(1, Kind.PUT, B, 4 | int(FLAG), b"flag")
    fabric.run()
    assert (one.counter(Counter.FAULTS), two.counter(Counter.FAULTS)) == (1, 1)
    assert two.heap[A:C] == bytes(C - A)


def test_a_nic_whose_rank_has_ended_answers_and_lets_go():
    fabric, (one, two) = play(2)
    two.write("heap", int(CLOSED))
    one.ask(1, Kind.GET, A, B)
    one.ask(1, Kind.FENCE, 0, C)
    one.put(1, A, b"late")
    fabric.run()
    assert one.counter(Counter.ANSWERED) == 2
    assert one.counter(Counter.FAULTS) == 1, "there was nothing to get"
    assert two.read("released") == 1
    assert bytes(two.heap) == bytes(SIZE)


def test_a_heap_that_cannot_be_written_is_tried_once():
    """Its process is dead. The report of its counters fails, and no other one follows; what arrives
    is dropped."""
    fabric, (one, two) = play(2)
    two.nic.memory.remove(HEAP)
    for n in range(20):
        one.put(1, A + 4 * n, b"data")
        fabric.run(limit=200)
    assert two.nic.bus_errors <= 2, "the first put, and the first report"
    one.ask(1, Kind.GET, A, B)
    fabric.run(limit=200)
    assert one.counter(Counter.ANSWERED) == 1


def test_a_nic_whose_rank_has_ended_takes_packets_however_many_come_before_its_turn():
    """All its buffers are filled, and nothing of them goes to the host: no transfer's end shows it that
    they are free. A packet that it left in the network would stop the others behind it."""
    fabric, (one, two) = play(2)
    two.write("heap", int(CLOSED))
    fabric.run()
    for n in range(2 * BUFFERS):
        one.put(1, A + 4 * n, b"late")
        while actions := [each for each in fabric.actions() if each[:2] != ("turn", 1)]:
            for action in actions:
                fabric.act(action)
    fabric.run()
    assert not any(fabric.wires.values())
    assert bytes(two.heap) == bytes(SIZE)


def test_a_damaged_packet_is_a_fault():
    fabric, (one, two) = play(2)

    def damage(source, target, packet):
        packet.verdict = CRC
        return [packet]

    fabric.filter = damage
    one.put(1, A, b"data")
    fabric.run()
    assert two.counter(Counter.FAULTS) == 1
    assert two.heap[A : A + 4] == bytes(4)


def test_an_answer_may_go_to_the_bus():
    fabric, (one, two) = play(2)
    two.set_word(A, 9)
    one.ask(1, Kind.GET, HEAP + A, B, 4 | int(BUS))
    fabric.run()
    assert one.word(B) == 9
