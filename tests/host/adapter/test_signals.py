"""Signals through the driver, on the verilated gateware: they interrupt a process that computes."""

from dataclasses import replace

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.machine import host_offset
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.csr import REMOTE
from lanai_hdl.remote.fifo import RingWord
from lanai_hdl.remote.packets import Status, word
from lanai_host.adapter import RemoteError
from lanai_host.config import pentium2_266
from lanai_host.remote import Access
from lanai_sim.studies.remote_hosts import play

NIC = lanai41().but(blocks=(Remote(),))
US = 1_000_000  # picoseconds
WORK = 100 * US
FAULTS = [f"{kind} * rate=0.05 seed={seed}" for seed, kind in enumerate(["drop", "corrupt", "duplicate"])]


class Story:
    """Host 1 computes; the others signal it."""

    def __init__(self):
        self.queue = None
        self.over = False
        self.came = []  # signals, and when

    def ready(self, host):
        while self.queue is None:
            host.bus.elapse(US)

    def computes(self, host):
        """Two stretches of work, one right behind the other."""
        self.queue = host.remote.signals()

        def handle(signal):
            self.came.append((signal, host.bus.now))
            host.bus.elapse(3 * US)

        begun = host.bus.now
        for _ in range(2):
            host.remote.work(WORK, self.queue, handle)
        took = host.bus.now - begun
        while not self.over:
            host.remote.work(US, self.queue, handle)
        return took


def test_a_signal_interrupts_a_process_that_computes():
    story, costs = Story(), pentium2_266()

    def signals(host):
        story.ready(host)
        host.bus.elapse(20 * US)
        begun = host.bus.now
        for value in (7, 1 << 31):
            host.remote.wait(host.remote.signal(story.queue.token, value))
            host.bus.elapse(50 * US)
        story.over = True
        return begun

    sent, took = play([signals, story.computes], NIC, costs=costs)
    assert [tuple(signal) for signal, _ in story.came] == [(0, 0, 7), (0, 0, 1 << 31)]
    assert 0 < story.came[0][1] - sent < 10 * US
    assert took == 2 * WORK + 2 * (2 * costs.system_call + 3 * US)  # it goes on where it was


def test_each_signal_comes_once_over_wires_that_lose_damage_and_double_packets():
    story, count = Story(), 40

    def signals(host):
        story.ready(host)
        for value in range(count):
            host.remote.wait(host.remote.signal(story.queue.token, value))
        host.bus.elapse(50 * US)
        story.over = True
        return host.counter("REMOTE_TIMEOUTS")

    timeouts, _ = play([signals, story.computes], NIC, faults=FAULTS, timeout=2000, retries=50)
    assert timeouts > 0
    assert [signal.value for signal, _ in story.came] == list(range(count))


def test_who_has_no_right_to_signal_interrupts_no_one():
    story = Story()

    def refused(host, token, why):
        with pytest.raises(RemoteError, match=why):
            host.remote.wait(host.remote.signal(token, 1))

    def signals(host):
        story.ready(host)
        token = story.queue.token
        refused(host, replace(token, key=token.key ^ 1), "key")
        refused(host, host.tokens[1], "does not allow")
        host.bus.elapse(20 * US)
        assert not story.came
        host.remote.wait(host.remote.signal(token, 2))
        host.bus.elapse(20 * US)
        story.over = True

    def computes(host):
        story.computes(host)
        return host.counter("REMOTE_REFUSED")

    assert play([signals, computes], NIC)[1] == 2
    assert [signal.value for signal, _ in story.came] == [2]


def test_the_event_is_that_of_a_signal_only():
    def sends(host):
        while not given:
            host.bus.elapse(US)
        plain, queue = given
        host.remote.append(plain.token, 0, host.address, 4)
        host.remote.settle()
        host.bus.elapse(5 * US)
        seen.append(None)
        while len(seen) < 2:
            host.bus.elapse(US)
        host.remote.wait(host.remote.signal(queue.token, 1))

    def looks(host):
        def raised():
            return host.bus.read(host_offset("ISR")) >> REMOTE.events.REMOTE_SIGNAL.bit & 1

        memory, plain = host.remote.own(2, Access.APPEND)
        queue = host.remote.signals()
        memory.view[8:12] = word(RingWord, page=1, mask=0).to_bytes(4, "big")
        given.extend((plain, queue))
        while not seen:
            host.bus.elapse(US)
        before = raised()
        seen.append(None)
        while (signal := queue.take()) is None:
            host.bus.elapse(US)
        return before, raised(), signal.value

    given, seen = [], []
    assert play([sends, looks], NIC)[1] == (0, 1, 1)


def test_a_full_queue_refuses_until_a_signal_comes_again():
    story = Story()

    def ended(host, value):
        try:
            host.remote.wait(host.remote.signal(story.queue.token, value))
        except RemoteError as error:
            return error.status
        return Status.OK

    def signals(host):
        story.ready(host)
        sent = 0
        while (status := ended(host, sent)) is Status.OK:
            sent += 1
        assert status is Status.FULL
        taken = []
        while (signal := story.queue.take()) is not None:
            taken.append(signal.value)
        assert taken == list(range(sent))
        host.remote.wait(host.remote.signal(story.queue.token, sent, again=True))
        story.over = True
        return sent

    def sleeps(host):
        story.queue = host.remote.signals()
        while not story.over:
            host.bus.elapse(US)
        return story.queue.take().value

    sent, last = play([signals, sleeps], NIC)
    assert sent == last > 100
