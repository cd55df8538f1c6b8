"""The order of requests: each endpoint in turn (NP-54), each request once, whatever its host
writes afterwards."""

import random

import pytest
from pairs import in_turn as errors_in_turn

from lanai_firmware.lang import sizeof
from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import ANY, REQUEST_TAIL, Error, Kind, Op, Request
from lanai_firmware.programs.mpi_np.plan import McpConfig

from .rig import BODY, SMALL, Rig
from .test_interleavings import RENDEZVOUS, SCRIPTS, judge

PAGE = 4096


def in_turn():
    step = iter(range(1 << 30))
    return lambda count: next(step) % count


def answers(rig):
    """Lets everything happen; (rank, operation) in the order in which records come."""
    found, choose = [], in_turn()
    while actions := rig.actions():
        rig.act(actions[choose(len(actions))])
        for host in rig.hosts:
            found += [key for r in host.records() if (key := (host.number, r["operation"])) not in found]
    return found


@pytest.mark.parametrize("many", [0, 1, 2])
def test_endpoints_are_served_in_turn(many):
    """One posts eight requests before the NIC looks, the others two each: no rank waits for more
    than one of each of the others."""
    rig = Rig(SMALL, places=(3,))
    for host in rig.hosts:
        for operation in range(8 if host.number == many else 2):
            host.post(Op.PROBE, operation, tag=1, peer=host.number)
    order = answers(rig)
    assert sorted(rank for rank, _ in order[:3]) == [0, 1, 2]
    assert sorted(rank for rank, _ in order[3:6]) == [0, 1, 2]
    assert [rank for rank, _ in order[6:]] == [many] * 6


def test_a_rank_that_polls_does_not_hold_up_its_neighbour():
    """A probe is answered, and the next one is there before the NIC looks again."""
    rig = Rig(SMALL, places=(2,))
    busy, other = rig.hosts
    for operation in range(6):
        other.post(Op.PROBE, operation, tag=1, peer=1)
    choose, probes = in_turn(), 0
    while len(other.records()) < 6:
        if len(busy.records()) == probes:
            busy.post(Op.PROBE, probes, tag=1, peer=0)
            probes += 1
        actions = rig.actions()
        rig.act(actions[choose(len(actions))])
        assert probes < 10, "the rank that polls is served again and again"


def test_bits_of_no_endpoint_are_cleared():
    rig = Rig(SMALL, places=(2, 1))
    nic = rig.fabric.nics[0]
    nic.ring(0xFFFF_FFFC)
    rig.run(in_turn())
    assert nic.doorbell == 0


def test_each_rank_has_slots_and_a_bit_of_its_own():
    """NP-54: no semaphore. The bit of another rank says nothing of one's own request, and a second
    bell brings no second answer."""
    rig = Rig(SMALL, places=(2,))
    first, second = rig.hosts
    first.post(Op.PROBE, 3, tag=1, peer=1)
    rig.fabric.nics[0].doorbell = 2
    rig.run(in_turn())
    assert first.records() == second.records() == []
    for _ in range(2):
        rig.fabric.nics[0].ring(1)
        rig.run(in_turn())
    assert [r["kind"] for r in first.records()] == [Kind.MISSING]
    assert second.records() == []


def test_a_request_in_a_slot_that_was_not_given_back_is_refused():
    """Its host gets a report; the send that is in the slot goes on."""
    rig = Rig(SMALL.but(eager_limit=0))
    a, b = rig.hosts
    a.post(Op.SEND_INLINE, 1, b"body", tag=1, length=4, peer=1)
    rig.run(in_turn())
    a.slot = 31
    for operation in (2, 3):
        with a.nic.machine:
            state.nic.endpoints.poll = state.nic.endpoints.sends
        a.slot = 0
        a.post(Op.PROBE, operation, tag=1, peer=1)
        rig.run(in_turn())
    told = [(r["kind"], r["operation"], r["error"]) for r in a.records()]
    assert told == [(Kind.REFUSED, 2, Error.BAD_INDEX), (Kind.REFUSED, 3, Error.BAD_INDEX)]
    b.receive(5, 1)
    rig.run(in_turn())
    assert [r["operation"] for r in b.records() if r["kind"] is Kind.RECEIVED] == [5]


