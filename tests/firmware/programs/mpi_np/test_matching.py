"""The message that a receive takes (NP-09, NP-34 to NP-37)."""

from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, Error, Kind, Op
from lanai_firmware.programs.mpi_np.matching.matching import find_unclaimed

from .in_order import FULL, body, channel_of, received, run
from .rig import Rig


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
