"""The match of messages and receives, and how many envelopes are compared for it."""

import random
import re
import sys
from types import SimpleNamespace

import pytest

from lanai_host.body import NOTHING
from lanai_host.config import HostConfig, HostCost, Queue, free
from lanai_host.host_model.matcher import Matcher, Posted, Unexpected
from lanai_host.host_model.meter import Ledger, Meter, Receive
from lanai_host.operation import ANY_SOURCE, ANY_TAG
from lanai_host.stacks import names
from openlanai import Job

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


# The queues of devices that match on the host: MPI's order, and work that does not grow with their length.


class Entry:
    """An entry that counts how often any entry's tag was looked at."""

    looks = made = 0

    def __init__(self, source, tag):
        Entry.made += 1
        self.source, self._tag, self.order = source, tag, Entry.made

    @property
    def tag(self):
        Entry.looks += 1
        return self._tag


def matches_queues(receive, message):
    return receive.source in (message.source, ANY_SOURCE) and receive.tag in (message.tag, ANY_TAG)


@pytest.mark.parametrize("seed", range(20))
def test_the_oldest_match_is_taken(seed):
    rng = random.Random(seed)
    posted, unexpected = Posted(), Unexpected()
    receives, messages = [], []  # the same as plain lists
    for _ in range(400):
        if rng.random() < 0.5:
            message = Entry(rng.randrange(3), rng.randrange(4))
            expected = next((receive for receive in receives if matches_queues(receive, message)), None)
            assert posted.take(message.source, message.tag)[0] is expected
            if expected is None:
                messages.append(message)
                unexpected.add(message)
            else:
                receives.remove(expected)
        else:
            receive = Entry(rng.choice([0, 1, 2, ANY_SOURCE]), rng.choice([0, 1, 2, 3, ANY_TAG]))
            expected = next((message for message in messages if matches_queues(receive, message)), None)
            assert unexpected.find(receive.source, receive.tag)[0] is expected
            if expected is None:
                receives.append(receive)
                posted.add(receive)
            else:
                messages.remove(expected)
                unexpected.remove(expected)
        if receives and rng.random() < 0.1:  # cancelled
            gone = receives.pop(rng.randrange(len(receives)))
            posted.remove(gone)
        assert (len(posted), len(unexpected)) == (len(receives), len(messages))


def looks(meet, count):
    before = Entry.looks
    meet(count)
    return Entry.looks - before


@pytest.mark.parametrize("source", [0, ANY_SOURCE])
def test_receives_met_in_reverse_order(source):
    def meet(count):
        posted = Posted()
        receives = [Entry(source, tag) for tag in range(count)]
        for receive in receives:
            posted.add(receive)
        for tag in reversed(range(count)):
            assert posted.take(0, tag) == (receives[tag], 1)

    assert looks(meet, 4000) == 4 * looks(meet, 1000)


@pytest.mark.parametrize("source", [0, ANY_SOURCE])
def test_messages_taken_in_reverse_order(source):
    def meet(count):
        unexpected = Unexpected()
        for tag in range(count):
            unexpected.add(Entry(0, tag))
        for tag in reversed(range(count)):
            unexpected.remove(unexpected.find(source, tag)[0])

    assert looks(meet, 4000) == 4 * looks(meet, 1000)


def test_receives_cancelled_in_reverse_order():
    def meet(count):
        posted = Posted()
        receives = [Entry(0, 7) for _ in range(count)]
        for receive in receives:
            posted.add(receive)
        for receive in reversed(receives):
            posted.remove(receive)
        assert not posted

    assert looks(meet, 4000) == 4 * looks(meet, 1000)


def test_posted_receives_are_told_in_their_order():
    queue = Posted()
    receives = [Entry(source, tag) for source, tag in ((1, 2), (ANY_SOURCE, 3), (1, 2), (0, ANY_TAG))]
    for receive in receives:
        queue.add(receive)
    queue.remove(receives[1])
    assert list(queue) == [receives[0], *receives[2:]]


# The notes of a device on room at receivers.


def test_each_change_names_who_took_the_room_and_whose_it_is():
    told, ledger = [], Ledger(2)
    ledger.took("slots", 5)  # nobody asks yet
    ledger.sink = lambda *change: told.append(change)
    ledger.took("slots", 5)
    ledger.has_back("slots", 5)
    ledger.freed("bytes", 7, 100)
    assert told == [("slots", 2, 5, 1), ("slots", 2, 5, -1), ("bytes", 7, 2, -100)]


# The same matches cost the same on every messaging system that matches on the host.

MATCH = 1_000_000_000  # ps: more than all else in these programs takes together
# Ten messages are there before their receives, then ten receives before their messages; both meet in reverse order.
PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
data = bytearray(4)

def took(work):
    before = MPI.Wtime()
    work()
    return MPI.Wtime() - before

def collect():
    for tag in reversed(range(10)):
        world.Recv(data, source=1, tag=tag)

if world.rank == 0:
    world.Recv(data, source=1, tag=99)
    first = took(collect)
    receives = [world.Irecv(bytearray(4), source=1, tag=tag) for tag in range(10)]
    world.Send(data, dest=1, tag=0)
    second = took(lambda: MPI.Request.Waitall(receives))
    print("looks", round(first * 1000), round(second * 1000))
else:
    for tag in (*range(10), 99):
        world.Send(data, dest=0, tag=tag)
    world.Recv(data, source=0, tag=0)
    for tag in reversed(range(10)):
        world.Send(data, dest=0, tag=tag)
"""
ON_THE_NIC = ("lanai2", "mpi-np")
LOOKS = {Queue.LIST: (55, 56), Queue.HASH: (10, 11)}  # the last one is of rank 1, for which rank 0 waits


@pytest.mark.parametrize("queue", Queue)
@pytest.mark.parametrize("device", names())
def test_matches_cost_the_same(device, queue, capfd):
    host = HostConfig(match=MATCH, queue=queue)
    assert Job((sys.executable, "-c", PROGRAM), 2, device).but(host=host).run().code == 0
    found = re.search(r"looks (\d+) (\d+)", capfd.readouterr().out)
    assert tuple(map(int, found.groups())) == ((0, 0) if device in ON_THE_NIC else LOOKS[queue])
