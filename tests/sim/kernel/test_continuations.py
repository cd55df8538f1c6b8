"""Continuations that the engine goes on with, as the cluster follows them."""

import pytest

from lanai_host.bus.base import PAGE_SIZE
from lanai_sim.engines.base import NEVER, Event, EventKind, PackedBursts, SlotTime
from lanai_sim.engines.words import Continuation, Stage, Words
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine import fabrics

TIME = SlotTime(66_600)
WRITTEN, ENDED = 50, 100  # slots
TIMEOUT = TIME.picoseconds(1000)


class ScriptedEngine:
    """Does the writes in slot `WRITTEN`, and ends the wait after them in slot `ENDED` if it goes on with it."""

    cut_short = False

    def __init__(self):
        self.time = TIME
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
            state.written, state.now = TIME.picoseconds(WRITTEN), TIME.picoseconds(ENDED)
            self.now = ENDED
            return False, [Event(ENDED, EventKind.CONTINUATION, 0, tag, 0)]
        if limit != NEVER:
            self.now = max(self.now, limit)
        return limit == NEVER, ()


def played(*, timeout, goal, before=None):
    """Return what was seen of writes with a continuation, by a task that then sleeps until slot `goal`, and the
    engine."""
    engine = ScriptedEngine()
    cluster = Cluster(fabrics.describe("pair", 2), make_engine=lambda layout: engine)
    memory = bytearray(4)
    polls = Words.of([(PAGE_SIZE, 0, memoryview(memory))]).polled(0, 0, -1, 0, 0)
    continuation = Continuation(0, polls, 0, 0, timeout, 0)
    seen = []

    async def task():
        done = cluster.nodes[0].write_packed(0, PackedBursts(0, 1, 0), continuation)
        time, _ = await done
        seen.append((time, cluster.kernel.now, continuation.state.stage))
        await cluster.kernel.until(TIME.picoseconds(goal))

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
    assert seen == [(TIME.picoseconds(WRITTEN), TIME.picoseconds(ENDED), Stage.ENDS)]
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
    assert seen == [(TIME.picoseconds(WRITTEN), TIME.picoseconds(WRITTEN), Stage.WRITES)]
    assert engine.limits == [NEVER, 500]
