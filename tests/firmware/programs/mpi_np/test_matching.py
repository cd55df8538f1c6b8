"""The message that a receive takes (NP-09, NP-34 to NP-37)."""

from collections import Counter

import pytest

from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, Error, Kind, Op, Type
from lanai_firmware.programs.mpi_np.matching.matching import find_unclaimed
from lanai_firmware.programs.mpi_np.plan import McpConfig

from .rig import FULL, Rig, body, channel_of, received, run


def test_look_ahead():
    """NP-09: with four slots, any of four messages can be taken first."""
    for order in ((4, 3, 2, 1), (2, 4, 1, 3)):
        rig = Rig(FULL)
        for n in range(1, 5):
            rig.hosts[0].send(n, n, body(n))
        run(rig)
        for n in order:
            rig.hosts[1].receive(n, n)
            run(rig)
        assert received(rig.hosts[1]) == list(order)


def test_any_source_rotates_and_does_not_ask_for_order():
    """NP-35, NP-36: two senders with many messages each; the receiver takes from both in turn, not
    in order of arrival."""
    rig = Rig(FULL)
    b = rig.hosts[1]
    for n in (1, 2, 3):
        rig.hosts[0].send(n, 5, body(n))
    run(rig)
    b.number = 0  # rank 1 sends to itself, later
    for n in (1, 2, 3):
        b.send(n + 5, 5, body(n))
    run(rig)
    for n in range(1, 7):
        b.receive(n, int(NO_TAG), peer=int(ANY))
    run(rig)
    sources = [r["source"] for r in b.records() if r["kind"] is Kind.RECEIVED]
    assert sources in ([0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0])


def test_copies_of_an_any_source_receive_go_together():
    """NP-35: one copy a channel, joined; when one meets a message none is left, and later receives
    keep their order."""
    rig = Rig(FULL)
    b = rig.hosts[1]
    b.receive(1, 5, peer=int(ANY))
    b.receive(2, 5)
    run(rig)
    for n in (1, 2):
        rig.hosts[0].send(n, 5, body(n))
    run(rig)
    assert received(b) == [1, 2]
    assert b.page(1, 24) == body(1)
    with rig.fabric.nics[1].machine:
        endpoint, spare = state.nic.endpoints, 0
        node = endpoint.copy_free
        while node:
            spare, node = spare + 1, node.chain
    assert spare == FULL.any_receives * 2


def test_search_is_one_after_another():
    """NP-34, NP-37: the deeper a match lies, the more envelopes are looked at; at most all
    slots."""

    rig = Rig(FULL.but(messages=32))
    for n in range(1, 17):
        rig.hosts[0].send(n, n, body(n))
    run(rig)
    channel, machine = channel_of(rig, 1), rig.fabric.nics[1].machine
    plain_load, loads = machine.load, []

    def cost(tag):
        loads.clear()
        assert find_unclaimed(channel, 0, tag, 0xFFFFFFFF)
        return len(loads)

    with machine:
        machine.load = lambda address, size: loads.append(address) or plain_load(address, size)
        near, next_one, far = cost(1), cost(2), cost(16)
        machine.load = plain_load
    assert next_one > near
    assert far - near == 15 * (next_one - near)


def test_messages_are_taken_off_in_one_round_each():
    """NP-G9: three questions at once: a message with its body, a promise, nothing; and an entry
    that does not exist is refused."""
    rig = Rig(FULL)
    a, b = rig.hosts
    a.send(1, 5, body(1))
    a.send(2, 6, body(2), sync=True)
    run(rig)
    for n in (1, 2, 3):
        where = {"pieces__0__address": 0x1020_0000 + n * 4096, "pieces__0__length": 4096}
        b.post(Op.DRAIN, n, token=n, limit=4096, peer=int(ANY), spare=n + 8, **where)
    run(rig)
    told = [(r["kind"], r["operation"], r["tag"]) for r in b.records() if r["kind"] is not Kind.ARRIVED]
    assert told == [
        (Kind.FOUND, 9, 5), (Kind.RECEIVED, 1, 5), (Kind.FOUND_PULL, 10, 6), (Kind.MISSING, 11, 0),
    ]  # fmt: skip
    assert b.page(1, 24) == body(1)
    a.send(4, 7, body(4))
    run(rig)
    b.post(Op.DRAIN, 4, token=99, limit=4096, peer=0, spare=12)
    run(rig)
    assert [(r["kind"], r["operation"], r["error"]) for r in b.records()[-1:]] == [(Kind.REFUSED, 12, Error.BAD_INDEX)]


# Receives that ask for messages not announced (NP-22, NP-23, NP-25).


FULL_QUEUE = McpConfig(messages=4, receives=16, any_receives=2, ack_slots=1, inline_bytes=256)


def body_of(number, size=24):
    return bytes((number + i) & 255 for i in range(size))


def rig_that_asks(config=FULL_QUEUE):
    rig = Rig(config)
    for host in rig.hosts:
        host.asks = True
    return rig


def run_search(rig):
    """Each thing that may happen in turn."""
    step = iter(range(1 << 30))
    rig.run(lambda count: next(step) % count, 20_000)


def sent(rig, source):
    return Counter(Type(kind).name for sender, kind in rig.packets if sender == source)


