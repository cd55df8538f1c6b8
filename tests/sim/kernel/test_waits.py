"""A process waits for a word of host memory: when it goes on, and where the engine stops for it."""

import pytest

from lanai_host.bus.base import PAGE_SIZE
from lanai_sim.engines.base import NEVER, Event, EventKind, PackedBursts, SlotTime
from lanai_sim.engines.words import Continuation, Stage, Words
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.kernel.kernel import Deadlock, TimeLimit
from lanai_sim.kernel.node import WaitTimeout
from lanai_sim.machine import fabrics

KHZ = 66_600
TIME = SlotTime(KHZ)
LOOK = TIME.picoseconds(100) + 7  # a time within slot 100: what is written before slot 101 is there


class ScriptedEngine:
    """Writes one word of host memory in given slots, and does nothing else."""

    cut_short = False

    def __init__(self, writes):
        self.time = TIME
        self.memory = bytearray(4)
        self.writes = dict(writes)
        self.watches = {}
        self.limits = []
        self.now = 0

    def slot(self, unit):
        return self.now

    def watch_words(self, nic, words, tag):
        [(_, self.watches[tag])] = words

    def unwatch(self, nic, tag):
        del self.watches[tag]

    def run(self, limit):
        self.limits.append(limit)
        for slot in sorted(slot for slot in self.writes if slot < limit):
            self.memory[:] = self.writes.pop(slot).to_bytes(4, "big")
            self.now = slot + 1
            value = int.from_bytes(self.memory, "big")
            if events := [
                Event(self.now, EventKind.WATCH, 0, t, 0) for t, seen in self.watches.items() if seen != value
            ]:
                return False, events
        if limit != NEVER:
            self.now = max(self.now, limit)
        return not self.writes, ()


def waited(writes, clock=LOOK, timeout=0, store=None):
    """The time at which a process goes on that looks at `clock`, and the engine."""
    engine = ScriptedEngine(writes)
    cluster = Cluster(fabrics.describe("pair", 2), make_engine=lambda layout: engine)
    node, words = cluster.nodes[0], Words.of([(PAGE_SIZE, 0, memoryview(engine.memory))])

    async def process():
        limit = WaitTimeout().wait(clock, timeout, words)
        return await node.changed(clock, words, 0, limit)

    async def other():
        await cluster.kernel.until(store, 1)
        engine.memory[:] = bytes([0, 0, 0, 9])
        for tag, (_, answer) in list(node._waits.items()):
            cluster.forget(tag)
            answer.resume((store, 1))

    task = cluster.kernel.spawn(process(), 0)
    if store is not None:
        cluster.kernel.spawn(other(), 1)
    cluster.run()
    return task.result, engine


@pytest.mark.parametrize(
    ("writes", "expected"),
    [
        ({10: 1}, LOOK),  # there when the process looks
        ({100: 1}, LOOK),  # the last slot before the look
        ({101: 1}, TIME.picoseconds(102)),  # the first one after it
        ({10: 1, 50: 0, 300: 2}, TIME.picoseconds(301)),  # the 1 was not seen
        ({10: 1, 50: 0, 60: 3}, LOOK),
        ({100: 1, 101: 0}, LOOK),
        ({300: 1}, TIME.picoseconds(301)),
    ],
)
def test_when_a_process_goes_on(writes, expected):
    assert waited(writes)[0] == expected


def test_the_engine_does_not_stop_where_the_process_looks():
    _, engine = waited({300: 1})
    assert len(engine.limits) == 1


def test_a_timeout_counts_from_the_look():
    time, _ = waited({10_000: 1}, timeout=1_000_000)
    assert time == LOOK + 1_000_000


@pytest.mark.parametrize(
    ("store", "expected"), [(LOOK - 5, LOOK), (LOOK + 1, LOOK + 1), (LOOK + 900_000, LOOK + 900_000)]
)
def test_a_store_of_another_processor(store, expected):
    assert waited({10_000: 0}, store=store)[0] == expected


def test_a_run_that_ends_before_the_look_reaches_its_limit():
    engine = ScriptedEngine({})
    cluster = Cluster(fabrics.describe("pair", 2), make_engine=lambda layout: engine)
    cluster.kernel.limit = LOOK - 1
    words = Words.of([(PAGE_SIZE, 0, memoryview(engine.memory))])
    cluster.kernel.spawn(cluster.nodes[0].changed(LOOK, words, 0), 0)
    with pytest.raises(TimeLimit):
        cluster.run()


def test_a_wait_for_what_never_comes_is_a_deadlock():
    with pytest.raises(Deadlock):
        waited({})


