"""Recovery: whatever the wires do to packets, each message arrives once, in order, whole; and a
peer that is gone is reported."""

import random
from collections import deque
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, Error, Kind, Op
from lanai_firmware.programs.mpi_np.memory.send_buffers import send_buffers
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.errors import UserError
from lanai_hdl.machine import Verdict

from .rig import SMALL, Rig
from .test_interleavings import SCRIPTS, body, settled

ON = SMALL.but(recovery=1, window=4, spare_buffers=4)
BUFFERED = ON.but(send_buffer=1088, eager_limit=512)
CONFIGS = {
    "credit": ON,
    "unpaid": ON.but(unpaid_limit=129),
    "rendezvous": ON.but(eager_limit=0),
    "buffered": BUFFERED,
    "buffered-unpaid": BUFFERED.but(unpaid_limit=129),
}
KINDS = ("drop", "corrupt", "duplicate", "reorder", "late", "misroute")


def first(count):
    return 0


class Faults:
    """A fabric's filter: `plan` names a kind of fault for some packets, counted over all wires."""

    def __init__(self, plan):
        self.plan, self.count, self.held = plan, -1, {}
        self.wires = {}  # of the fabric, for packets that take a wrong turn

    def __call__(self, source, target, packet):
        self.count += 1
        kind = self.plan.get(self.count, "")
        passed = {
            "drop": [],
            "corrupt": [Packet(packet.route, b"\xff" * len(packet.data), int(Verdict.VALID | Verdict.CRC))],
            "duplicate": [packet, packet],
            "misroute": [],
            "reorder": [],
            "late": [],
        }.get(kind, [packet])
        if kind == "misroute":
            self.wires.setdefault((source, 1 - target), deque()).append(packet)
        held = self.held.setdefault((source, target), [])
        if kind in ("reorder", "late"):  # behind the next packet of this wire, or behind the next four
            held.append([1 if kind == "reorder" else 4, packet])
            return passed
        for wait in held:
            wait[0] -= 1
        passed += [late for left, late in held if left <= 0]
        held[:] = [wait for wait in held if wait[0] > 0]
        return passed


def faulty(script, config, plan, choose=first):
    """Run a script of `test_interleavings` over bad wires, and check what its receives got. Returns
    the rig."""
    rig = Rig(config)
    rig.fabric.filter = Faults(plan)
    rig.fabric.filter.wires = rig.fabric.wires
    wanted = SCRIPTS[script](rig)
    rig.run(choose, 20_000)
    for number, receives in settled(wanted).items():
        host = rig.hosts[number]
        assert not [r for r in host.records() if r["error"]], "no rank is lost"
        done = [r["operation"] for r in host.records() if r["kind"] is Kind.RECEIVED]
        assert sorted(done) == sorted(receives), "a receive is not done, or done twice"
        for receive, message in receives.items():
            assert host.page(receive, 20 + message) == body(message)
        assert not config.send_buffer or room_in_use(rig, number) == 0
    return rig


def room_in_use(rig, number):
    """Bytes of a NIC's send buffers."""
    with rig.fabric.nics[number].machine:
        return sum(int(send_buffers()[i].ahead.used) + int(send_buffers()[i].leaving.used) for i in range(2))


def state_of(rig, number):
    from lanai_firmware.programs.mpi_np.state import nic

    with rig.fabric.nics[number].machine:
        return {name: int(getattr(nic, name)) for name in ("unacked", "resent", "repeated", "stage_head", "stage_tail")}


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_sound_wires_need_no_repetition(script, config):
    rig = faulty(script, CONFIGS[config], {})
    for number in range(2):
        state = state_of(rig, number)
        assert (state["unacked"], state["resent"], state["repeated"]) == (0, 0, 0)


@pytest.mark.parametrize("script", ["twins"])
def test_each_packet_each_fault(script):
    """Exhaustive for one fault: every packet of the run meets every kind."""
    quiet = faulty(script, ON, {})
    for number, kind in product(range(quiet.fabric.filter.count + 1), KINDS):
        rig = faulty(script, ON, {number: kind})
        assert all(state_of(rig, nic)["unacked"] == 0 for nic in range(2)), (number, kind)


def test_a_rank_that_rings_without_pause_does_not_hold_up_the_timer():
    """A lost packet is sent again although the doorbell is set at each turn, as a rank that polls
    may have it."""
    rig = Rig(ON)
    rig.fabric.filter = Faults({0: "drop"})
    a, b = rig.hosts
    b.receive(3, 1)
    b.script.pop()()
    a.post(Op.SEND_INLINE, 1, b"body", tag=1, length=4, peer=1)
    for _ in range(400):
        a.nic.ring(1)
        if a.nic.armed:
            a.nic.tick()
        for action in rig.actions():
            a.nic.ring(1)
            rig.act(action)
    assert [r["operation"] for r in b.records() if r["kind"] is Kind.RECEIVED] == [3]
    assert state_of(rig, 0)["resent"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_two_faults(script, config):
    """Every packet with every kind, in every pair of the first twelve packets, for each script and
    protocol."""
    count = faulty(script, CONFIGS[config], {}).fabric.filter.count
    for number, kind in product(range(count + 4), KINDS):
        faulty(script, CONFIGS[config], {number: kind})
    for a, b in product(range(12), range(12)):
        for kinds in (("drop", "drop"), ("drop", "duplicate"), ("late", "drop"), ("corrupt", "reorder")):
            if a < b:
                faulty(script, CONFIGS[config], {a: kinds[0], b: kinds[1]})


PLANS = st.dictionaries(st.integers(0, 60), st.sampled_from(KINDS), max_size=25)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=st.sampled_from(sorted(SCRIPTS)),
    config=st.sampled_from(sorted(CONFIGS)),
    plan=PLANS,
    seed=st.integers(0, 999),
)
def test_any_faults_any_order(script, config, plan, seed):
    faulty(script, CONFIGS[config], plan, random.Random(seed).randrange)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=st.sampled_from(sorted(SCRIPTS)),
    config=st.sampled_from(sorted(CONFIGS)),
    plan=PLANS,
    seed=st.integers(0, 10**6),
)
def test_many_faults_many_orders(script, config, plan, seed):
    faulty(script, CONFIGS[config], plan, random.Random(seed).randrange)


