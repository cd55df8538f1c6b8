"""The BIP firmware moves packets: short ones from requests to rings, long ones from pages to pages."""

import random

import pytest

from lanai_firmware.programs.bip import state
from lanai_firmware.programs.bip.layout import CLOSED, PAGES, RING, RINGS_AT, SHORT, SLOTS, Word
from lanai_firmware.programs.bip.state import IN, OUT

from ..rig import go_on, pattern
from .rig import BASE, PAGE, USER, play


def test_short_packets_arrive_whole_and_in_order():
    fabric, hosts = play(3)
    one, two, three = hosts
    sent = [pattern(size, size) for size in (4, 20, 256, int(SHORT), 8)]
    for data in sent:
        one.send(1, data)
        three.send(1, data[::-1])
    fabric.run()
    assert two.all_arrived(0) == sent
    assert two.all_arrived(2) == [data[::-1] for data in sent]
    assert [host.word(Word.FAULTS) for host in hosts] == [0, 0, 0]
    assert one.word(Word.LEFT) == len(sent)


def test_rings_and_requests_go_round():
    fabric, (one, two) = play(2)
    for n in range(5 * int(SLOTS)):
        one.send(1, pattern(8, n))
        if one.asked % int(RING) == 0:
            fabric.run()
            assert one.word(Word.LEFT) == one.asked
            assert two.all_arrived(0) == [pattern(8, m) for m in range(n - int(RING) + 1, n + 1)]


def test_a_rank_sends_to_itself():
    fabric, (one,) = play(1)
    one.send(0, b"self")
    fabric.run()
    assert one.all_arrived(0) == [b"self"]


@pytest.mark.parametrize(
    ("size", "source", "target", "packet"),
    [(1, 0, 0, 4), (4096, 0, 0, 4096), (5001, 4095, 1, 1024), (10_000, 100, 4001, 4096), (20_003, 17, 0, 2048)],
)
def test_long_bytes_go_from_pages_to_pages(size, source, target, packet):
    fabric, (one, two) = play(2)
    one.user[source : source + size] = pattern(size)
    two.land(0, size, first=target)
    one.send_long(1, size, first=source, packet=packet)
    fabric.run()
    assert two.user == bytes(target) + pattern(size) + bytes(len(two.user) - target - size)
    assert (two.landed(0), one.word(Word.LONGS)) == (1, 1)
    assert [host.word(Word.FAULTS) for host in (one, two)] == [0, 0]


def test_the_longest_of_all():
    """A landing of all its pages, from memory that begins elsewhere in its page."""
    fabric, (one, two) = play(2)
    size = int(PAGES) * PAGE
    pages = list(range(USER, USER + (int(PAGES) + 1) * PAGE, PAGE))
    one.user[4000 : 4000 + size] = pattern(size)
    two.land(0, size)
    one.send_long(1, size, first=4000, packet=4096, pages=pages)
    fabric.run()
    assert two.user[:size] == pattern(size)
    assert not any(two.user[size:])


def test_pages_may_be_anywhere():
    fabric, (one, two) = play(2)
    order = list(range(USER, USER + 5 * PAGE, PAGE))
    random.Random(1).shuffle(order)
    one.user[: 5 * PAGE] = pattern(5 * PAGE)
    two.land(0, 5 * PAGE, pages=order)
    one.send_long(1, 5 * PAGE, packet=1024)
    fabric.run()
    for n, page in enumerate(order):
        assert two.user[page - USER : page - USER + PAGE] == pattern(5 * PAGE)[n * PAGE : (n + 1) * PAGE]


def test_short_packets_pass_long_ones():
    """One that is asked for in the midst of a long message does not wait for its end."""
    fabric, (one, two) = play(2)
    two.land(0, 60 * 1024)
    one.send_long(1, 60 * 1024, packet=1024)
    for _ in range(20):
        for action in fabric.actions():
            fabric.act(action)
    assert not two.landed(0)
    one.send(1, b"soon")
    while two.arrived(0) is None:
        for action in fabric.actions():
            fabric.act(action)
    assert not two.landed(0)
    fabric.run()
    assert two.landed(0) == 1


