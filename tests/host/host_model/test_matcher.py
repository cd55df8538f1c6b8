"""The match of messages and receives, and how many envelopes are compared for it."""

import random
from types import SimpleNamespace

import pytest

from lanai_host.body import NOTHING
from lanai_host.config import HostConfig, HostCost, Queue, free
from lanai_host.host_model.matcher import Matcher
from lanai_host.host_model.meter import Meter, Receive
from lanai_host.operation import ANY_SOURCE, ANY_TAG

CONTEXTS = 3


class Counted:
    """A matcher, and how many envelopes it has compared."""

    def __init__(self, queue):
        self.spent = 0  # picoseconds
        self.meter = Meter(HostConfig(queue=queue), self._elapse)
        self.matcher = Matcher(self.meter)

    def _elapse(self, picoseconds):
        self.spent += picoseconds

    def compared(self, work):
        """Return the result of `work`, and the envelopes compared for it."""
        self.spent = 0
        answer = work()
        self.meter.pay()
        return answer, self.spent // self.meter.costs.match


def receive(source=0, tag=0, context=0):
    return Receive(source, tag, context, NOTHING)


def message(source=0, tag=0, context=0):
    return SimpleNamespace(source=source, tag=tag, context=context, length=0, order=0)


def matches(one, other):
    return one.context == other.context and one.source in (other.source, ANY_SOURCE) and one.tag in (other.tag, ANY_TAG)


@pytest.mark.parametrize("seed", range(10))
def test_a_list_compares_what_a_walk_from_the_oldest_on_compares(seed):
    rng = random.Random(seed)
    counted = Counted(Queue.LIST)
    receives, messages = [], []
    for _ in range(400):
        context = rng.randrange(CONTEXTS)
        if rng.random() < 0.5:
            new = message(rng.randrange(3), rng.randrange(4), context)
            place = next((place for place, one in enumerate(receives) if matches(one, new)), None)
            found, compared = counted.compared(lambda new=new: counted.matcher.arrive(new))
            assert found is (None if place is None else receives[place])
            assert compared == (len(receives) if place is None else place + 1)
            messages.append(new) if place is None else receives.pop(place)
        else:
            new = receive(rng.choice([0, 1, 2, ANY_SOURCE]), rng.choice([0, 1, 2, 3, ANY_TAG]), context)
            place = next((place for place, one in enumerate(messages) if matches(new, one)), None)
            found, compared = counted.compared(lambda new=new: counted.matcher.begin(new))
            assert found is (None if place is None else messages[place])
            assert compared == (len(messages) if place is None else place + 1)
            receives.append(new) if place is None else messages.pop(place)
        if receives and rng.random() < 0.1:
            counted.matcher.withdraw(receives.pop(rng.randrange(len(receives))))
        assert (counted.matcher.held, counted.matcher.waiting) == (len(messages), len(receives))


def test_a_hash_table_is_looked_at_once_for_each_way_of_using_wildcards():
    counted = Counted(Queue.HASH)
    for tag in range(50):
        assert counted.compared(lambda tag=tag: counted.matcher.begin(receive(0, tag))) == (None, 0)
    assert counted.compared(lambda: counted.matcher.arrive(message(0, 49)))[1] == 1
    counted.matcher.post(receive(ANY_SOURCE, 7))
    assert counted.compared(lambda: counted.matcher.arrive(message(0, 48)))[1] == 2
    assert counted.compared(lambda: counted.matcher.arrive(message(0, 99))) == (None, 2)
    assert counted.compared(lambda: counted.matcher.begin(receive(0, 99)))[1] == 1


@pytest.mark.parametrize("queue", Queue)
def test_an_empty_queue_costs_nothing(queue):
    counted = Counted(queue)
    assert counted.compared(lambda: counted.matcher.begin(receive())) == (None, 0)
    assert counted.compared(lambda: counted.matcher.find(1, 1, 1)) == (None, 0)
    assert Counted(queue).compared(lambda: counted.matcher.arrive(message(2)))[1] == 0


@pytest.mark.parametrize("queue", Queue)
@pytest.mark.parametrize("others", [0, 5])
def test_the_short_way_costs_what_the_usual_one_does(queue, others):
    usual, short = Counted(queue), Counted(queue)
    for counted in (usual, short):
        for tag in range(others):
            counted.matcher.post(receive(tag=tag, context=1))
            counted.matcher.keep(message(tag=tag, context=2))
    assert short.matcher.idle(0)
    first = usual.compared(lambda: usual.matcher.begin(receive(0, 3)))[1]
    second = usual.compared(lambda: usual.matcher.arrive(message(0, 3)))[1]
    assert short.matcher.idle_envelopes() == (first, second)


def test_a_context_is_idle_until_something_waits():
    matcher = Matcher(Meter(free(), None))
    matcher.post(waiting := receive(context=1))
    matcher.keep(message(context=2))
    assert [matcher.idle(context) for context in range(4)] == [True, False, False, True]
    matcher.withdraw(waiting)
    assert matcher.idle(1)


def test_work_is_told_before_its_time_passes():
    passed, told = [], []

    def elapse(picoseconds):
        passed.append((picoseconds, list(told)))

    meter = Meter(HostConfig(copy=3), elapse)
    meter.sink = lambda what, count, cost: told.append((what, count, cost))
    meter.charge(HostCost.COPY, 0)
    meter.pay()
    assert (passed, told) == ([], [])
    meter.charge(HostCost.COPY, 5)
    meter.spend(HostCost.COPY, 2)
    assert told == [(HostCost.COPY, 5, 15), (HostCost.COPY, 2, 6)]
    assert passed == [(21, told)]
    assert meter.owed == 0