def received_by(host):
    return {r["operation"]: r for r in host.records() if r["kind"] is Kind.RECEIVED}


def out_of_credit(rig, **how):
    """Four messages use up the slots of the channel; a fifth, with tag 5, waits at its sender."""
    for n in range(1, 5):
        rig.hosts[0].send(n, n, body_of(n))
    rig.hosts[0].send(5, 5, body_of(5), **how)
    run_search(rig)
    assert sent(rig, 0) == {"EAGER": 4}


@pytest.mark.parametrize("how", [{}, {"long": True}, {"sync": True}])
def test_an_expected_message_needs_no_credit(how):
    """NP-25: not even for its envelope."""
    rig = rig_that_asks()
    out_of_credit(rig, **how)
    rig.hosts[1].receive(5, 5)
    run_search(rig)
    assert sent(rig, 1) == {"SEARCH_REQ": 1}
    assert sent(rig, 0) == {"EAGER": 4, "ACCEPT": 1, "ANSWER": 1}
    record = received_by(rig.hosts[1])[5]
    assert (record["tag"], record["length"], record["error"]) == (5, 24, Error.OK)
    assert rig.hosts[1].page(5, 24) == body_of(5)
    for n in range(1, 5):
        rig.hosts[1].receive(n, n)
    rig.hosts[0].send(6, 6, body_of(6))
    rig.hosts[1].receive(6, int(NO_TAG))
    run_search(rig)
    assert sorted(received_by(rig.hosts[1])) == [1, 2, 3, 4, 5, 6], "credit and order are what they would have been"


def test_without_the_question_it_waits():
    rig = Rig(FULL_QUEUE)
    out_of_credit(rig)
    rig.hosts[1].receive(5, 5)
    run_search(rig)
    assert not received_by(rig.hosts[1])


def test_what_is_not_there_is_answered_by_nack():
    """NP-23: the message goes its own way when it is sent (NP-G3)."""
    rig = rig_that_asks()
    rig.hosts[1].receive(1, 1)
    run_search(rig)
    assert sent(rig, 1) == {"SEARCH_REQ": 1}
    assert sent(rig, 0) == {"NACK": 1}
    rig.hosts[0].send(1, 1, body_of(1))
    run_search(rig)
    assert sent(rig, 0) == {"NACK": 1, "EAGER": 1}
    assert 1 in received_by(rig.hosts[1])


def test_only_the_head_of_the_ring_may_go():
    rig = rig_that_asks()
    out_of_credit(rig)
    rig.hosts[0].send(6, 6, body_of(6))
    rig.hosts[1].receive(6, 6)
    run_search(rig)
    assert sent(rig, 0)["NACK"] == 1
    assert not received_by(rig.hosts[1])


def test_only_the_oldest_receive_of_a_channel_asks():
    """An older one, be it from anyone, might be meant by the message as well."""
    rig = rig_that_asks()
    out_of_credit(rig)
    rig.hosts[1].receive(1, 77, peer=int(ANY))
    rig.hosts[1].receive(5, 5)
    run_search(rig)
    assert sent(rig, 1) == {}


def test_a_message_that_is_too_long_is_cut_at_its_sender():
    rig = rig_that_asks()
    out_of_credit(rig, long=True)
    rig.hosts[1].receive(5, 5, room=10)
    run_search(rig)
    record = received_by(rig.hosts[1])[5]
    assert (record["length"], record["total"], record["error"]) == (10, 24, Error.TRUNCATED)
    assert rig.hosts[1].page(5, 24) == body_of(5)[:10] + bytes(14)


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
    run_search(rig)
    kinds = [(r["operation"], r["kind"]) for r in rig.hosts[1].records() if r["kind"] is not Kind.ARRIVED]
    assert kinds == ([(6, Kind.NOT_CANCELLED), (5, Kind.RECEIVED)] if there else [(6, Kind.CANCELLED)])


def test_a_peer_that_is_lost_answers_no_question():
    """The receive fails, and so does the cancel that waited for the answer."""
    rig = rig_that_asks(FULL_QUEUE.but(recovery=1, retries=1))
    rig.fabric.filter = lambda source, target, packet: []
    rig.hosts[1].receive(5, 5)
    rig.hosts[1].cancel(6, 5)
    while rig.hosts[1].script:
        rig.act(("host", 1, 0))
    rig.run(lambda count: 0, 20_000)
    kinds = {r["kind"]: r["operation"] for r in rig.hosts[1].records()}
    assert kinds == {Kind.RECEIVED: 5, Kind.NOT_CANCELLED: 6, Kind.LOST: 0}
    assert received_by(rig.hosts[1])[5]["error"] == Error.PEER_FAILED


def test_packets_that_answer_no_question_are_dropped():
    rig = rig_that_asks()
    rig.hosts[0].send(1, 1, body_of(1))
    rig.fabric.filter = lambda source, target, packet: [packet.__class__(packet.route, bytes([kind]) + packet.data[1:])
                                                        for kind in (Type.NACK, Type.ACCEPT)]  # fmt: skip
    run_search(rig)
    nic = rig.fabric.nics[1]
    from lanai_firmware.programs.mpi_np import state

    with nic.machine:
        assert state.nic.dropped == 2
