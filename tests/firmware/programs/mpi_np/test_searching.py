"""Receives that ask for messages not announced (NP-22, NP-23, NP-25)."""

from collections import Counter

import pytest

from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, Error, Kind, Type
from lanai_firmware.programs.mpi_np.plan import McpConfig

from .rig import Rig

FULL = McpConfig(messages=4, receives=16, any_receives=2, ack_slots=1, inline_bytes=256)


def body(number, size=24):
    return bytes((number + i) & 255 for i in range(size))


def rig_that_asks(config=FULL):
    rig = Rig(config)
    for host in rig.hosts:
        host.asks = True
    return rig


def run(rig):
    """Each thing that may happen in turn."""
    step = iter(range(1 << 30))
    rig.run(lambda count: next(step) % count, 20_000)


def sent(rig, source):
    return Counter(Type(kind).name for sender, kind in rig.packets if sender == source)


def received(host):
    return {r["operation"]: r for r in host.records() if r["kind"] is Kind.RECEIVED}


def out_of_credit(rig, **how):
    """Four messages use up the slots of the channel; a fifth, with tag 5, waits at its sender."""
    for n in range(1, 5):
        rig.hosts[0].send(n, n, body(n))
    rig.hosts[0].send(5, 5, body(5), **how)
    run(rig)
    assert sent(rig, 0) == {"EAGER": 4}


@pytest.mark.parametrize("how", [{}, {"long": True}, {"sync": True}])
def test_an_expected_message_needs_no_credit(how):
    """NP-25: not even for its envelope."""
    rig = rig_that_asks()
    out_of_credit(rig, **how)
    rig.hosts[1].receive(5, 5)
    run(rig)
    assert sent(rig, 1) == {"SEARCH_REQ": 1}
    assert sent(rig, 0) == {"EAGER": 4, "ACCEPT": 1, "ANSWER": 1}
    record = received(rig.hosts[1])[5]
    assert (record["tag"], record["length"], record["error"]) == (5, 24, Error.OK)
    assert rig.hosts[1].page(5, 24) == body(5)
    for n in range(1, 5):
        rig.hosts[1].receive(n, n)
    rig.hosts[0].send(6, 6, body(6))
    rig.hosts[1].receive(6, int(NO_TAG))
    run(rig)
    assert sorted(received(rig.hosts[1])) == [1, 2, 3, 4, 5, 6], "credit and order are what they would have been"


def test_without_the_question_it_waits():
    rig = Rig(FULL)
    out_of_credit(rig)
    rig.hosts[1].receive(5, 5)
    run(rig)
    assert not received(rig.hosts[1])


def test_what_is_not_there_is_answered_by_nack():
    """NP-23: the message goes its own way when it is sent (NP-G3)."""
    rig = rig_that_asks()
    rig.hosts[1].receive(1, 1)
    run(rig)
    assert sent(rig, 1) == {"SEARCH_REQ": 1}
    assert sent(rig, 0) == {"NACK": 1}
    rig.hosts[0].send(1, 1, body(1))
    run(rig)
    assert sent(rig, 0) == {"NACK": 1, "EAGER": 1}
    assert 1 in received(rig.hosts[1])


def test_only_the_head_of_the_ring_may_go():
    rig = rig_that_asks()
    out_of_credit(rig)
    rig.hosts[0].send(6, 6, body(6))
    rig.hosts[1].receive(6, 6)
    run(rig)
    assert sent(rig, 0)["NACK"] == 1
    assert not received(rig.hosts[1])


def test_only_the_oldest_receive_of_a_channel_asks():
    """An older one, be it from anyone, might be meant by the message as well."""
    rig = rig_that_asks()
    out_of_credit(rig)
    rig.hosts[1].receive(1, 77, peer=int(ANY))
    rig.hosts[1].receive(5, 5)
    run(rig)
    assert sent(rig, 1) == {}


def test_a_message_that_is_too_long_is_cut_at_its_sender():
    rig = rig_that_asks()
    out_of_credit(rig, long=True)
    rig.hosts[1].receive(5, 5, room=10)
    run(rig)
    record = received(rig.hosts[1])[5]
    assert (record["length"], record["total"], record["error"]) == (10, 24, Error.TRUNCATED)
    assert rig.hosts[1].page(5, 24) == body(5)[:10] + bytes(14)


@pytest.mark.parametrize("there", [False, True])
def test_a_cancel_waits_for_the_answer(there):
    """The record of the cancel comes after that of the answer, and says the truth."""
    rig = rig_that_asks()
    if there:
        out_of_credit(rig)
    rig.hosts[1].receive(5, 5)
    rig.hosts[1].cancel(6, 5)
    while rig.hosts[1].script:
        rig.act(("host", 1, 0))
    run(rig)
    kinds = [(r["operation"], r["kind"]) for r in rig.hosts[1].records() if r["kind"] is not Kind.ARRIVED]
    assert kinds == ([(6, Kind.NOT_CANCELLED), (5, Kind.RECEIVED)] if there else [(6, Kind.CANCELLED)])


def test_a_peer_that_is_lost_answers_no_question():
    """The receive fails, and so does the cancel that waited for the answer."""
    rig = rig_that_asks(FULL.but(recovery=1, retries=1))
    rig.fabric.filter = lambda source, target, packet: []
    rig.hosts[1].receive(5, 5)
    rig.hosts[1].cancel(6, 5)
    while rig.hosts[1].script:
        rig.act(("host", 1, 0))
    rig.run(lambda count: 0, 20_000)
    kinds = {r["kind"]: r["operation"] for r in rig.hosts[1].records()}
    assert kinds == {Kind.RECEIVED: 5, Kind.NOT_CANCELLED: 6, Kind.LOST: 0}
    assert received(rig.hosts[1])[5]["error"] == Error.PEER_FAILED


def test_packets_that_answer_no_question_are_dropped():
    rig = rig_that_asks()
    rig.hosts[0].send(1, 1, body(1))
    rig.fabric.filter = lambda source, target, packet: [packet.__class__(packet.route, bytes([kind]) + packet.data[1:])
                                                        for kind in (Type.NACK, Type.ACCEPT)]  # fmt: skip
    run(rig)
    nic = rig.fabric.nics[1]
    from lanai_firmware.programs.mpi_np import state

    with nic.machine:
        assert state.nic.dropped == 2
