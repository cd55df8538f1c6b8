"""Puts and flushes by native code (`puts.c`): what they do, and what they leave to Python."""

import ctypes
import threading

import pytest

from lanai_host.config import HostCosts
from lanai_host.remote import PutTarget
from lanai_host.simulator.protocol import FOREVER
from lanai_host.simulator.transport import LOOK_TIME, Answer, Unfinished
from lanai_host.stacks.ideal.datagrams import HEADER, MESSAGE
from lanai_host.stacks.ideal.device import IdealDevice
from lanai_host.stacks.ideal.puts import IdealPuts
from lanai_host.stacks.ideal.writes import IdealWrites

from .test_landing import Memory
from .test_transport import LATENCY, WHY, Ranks, body

WINDOW, BYTE, WORD = -0x60000000, 0x4C00010D, 0x4C00080B
COSTS = HostCosts(call=300, poll=100)
SIZE, UNIT = 64, 8


class Rank:
    """Rank 0, whose puts to the other ranks are native. They wait, the last after a post of `sent`."""

    def __init__(self, ranks=2, whole=True, sent=b"", **options):
        self.all = Ranks(ranks, **options)
        self.transport, *others = self.all.transports
        self.device = IdealDevice(0, ranks, self.transport, COSTS)
        self.puts = IdealPuts(self.device, self.transport, COSTS)
        self.writes = IdealWrites(self.transport, self.device.pay, self.puts.settled)
        self.puts.serve(self.writes)
        self.device.offer(self.writes, self.writes.collect)
        self.memories = [Memory(other, SIZE) for other in others]
        self.targets = [
            PutTarget(rank, rank, memory.place, SIZE, UNIT) for rank, memory in enumerate(self.memories, start=1)
        ]
        if sent:
            others[-1].post(0, sent)
        for rank, other in enumerate(others, start=1):
            self.all.hub._lib.hub_begin_wait(other._hub, rank, 0, 0, FOREVER)
        self.puts.know(BYTE, 1)
        self.puts.know(WORD, 8)
        self.device.meter.owed = 7
        assert self.puts.enter(WINDOW, self.targets, whole, 0)
        self._lib, self._state = self.puts._lib, self.puts._state

    def put(self, text=b"12345678", **changes):
        memory = body(text)
        given = {"origin": memory.start, "count": len(text), "type": BYTE, "rank": 1, "displacement": 0}
        given |= {"target_count": len(text), "target_type": BYTE, "window": WINDOW} | changes
        return self._lib.puts_put(self._state, *given.values())

    def flush(self, rank=1, window=WINDOW):
        return self._lib.puts_flush(self._state, rank, window)

    def flush_all(self):
        return self._lib.puts_flush_all(self._state, WINDOW)

    @property
    def clock(self):
        self.puts.leave()
        return self.transport.now, self.device.meter.owed


def test_a_put_and_its_flush_take_the_time_that_they_take_in_python():
    rank = Rank(byte_time=10)
    assert rank.put(displacement=2)
    assert rank.flush()
    assert rank.memories[0].text == bytes(16) + b"12345678" + bytes(40)
    native = rank.clock
    python = Rank(byte_time=10)
    python.puts.leave()
    python.device.meter.owed += COSTS.call
    python.writes.put(1, python.targets[0].place, body(b"12345678"))
    python.device.meter.owed += COSTS.call
    python.device.wait([python.writes.settle(1)], WHY)
    assert native == (python.transport.now, python.device.meter.owed) == (307 + 80 + 2 * LATENCY, 0)
    assert rank.puts.calls == 2


def test_a_flush_of_nothing_looks():
    rank = Rank()
    assert rank.flush()
    assert rank._lib.puts_flush_local(rank._state, 1, WINDOW)
    assert rank._lib.puts_flush_local_all(rank._state, WINDOW)
    assert rank.flush_all()
    assert rank.clock == (7 + 4 * (300 + 100 + LOOK_TIME), 0)