def test_long_messages_of_several_senders_land_at_once():
    fabric, hosts = play(4)
    receiver, *senders = hosts
    for host in senders:
        host.user[:9000] = pattern(9000, host.number)
        receiver.land(host.number, 9000, pages=range(USER + host.number * 4 * PAGE, USER + 40 * PAGE, PAGE))
        host.send_long(0, 9000)
    fabric.run()
    for host in senders:
        start = host.number * 4 * PAGE
        assert receiver.user[start : start + 9000] == pattern(9000, host.number)
        assert receiver.landed(host.number) == 1


def test_packets_wait_for_a_rank_that_has_not_begun():
    fabric, (one, two) = play(2)
    with two.nic.machine:
        state.nic.base = 0
    two.write("base", 0)
    for n in range(IN + 2):
        one.send(1, pattern(8, n))
    fabric.run()
    assert not any(two.memory[int(RINGS_AT) :])
    two.write("base", BASE)
    fabric.run()
    assert two.all_arrived(0) == [pattern(8, n) for n in range(IN + 2)]


def test_a_rank_that_has_ended_gets_nothing_and_its_memory_is_released():
    fabric, (one, two) = play(2)
    two.land(0, 4096)
    two.write("base", int(CLOSED))
    fabric.run()
    assert two.read("released")
    one.send(1, b"late")
    one.send_long(1, 4096)
    two.write("base", BASE)
    fabric.run()
    assert not any(two.memory[int(RINGS_AT) :])
    assert not any(two.user)
    assert (one.word(Word.LEFT), one.word(Word.LONGS)) == (1, 1)
    assert not two.nic.bus_errors


# Rules of order, one event before another: the engines of one NIC stand still until the rule would be broken.


def test_a_part_leaves_when_its_bytes_are_there():
    fabric, (one, two) = play(2)
    one.user[:8] = b"12345678"
    two.land(0, 8)
    one.send_long(1, 8)
    go_on(fabric, ("copy", 0))
    assert not any(fabric.wires.values())
    assert one.counted(Word.LONGS) == 0
    fabric.run()
    assert two.user[:8] == b"12345678"


def test_a_part_on_its_way_out_is_not_overwritten():
    count = 3 * OUT
    fabric, (one, two) = play(2)
    one.user[: 1024 * count] = pattern(1024 * count)
    two.land(0, 1024 * count)
    one.send_long(1, 1024 * count)
    go_on(fabric, ("send", 0))
    fabric.run()
    assert two.user[: 1024 * count] == pattern(1024 * count)


def test_no_more_parts_are_fetched_than_there_are_buffers():
    """However long the queue of the host DMA is."""
    count = 3 * OUT
    fabric, (one, two) = play(2, hdma_queue=64)
    one.user[: 1024 * count] = pattern(1024 * count)
    two.land(0, 1024 * count)
    one.send_long(1, 1024 * count)
    go_on(fabric, ("copy", 0))
    fabric.run()
    assert two.user[: 1024 * count] == pattern(1024 * count)


def test_a_packet_that_has_arrived_is_not_overwritten_before_its_bytes_are_in_memory():
    count = 3 * IN
    fabric, (one, two) = play(2, hdma_queue=64, completions=64, recv_queue=64)
    one.user[: 1024 * count] = pattern(1024 * count)
    two.land(0, 1024 * count)
    one.send_long(1, 1024 * count)
    go_on(fabric, ("copy", 1))
    fabric.run()
    assert two.user[: 1024 * count] == pattern(1024 * count)


def test_a_request_is_told_to_have_left_when_it_has():
    """Its place may be written again then."""
    fabric, (one, two) = play(2)
    for n in range(int(RING)):
        one.send(1, pattern(int(SHORT), n))
    go_on(fabric, ("send", 0))
    assert one.word(Word.LEFT) == 0
    fabric.run()
    assert one.word(Word.LEFT) == int(RING)
    assert two.all_arrived(0) == [pattern(int(SHORT), n) for n in range(int(RING))]


