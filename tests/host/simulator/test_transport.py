"""The transport through shared memory, without a simulator: the ends of all ranks in one process,
each on its own thread where one must wait."""

import ctypes
import threading
import time

import pytest

from lanai_host.body import Run, Runs
from lanai_host.errors import UserError
from lanai_host.operation import Wait
from lanai_host.simulator.protocol import FOREVER
from lanai_host.simulator.rank_transport import RankTransport
from lanai_host.simulator.transport import LOOK_TIME, State, TransportHub

LATENCY = 1000
WHY = Wait("MPI_Recv", 1, 7)
KEPT = []  # memory that datagrams are copied from


class Client:
    """The part of `SimulatorClient` that the transport uses."""

    watchful = False

    def __init__(self, rank):
        self.rank = rank
        self.clock = 0
        self.calls = []

    def call(self, op, payload):
        self.calls.append((op, payload))
        raise EOFError  # the simulator ends the run here

    def finalize(self):
        self.calls.append("finalize")


class Ranks:
    def __init__(self, count, **options):
        self.hub = TransportHub(count, options.pop("latency", LATENCY), **options)
        self.transports = [RankTransport(Client(rank), self.hub.path) for rank in range(count)]

    def clock(self, rank):
        return self.transports[rank]._client.clock


def body(data):
    """A run of memory that holds it."""
    memory = ctypes.create_string_buffer(data, len(data))
    KEPT.append(memory)
    return Run(ctypes.addressof(memory), len(data))


def apart(*functions):
    """Run all at once, each on a thread; their results."""
    results = [None] * len(functions)

    def run(index, function):
        try:
            results[index] = function()
        except EOFError as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return results


def test_a_short_datagram_does_not_overtake_a_long_one():
    ranks = Ranks(2, byte_time=10)
    here, there = ranks.transports
    here.post(1, b"", body(b"x" * 1000))
    here.post(1, b"y")
    here.close()
    assert there.collect(WHY) == [(0, b"x" * 1000), (0, b"y")]
    assert ranks.clock(1) == LATENCY + 10_000


def test_time_passes_for_others_while_processes_wait_outside():
    """Only if no rank computes. What such a rank posts after that does not come earlier."""
    ranks = Ranks(3)
    hub, (outside, waits, computes) = ranks.hub, ranks.transports
    results = []

    def look():
        for _ in range(3):
            waits.elapse(LATENCY)
            waits.collect(None)
        results.append(waits.collect(WHY))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    for _ in range(20):
        assert not hub.let_time_pass([0]), "rank 2 computes"
    computes.close()
    deadline = time.monotonic() + 20
    while hub.look(1).wake != FOREVER and time.monotonic() < deadline:
        hub.let_time_pass([0])
    assert hub.look(1).state == State.WAITS
    assert not hub.let_time_pass([0]), "nothing is on its way"
    now = hub.look(1).clock
    assert now >= 3 * LATENCY
    outside.post(1, b"late")
    outside.close()
    thread.join(20)
    assert results == [[(0, b"late")]]
    assert ranks.clock(1) >= now
    passed = 3 * (LATENCY + LOOK_TIME)
    assert ranks.clock(1) == passed + LATENCY


def test_time_passes_without_a_rank_that_is_set_aside():
    """It is not waited for, and what it posts comes at the time that it is by then."""
    ranks = Ranks(3)
    hub, (aside, one, two) = ranks.hub, ranks.transports

    def talk(own, peer):
        for _ in range(50):
            own.post(peer, b"x")
            own.collect(WHY)
        return own.collect(WHY)  # from the rank that is aside

    results = []
    talks = [
        threading.Thread(target=lambda own=own, to=to: results.append(talk(own, to)), daemon=True)
        for own, to in ((one, 2), (two, 1))
    ]
    for thread in talks:
        thread.start()
    hub.set_aside(0)
    deadline = time.monotonic() + 20
    while not all(hub.look(rank).wake == FOREVER for rank in (1, 2)) and time.monotonic() < deadline:
        time.sleep(0.001)
    now = hub.look(1).clock
    assert now == 50 * LATENCY
    assert {hub.look(rank).state for rank in (1, 2)} == {State.WAITS}, "a rank may still post"
    assert not hub.missed
    aside.post(1, b"late")
    aside.post(2, b"late")
    aside.close()
    for thread in talks:
        thread.join(20)
    assert results == [[(0, b"late")]] * 2
    assert hub.missed
    assert ranks.clock(1) == now + LATENCY


def test_a_rank_that_is_taken_back_before_time_has_passed_has_missed_nothing():
    ranks = Ranks(2)
    ranks.hub.set_aside(0)
    ranks.hub.take_back(0)
    ranks.transports[1].close()
    ranks.transports[0].close()
    assert not ranks.hub.missed