def test_a_flush_of_all_waits_for_the_last():
    rank = Rank(4)
    for target, text in ((3, b"a"), (1, b"b"), (2, b"c")):
        assert rank.put(text, rank=target)
    assert rank.flush_all()
    assert [memory.text[:1] for memory in rank.memories] == [b"b", b"c", b"a"]
    assert rank.clock == (7 + 3 * 300 + 2 * LATENCY, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"window": WINDOW + 1},
        {"rank": 2},
        {"rank": -1},
        {"count": 7},
        {"count": 0, "target_count": 0},
        {"count": -1, "target_count": -1},
        {"type": WORD},
        {"target_type": WORD},
        {"type": 0, "target_type": 0},
        {"type": BYTE + 256, "target_type": BYTE + 256},
        {"count": 1 << 61, "target_count": 1 << 61, "type": WORD, "target_type": WORD},
        {"displacement": -1},
        {"displacement": 8},
        {"displacement": 1 << 61},
        {"displacement": (1 << 63) - 1},
        {"count": 65, "target_count": 65},
        {"origin": 0},
        {"origin": -8},
        {"origin": 16},
    ],
    ids=str,
)
def test_what_is_not_as_usual_is_left_to_python(changes):
    rank = Rank()
    assert not rank.put(**changes)
    assert rank.memories[0].text == bytes(SIZE)
    assert rank.puts.calls == 0
    assert not rank.puts.unfinished
    assert rank.clock == (0, 7)


def test_the_last_bytes_of_a_window_can_be_put_and_none_behind_them():
    rank = Rank()
    assert rank.put(displacement=7)
    assert rank.flush()
    assert rank.memories[0].text == bytes(56) + b"12345678"
    assert not rank.put(b"123456789", displacement=7)


def test_a_flush_of_all_needs_to_know_all():
    rank = Rank(whole=False)
    assert rank.put()
    assert not rank.flush_all()
    assert not rank.flush(2)
    assert not rank.flush(1, WINDOW + 1)
    assert rank.clock == (307, 0)


def test_other_threads_are_left_to_python():
    rank, done = Rank(), []
    thread = threading.Thread(target=lambda: done.append(rank.put()))
    thread.start()
    thread.join()
    assert done == [0]
    assert rank.put()
    single = ctypes.c_char(1)
    rank.puts.leave()
    assert rank.puts.enter(WINDOW, rank.targets, True, ctypes.addressof(single))
    assert rank.put()
    single.value = 0
    assert not rank.put()
    assert not rank.flush()


def test_python_goes_on_when_a_datagram_ends_a_wait_or_a_look():
    for turn in range(2):
        rank = Rank(3, sent=HEADER.pack(MESSAGE, 0, 5, 0) + b"news")
        if not turn:
            assert rank.put()
        assert not rank.flush()
        assert rank._state.unfinished == (Unfinished.LOOKS if turn else Unfinished.AWAITS)
        rank.puts.leave()
        settling = rank.puts.go_on(WHY, [1])
        assert [operation.done for operation in settling] == ([] if turn else [False])
        assert not rank.puts.unfinished
        assert len(rank.device.unexpected()) == 1
        assert rank.transport.now == (407 + LOOK_TIME if turn else LATENCY)
        assert rank.writes.settled(1) == bool(turn)


def test_python_goes_on_when_the_run_is_over():
    rank = Rank(limit=500)
    assert rank.put()
    assert not rank.flush()
    assert (rank._state.answer, rank.transport.now) == (Answer.STOP, 0)
    rank.puts.leave()
    with pytest.raises(EOFError):  # the simulator ends the run here
        rank.puts.go_on(WHY, [1])


def test_no_puts_while_something_settles_or_is_watched():
    rank = Rank()
    assert rank.put()
    rank.puts.leave()
    rank.writes.settle(1)
    assert not rank.puts.enter(WINDOW, rank.targets, True, 0)
    rank = Rank()
    rank.puts.leave()
    rank.transport.wait_sink = print
    assert not rank.puts.enter(WINDOW, rank.targets, True, 0)