def test_a_landing_is_told_behind_its_bytes():
    fabric, (one, two) = play(2)
    one.user[:2048] = pattern(2048)
    two.land(0, 2048)
    one.send_long(1, 2048)
    go_on(fabric, ("copy", 1))
    while not two.landed(0):
        fabric.act(("copy", 1, 0))
        fabric.act(("turn", 1, 0))
        go_on(fabric, ("copy", 1))
    assert two.user[:2048] == pattern(2048)


def test_a_long_send_is_begun_once():
    """Also while its last parts are on their way to the send DMA."""
    fabric, (one, two) = play(2)
    one.user[:4096] = pattern(4096)
    two.land(0, 4096)
    one.send_long(1, 4096)
    go_on(fabric, ("copy", 0))
    one.nic.ring(1)
    fabric.run(limit=500)
    assert two.user[:4096] == pattern(4096)
    assert (one.word(Word.LONGS), one.word(Word.FAULTS), two.word(Word.FAULTS)) == (1, 0, 0)


def test_memory_is_released_when_nothing_is_on_its_way_to_it():
    fabric, (one, two) = play(2)
    one.send(1, b"data")
    go_on(fabric, ("copy", 1))
    two.write("base", int(CLOSED))
    go_on(fabric, ("copy", 1))
    assert not two.read("released")
    fabric.run()
    assert two.read("released")


def test_no_more_copies_are_queued_than_the_host_dma_takes():
    """The model traps one that is too many. Packets arrive, each part needs two pages, and a count changes."""
    fabric, (one, two) = play(2)
    size = 20 * 1024
    one.user[3900 : 3900 + size] = pattern(size)
    two.land(0, size, first=3700, pages=range(USER, USER + 8 * PAGE, PAGE))
    for n in range(int(RING)):
        two.send(0, pattern(8, n))
    go_on(fabric, ("copy", 0), ("copy", 1))
    one.send_long(1, size, first=3900, packet=4096)
    one.send(1, b"data")
    go_on(fabric, ("copy", 0), ("copy", 1))
    go_on(fabric, ("copy", 1))
    fabric.run()
    assert two.user[3700 : 3700 + size] == pattern(size)
    assert one.all_arrived(1) == [pattern(8, n) for n in range(int(RING))]


def test_no_more_descriptors_are_queued_than_the_send_dma_takes():
    fabric, (one, two) = play(2)
    one.user[:8192] = pattern(8192)
    two.land(0, 8192)
    one.send_long(1, 8192)
    for n in range(int(RING)):
        one.send(1, pattern(8, n))
    go_on(fabric, ("send", 0))
    fabric.run()
    assert two.user[:8192] == pattern(8192)
    assert two.all_arrived(0) == [pattern(8, n) for n in range(int(RING))]


def test_the_host_sees_each_word_when_the_last_copy_has_arrived():
    """The second report is not written into the first one, which may still be on its way."""
    fabric, (one, _) = play(2)
    one.send(1, b"data")
    go_on(fabric, ("copy", 0))
    one.send(1, b"more")
    go_on(fabric, ("copy", 0))
    fabric.act(("copy", 0, 0))
    assert one.word(Word.LEFT) == 1
    fabric.run()
    assert one.word(Word.LEFT) == 2


def test_memory_that_cannot_be_written_is_tried_once():
    """The process is dead. The NIC goes on for its peers."""
    fabric, (one, two) = play(2)
    two.nic.memory.remove(0x1000_0000)
    two.send(0, b"last")
    fabric.run(limit=500)
    assert two.nic.bus_errors == 1
    one.send(1, b"data")
    fabric.run()
    assert two.nic.bus_errors == 1
    assert one.all_arrived(1) == [b"last"]
    assert one.word(Word.LEFT) == 1