def test_without_recovery_a_lost_packet_is_a_lost_message():
    """The paper's behaviour, which the configuration keeps: nothing is sent again, and no rank
    gets a report."""
    rig = Rig(SMALL)
    rig.fabric.filter = Faults({0: "drop"})
    rig.hosts[0].send(1, 7, body(1))
    rig.hosts[1].receive(1, 7)
    rig.run(first)
    assert not rig.hosts[1].records()


@pytest.mark.parametrize("config", [ON, BUFFERED], ids=["credit", "buffered"])
@pytest.mark.parametrize("after", range(10))
def test_lost_peer_is_an_error_everywhere(after, config):
    """From some packet on nothing passes: each operation ends, well or with PEER_FAILED, and both
    hosts hear LOST or had it all."""
    rig = Rig(config.but(retries=2))
    rig.fabric.filter = Faults(dict.fromkeys(range(after, 5000), "drop"))
    a, b = rig.hosts
    for n in (1, 2, 3):
        a.send(n, n, body(n), long=n == 2, sync=n == 3)
        b.receive(n, n)
    b.receive(4, int(NO_TAG), peer=int(ANY))
    b.send(5, 5, body(5), long=True)
    a.receive(5, 5)
    rig.run(first, 20_000)
    for host, receives in ((a, [5]), (b, [1, 2, 3, 4])):
        records = host.records()
        lost = [r for r in records if r["kind"] is Kind.LOST]
        if not lost:
            continue
        assert [r["source"] for r in lost] == [1 - host.number]
        for operation in receives:
            ended = [r for r in records if r["operation"] == operation and r["kind"] is Kind.RECEIVED]
            assert len(ended) == 1
            if ended[0]["error"]:
                assert ended[0]["error"] == Error.PEER_FAILED
            elif operation < 4:
                assert host.page(operation, 20 + operation) == body(operation)
        host.receive(6, 6)  # refused at once
        rig.run(first)
        last = host.records()[-1]
        assert (last["kind"], last["error"], last["operation"]) == (Kind.REFUSED, Error.PEER_FAILED, 6)
    assert any(r["kind"] is Kind.LOST for host in rig.hosts for r in host.records())


def test_a_body_keeps_its_room_until_it_is_acknowledged():
    """NP-39: the first packet is lost, and the next body would fit into its room only."""
    rig = Rig(BUFFERED)
    rig.fabric.filter = Faults({0: "drop"})
    sender, receiver = rig.hosts
    bodies = {n: bytes([n]) * 400 for n in range(1, 4)}
    for n, data in bodies.items():
        sender.send(n, n, data, long=True)
        receiver.receive(n, n)
    rig.run(first, 20_000)
    assert {n: receiver.page(n, 400) for n in bodies} == bodies
    assert state_of(rig, 0)["resent"] >= 1
    assert room_in_use(rig, 0) == 0


def test_a_send_whose_body_was_brought_is_reported_once_though_its_peer_is_lost():
    """NP-39: four leave on credit, three wait on the NIC, and all seven are done when their bodies are there."""
    rig = Rig(BUFFERED.but(retries=1, window=8))
    rig.fabric.filter = lambda source, target, packet: []
    sender = rig.hosts[0]
    for n in range(1, 8):
        sender.send(n, n, body(n), long=True)
    rig.run(first, 20_000)
    records = sender.records()
    assert [r["operation"] for r in records if r["kind"] is Kind.SENT] == list(range(1, 8))
    assert [r["operation"] for r in records if r["kind"] is Kind.REFUSED] == [0, 0, 0], "as of sends by PIO"
    assert records[-1]["kind"] is Kind.LOST
    assert room_in_use(rig, 0) == 0


def test_a_lost_peer_leaves_the_others_alone():
    """NP-07: a rank's channel to itself goes on when the other rank is gone."""
    rig = Rig(ON.but(retries=1))
    rig.fabric.filter = lambda source, target, packet: [packet] if source == target else []
    a = rig.hosts[0]
    for n in range(1, 5):
        a.send(n, n, body(n))
    rig.run(first)
    assert [r["kind"] for r in a.records()] == [Kind.LOST]
    a.number = 1  # so that the rig's peer is rank 0 itself
    a.send(6, 6, body(6), long=True)
    a.receive(6, 6)
    rig.run(first)
    assert a.page(6, 26) == body(6)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"window": 6}, "window=6 must be a power of two from 2 to 64"),
        ({"recovery": 1, "crc_check": 0}, "recovery=1 needs crc_check=1"),
        ({"retry_cycles": 10}, "retry_cycles=10 is less than a round trip"),
    ],
)
def test_bad_values_are_quoted(changes, says):
    with pytest.raises(UserError, match=says):
        McpConfig().but(**changes)