def test_drain_of_anyone_goes_round():
    """NP-35: the first channel that has a message, from behind the one that had the last."""
    rig = Rig(SMALL, places=(1, 1, 1))
    me = rig.hosts[1]
    for tag in (1, 2):
        for host in rig.hosts:
            host.send(tag, tag, b"from %d" % host.number, peer=1)
            rig.run(in_turn())
    for operation in range(1, 7):
        where = {"pieces__0__address": me.own(BODY) + operation * PAGE, "pieces__0__length": PAGE}
        me.post(Op.DRAIN, operation, token=operation, limit=PAGE, peer=int(ANY), spare=operation + 8, **where)
        rig.run(in_turn())
    met = [(r["source"], r["tag"]) for r in me.records() if r["kind"] is Kind.RECEIVED]
    assert met == [(0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2)]


class Scribbler(Rig):
    """Hosts that write over each request as soon as it has been read, but for an inline body."""

    def __init__(self, config, seed):
        super().__init__(config)
        self.dice = random.Random(seed)

    def act(self, action):
        super().act(action)
        if action[0] != "turn":
            return
        for host in self.hosts:
            for slot in range(32):
                self.scribble(host, host.slot_end(slot), slot)

    def scribble(self, host, end, slot):
        command = int.from_bytes(host.nic.pio_read(end - 4, 4), "big")
        with host.nic.machine:
            polled = int(state.nic.endpoints.poll.tail) + int(REQUEST_TAIL) == end
        if command >> 24 or polled:
            return  # not read yet, or the next one appears here
        size = int(REQUEST_TAIL if host.placed.get(slot) == Op.SEND_INLINE else sizeof(Request))
        host.nic.pio_write(end - size, self.dice.randbytes(size - 4) + bytes(4))


CONFIGS = {
    "credit": SMALL,
    "unpaid": SMALL.but(unpaid_limit=129),
    "rendezvous": RENDEZVOUS,
    "recovery": McpConfig(messages=4, receives=8, any_receives=2, ack_slots=1, inline_bytes=256, recovery=1),
}


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("ask", [False, True])
def test_what_a_request_becomes_afterwards_does_not_matter(script, config, ask):
    rig = Scribbler(CONFIGS[config], script)
    for host in rig.hosts:
        host.asks = ask
    wanted = SCRIPTS[script](rig)
    rig.run(in_turn(), 20_000)
    judge(rig, wanted)


# Host memory that cannot be read or written: the operation concerned fails at both ends, in any order of events, and
# nothing else does.


LENGTH = 3001
ERROR_CONFIGS = {
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
    ("name", "sizes"),
    errors_in_turn(ERROR_CONFIGS, [(LENGTH, LENGTH, LENGTH), (64, LENGTH, 64), (LENGTH, 64, LENGTH)]),
)
def test_a_receive_into_memory_that_cannot_be_written_fails_and_no_other(name, sizes):
    for choose in orders():
        rig = both_ways(ERROR_CONFIGS[name], choose, lambda rig: rig.hosts[1].lose_page(5), sizes)
        assert ends(rig.hosts[1], [Kind.RECEIVED]) == {4: Error.OK, 5: Error.BUS, 6: Error.OK}
        assert ends(rig.hosts[0], [Kind.RECEIVED]) == {4: Error.OK, 5: Error.OK, 6: Error.OK}
        for host in rig.hosts:
            assert set(ends(host, [Kind.SENT]).values()) <= {Error.OK}
            for n in (4, 6) if host.number else (4, 5, 6):
                sent = body(10 * (1 - host.number) + n - 3)[: sizes[n - 4]]
                assert host.page(n, len(sent)) == sent


@pytest.mark.parametrize("name", ERROR_CONFIGS)
def test_a_send_from_memory_that_cannot_be_read_fails_at_both_ends_and_no_other(name):
    for choose in orders():
        rig = both_ways(ERROR_CONFIGS[name], choose, lambda rig: rig.hosts[1].lose_page(2), [LENGTH] * 3)
        assert ends(rig.hosts[1], [Kind.SENT]) == {1: Error.OK, 2: Error.BUS, 3: Error.OK}
        assert ends(rig.hosts[0], [Kind.SENT]) == {1: Error.OK, 2: Error.OK, 3: Error.OK}
        assert ends(rig.hosts[0], [Kind.RECEIVED]) == {4: Error.OK, 5: Error.DAMAGED, 6: Error.OK}
        assert ends(rig.hosts[1], [Kind.RECEIVED]) == {4: Error.OK, 5: Error.OK, 6: Error.OK}
        assert rig.hosts[0].page(6, LENGTH) == body(13)


@pytest.mark.parametrize("name", ERROR_CONFIGS)
def test_a_message_whose_body_is_lost_can_be_received_later(name):
    """It waits as unexpected, holds no body, and its credit comes back: many of them pass."""
    rig = Rig(ERROR_CONFIGS[name])
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
