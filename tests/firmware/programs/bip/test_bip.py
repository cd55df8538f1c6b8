"""The BIP firmware moves packets: short ones from requests to rings, long ones from pages to pages."""

import random

import pytest

from lanai_firmware.programs.bip import state
from lanai_firmware.programs.bip.layout import CLOSED, PAGES, RING, RINGS_AT, SHORT, SLOTS, Word
from lanai_firmware.programs.bip.state import IN

from .rig import BASE, PAGE, USER, pattern, play


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
    assert two.released()
    one.send(1, b"late")
    one.send_long(1, 4096)
    two.write("base", BASE)
    fabric.run()
    assert not any(two.memory[int(RINGS_AT) :])
    assert not any(two.user)
    assert (one.word(Word.LEFT), one.word(Word.LONGS)) == (1, 1)
    assert not two.nic.bus_errors