def test_the_bodies_of_one_sender_share_its_line():
    """To any destination; those of different senders do not share one. Heads cost nothing, and an
    idle line accumulates nothing."""
    ranks = Ranks(3, byte_time=10)
    first, second, there = ranks.transports
    first.post(1, b"head", body(b"x" * 100))
    first.post(2, b"head", body(b"y" * 100))
    first.elapse(5_000)
    first.post(2, b"head", Runs([*body(b"z" * 30).segments(), *body(b"z" * 20).segments()]))
    first.close()
    second.post(2, b"head", body(b"v" * 100))
    second.close()
    arrivals = []
    for _ in range(3):
        arrivals += [(datagram[-1:], ranks.clock(2)) for _, datagram in there.collect(WHY)]
    assert arrivals == [(b"v", LATENCY + 1000), (b"y", LATENCY + 2000), (b"z", LATENCY + 5_000 + 500)]


def test_datagrams_of_any_size_arrive_whole_and_their_memory_is_reused():
    ranks = Ranks(2)
    here, there = ranks.transports
    for round_ in range(3):
        sent = [bytes([round_]) * size for size in (0, 1, 63, 4096, 1 << 20, 5_000_001)]
        for datagram in sent:
            here.post(1, datagram)

        here.elapse(10 * LATENCY)
        here.post(1, b"later")  # says how far this rank is
        got = []
        while len(got) < len(sent):
            got += [entry for entry in there.collect(WHY) if entry[1] != b"later"]
        assert got == [(0, datagram) for datagram in sent]


def test_a_rank_that_only_looks_waits_until_the_others_have_come_as_far():
    ranks = Ranks(2)
    here, there = ranks.transports

    def post():
        here.elapse(5 * LATENCY)
        here.post(1, b"late")
        here.close()

    def look():
        there.elapse(6 * LATENCY)
        return there.collect(None)

    found, _ = apart(look, post)
    assert found == [(0, b"late")]
    assert ranks.clock(1) == 6 * LATENCY + LOOK_TIME


def test_without_latency_ranks_go_one_by_one():
    ranks = Ranks(3, latency=0)

    def turn(rank):
        transport = ranks.transports[rank]
        seen = []
        for _ in range(20):
            transport.elapse(rank)
            transport.post((rank + 1) % 3, bytes([rank]))
            seen += transport.collect(None)
        transport.close()
        return seen, ranks.clock(rank)

    first = apart(*(lambda rank=rank: turn(rank) for rank in range(3)))
    ranks = Ranks(3, latency=0)
    assert apart(*(lambda rank=rank: turn(rank) for rank in range(3))) == first


def test_all_are_stopped_when_nothing_can_come():
    ranks = Ranks(2)
    ends = apart(*(lambda transport=transport: transport.collect(WHY) for transport in ranks.transports))
    assert all(isinstance(end, EOFError) for end in ends)
    for transport in ranks.transports:
        ((_, payload),) = transport._client.calls
        assert b"MPI_Recv" in payload


def test_the_states_at_the_end_are_of_one_moment():
    """A rank that still ran then may post and wait later: that is not what the ranks that waited had to expect."""
    ranks = Ranks(2)
    waits, runs = ranks.transports
    assert ranks.hub.at_stop(0) is None

    def stop():
        while ranks.hub.look(0).state != State.WAITS:
            time.sleep(0.001)
        ranks.hub.stop()
        runs.post(0, b"late")
        return runs.collect(WHY)

    apart(lambda: waits.collect(WHY), stop)
    assert [ranks.hub.look(rank).state for rank in range(2)] == [State.STOPPED] * 2
    assert [ranks.hub.at_stop(rank).state for rank in range(2)] == [State.WAITS, State.RUNS]
    assert ranks.hub.at_stop(0).wake == FOREVER
    ranks.hub.stop()
    assert ranks.hub.at_stop(1).state == State.RUNS


def test_states_are_seen_from_outside():
    ranks = Ranks(2)
    assert ranks.hub.look(0).state == State.RUNS
    ranks.transports[0].elapse(5)
    waiter = threading.Thread(target=lambda: ranks.transports[0].collect(WHY), daemon=True)
    waiter.start()
    for _ in range(2000):
        if ranks.hub.look(0).why:
            break
        waiter.join(0.01)
    rank_state = ranks.hub.look(0)
    assert (rank_state.state, rank_state.clock) == (State.WAITS, 5)
    assert b"MPI_Recv" in rank_state.why
    ranks.transports[1].post(0, b"end")
    ranks.transports[1].close()
    waiter.join(30)
    assert not waiter.is_alive()
    assert ranks.hub.look(1).state == State.LEFT


def test_a_datagram_that_does_not_fit_the_shared_memory_is_refused():
    ranks = Ranks(2)
    with pytest.raises(UserError, match="no shared memory is left for a datagram of 1099511627777 bytes"):
        ranks.transports[0].post(1, b"x", Run(1, 1 << 40))


def held(text):
    """Memory with this text in it, and where it lies."""
    memory = ctypes.create_string_buffer(text, len(text))
    return memory, ctypes.addressof(memory)


def test_more_ranks_than_memory_has_queues_for_are_refused():
    with pytest.raises(UserError, match=r"^1000000 ranks need \d+ MiB of memory .* \d+ MiB are available; start fewer"):
        TransportHub(1_000_000, latency=0)