@pytest.mark.parametrize(("since", "woken"), [(0, 150), (500, 550)])
def test_news_wake_those_who_wait_and_those_who_will(since, woken):
    engine = ScriptedEngine({})
    kernel = Cluster(fabrics.describe("pair", 2), make_engine=lambda layout: engine).kernel

    async def sleeper():
        suspension = kernel.suspension()
        kernel.wake_at(10_000, 0, suspension, False, since)
        await suspension
        return kernel.now

    async def news():
        await kernel.until(100, 1)
        kernel.wake_timeouts(50)

    task = kernel.spawn(sleeper(), 0)
    kernel.spawn(news(), 1)
    kernel.run()
    assert task.result == woken


# Continuations that the engine goes on with, as the cluster follows them.

TIME_CONTINUATIONS = SlotTime(66_600)
WRITTEN, ENDED = 50, 100  # slots
TIMEOUT = TIME_CONTINUATIONS.picoseconds(1000)


class ScriptedEngineContinuations:
    """Does the writes in slot `WRITTEN`, and ends the wait after them in slot `ENDED` if it goes on with it."""

    cut_short = False

    def __init__(self):
        self.time = TIME_CONTINUATIONS
        self.limits = []
        self.now = self.tag = 0
        self.continuation = None

    def slot(self, unit):
        return self.now

    def packed_bursts(self, nic, begin, packed, tag, continuation):
        self.tag, self.continuation = tag, continuation
        return True

    def give_back(self):
        self.continuation = None

    def run(self, limit):
        self.limits.append(limit)
        assert len(self.limits) < 10, "the engine is called again and again for nothing"
        if self.tag and limit > (ENDED if self.continuation else WRITTEN):
            tag, self.tag = self.tag, 0
            if self.continuation is None:
                self.now = WRITTEN
                return False, [Event(WRITTEN, EventKind.PIO_DONE, 0, tag, 0)]
            state = self.continuation.state
            state.stage, state.waits = Stage.ENDS, 1
            state.written, state.now = TIME_CONTINUATIONS.picoseconds(WRITTEN), TIME_CONTINUATIONS.picoseconds(ENDED)
            self.now = ENDED
            return False, [Event(ENDED, EventKind.CONTINUATION, 0, tag, 0)]
        if limit != NEVER:
            self.now = max(self.now, limit)
        return limit == NEVER, ()


def played(*, timeout, goal, before=None):
    """Return what was seen of writes with a continuation, by a task that then sleeps until slot `goal`, and the
    engine."""
    engine = ScriptedEngineContinuations()
    cluster = Cluster(fabrics.describe("pair", 2), make_engine=lambda layout: engine)
    memory = bytearray(4)
    polls = Words.of([(PAGE_SIZE, 0, memoryview(memory))]).polled(0, 0, -1, 0, 0)
    continuation = Continuation(0, polls, 0, 0, timeout, 0)
    seen = []

    async def task():
        done = cluster.nodes[0].write_packed(0, PackedBursts(0, 1, 0), continuation)
        time, _ = await done
        seen.append((time, cluster.kernel.now, continuation.state.stage))
        await cluster.kernel.until(TIME_CONTINUATIONS.picoseconds(goal))

    async def other():
        before(cluster)

    cluster.kernel.spawn(task())
    if before is not None:
        cluster.kernel.spawn(other(), 1)
    cluster.run()
    return seen, engine


@pytest.mark.parametrize("goal", [500, 1000, 1001, 5000])
def test_the_bound_of_a_continuation_that_has_ended_does_not_hold_the_engine(goal):
    seen, engine = played(timeout=TIMEOUT, goal=goal)
    assert seen == [(TIME_CONTINUATIONS.picoseconds(WRITTEN), TIME_CONTINUATIONS.picoseconds(ENDED), Stage.ENDS)]
    assert engine.limits == [1000, *([1000] if goal > 1000 else []), goal]


def test_without_a_timeout_there_is_no_bound():
    assert played(timeout=0, goal=5000)[1].limits == [NEVER, 5000]


def test_the_news_of_a_lost_rank_ends_the_continuations():
    """Waits after that have other timeouts."""

    def report(cluster):
        assert cluster.may_go_on
        cluster.report_lost(1, "gone")
        assert not cluster.may_go_on

    seen, engine = played(timeout=TIMEOUT, goal=500, before=report)
    assert seen == [(TIME_CONTINUATIONS.picoseconds(WRITTEN), TIME_CONTINUATIONS.picoseconds(WRITTEN), Stage.WRITES)]
    assert engine.limits == [NEVER, 500]
