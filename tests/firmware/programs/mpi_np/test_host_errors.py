"""Host memory that cannot be read or written: the operation concerned fails at both ends, in any
order of events, and nothing else does."""

import random

import pytest
from pairs import in_turn

from lanai_firmware.programs.mpi_np.layout import Error, Kind

from .rig import SMALL, Rig

LENGTH = 3001
CONFIGS = {
    "eager": SMALL,
    "rendezvous": SMALL.but(eager_limit=0),
    "unpaid": SMALL.but(unpaid_limit=4000, ack_slots=1),
    "eager-whole": SMALL.but(cut_through=0),
    "rendezvous-whole": SMALL.but(eager_limit=0, cut_through=0),
    "eager-buffered": SMALL.but(send_buffer=8256),
    "rendezvous-buffered": SMALL.but(eager_limit=0, send_buffer=1088),
    "rendezvous-whole-buffered": SMALL.but(eager_limit=0, cut_through=0, send_buffer=1088),
    "eager-recovery": SMALL.but(recovery=1),
    "rendezvous-recovery": SMALL.but(eager_limit=0, recovery=1),
}


def orders():
    """Ways to choose what happens next."""
    yield lambda count: 0
    yield lambda count: count - 1
    for seed in range(2):
        yield random.Random(seed).randrange


def body(number):
    return bytes((number + i) & 255 for i in range(LENGTH))


def ends(host, kinds):
    """Return the error of each operation that ended with one of these kinds."""
    return {r["operation"]: Error(r["error"]) for r in host.records() if r["kind"] in kinds}


def both_ways(config, choose, lose, sizes):
    """Three messages each way; `lose(rig)` takes memory away. Sends are operations 1 to 3, receives
    4 to 6."""
    rig = Rig(config)
    lose(rig)
    for host in rig.hosts:
        for n in (4, 5, 6):
            host.receive(n, n - 3)
        for n in (1, 2, 3):
            host.send(n, n, body(10 * host.number + n)[: sizes[n - 1]], long=sizes[n - 1] > 256)
    rig.run(choose, 20_000)
    return rig


@pytest.mark.parametrize(
    ("name", "sizes"), in_turn(CONFIGS, [(LENGTH, LENGTH, LENGTH), (64, LENGTH, 64), (LENGTH, 64, LENGTH)])
)
def test_a_receive_into_memory_that_cannot_be_written_fails_and_no_other(name, sizes):
    for choose in orders():
        rig = both_ways(CONFIGS[name], choose, lambda rig: rig.hosts[1].lose_page(5), sizes)
        assert ends(rig.hosts[1], [Kind.RECEIVED]) == {4: Error.OK, 5: Error.BUS, 6: Error.OK}
        assert ends(rig.hosts[0], [Kind.RECEIVED]) == {4: Error.OK, 5: Error.OK, 6: Error.OK}
        for host in rig.hosts:
            assert set(ends(host, [Kind.SENT]).values()) <= {Error.OK}
            for n in (4, 6) if host.number else (4, 5, 6):
                sent = body(10 * (1 - host.number) + n - 3)[: sizes[n - 4]]
                assert host.page(n, len(sent)) == sent


@pytest.mark.parametrize("name", CONFIGS)
def test_a_send_from_memory_that_cannot_be_read_fails_at_both_ends_and_no_other(name):
    for choose in orders():
        rig = both_ways(CONFIGS[name], choose, lambda rig: rig.hosts[1].lose_page(2), [LENGTH] * 3)
        assert ends(rig.hosts[1], [Kind.SENT]) == {1: Error.OK, 2: Error.BUS, 3: Error.OK}
        assert ends(rig.hosts[0], [Kind.SENT]) == {1: Error.OK, 2: Error.OK, 3: Error.OK}
        assert ends(rig.hosts[0], [Kind.RECEIVED]) == {4: Error.OK, 5: Error.DAMAGED, 6: Error.OK}
        assert ends(rig.hosts[1], [Kind.RECEIVED]) == {4: Error.OK, 5: Error.OK, 6: Error.OK}
        assert rig.hosts[0].page(6, LENGTH) == body(13)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_message_whose_body_is_lost_can_be_received_later(name):
    """It waits as unexpected, holds no body, and its credit comes back: many of them pass."""
    rig = Rig(CONFIGS[name])
    rig.hosts[0].lose_page(1)
    for _ in range(12):
        rig.hosts[0].send(1, 7, body(1), long=True)
        rig.run(lambda count: 0)
        rig.hosts[1].receive(2, 7)
        rig.run(lambda count: 0)
    assert [r["error"] for r in rig.hosts[0].records() if r["kind"] is Kind.SENT] == [Error.BUS] * 12
    received = [r for r in rig.hosts[1].records() if r["kind"] is Kind.RECEIVED]
    assert [r["error"] for r in received] == [Error.DAMAGED] * 12


def test_an_unexpected_message_for_memory_that_cannot_be_written_fails():
    rig = Rig(SMALL)
    rig.hosts[1].lose_page(3)
    rig.hosts[0].send(1, 7, body(1), long=True)
    rig.hosts[0].send(2, 8, b"sound")
    rig.run(lambda count: 0)
    rig.hosts[1].receive(3, 7)
    rig.hosts[1].receive(4, 8)
    rig.run(lambda count: 0)
    assert ends(rig.hosts[1], [Kind.RECEIVED]) == {3: Error.BUS, 4: Error.OK}
    assert rig.hosts[1].page(4, 5) == b"sound"


@pytest.mark.parametrize("lost", [0, 1])
def test_a_message_to_oneself(lost):
    for choose in orders():
        rig = Rig(SMALL.but(eager_limit=0))
        rig.hosts[0].lose_page(1 + lost)
        rig.hosts[0].send(1, 7, body(1), long=True, peer=0)
        rig.hosts[0].receive(2, 7, peer=0)
        rig.run(choose, 20_000)
        ended = {r["operation"]: (Error(r["error"]), Error(r["context"])) for r in rig.hosts[0].records()}
        assert ended == {2: (Error.BUS, Error.OK) if lost else (Error.DAMAGED, Error.BUS)}
