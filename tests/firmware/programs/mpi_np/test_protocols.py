"""The protocols packet by packet, on the model: who asks, who answers, and when a send ends (NP-21,
NP-23, NP-29)."""

import random

import pytest

from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import Error, Kind, Op, PageEntry
from lanai_hdl.machine import HostDmaStart, Verdict

from ..rig import go_on
from .rig import BODY, ENTRY, FULL, SMALL, Rig, body, run, types


def test_each_request_for_a_body_has_one_answer():
    """NP-21, NP-23: SEND_REQ is answered once, whatever the order; a RECV_REQ that meets its
    receive is not asked for twice."""
    rig = Rig(FULL.but(eager_limit=0))
    a, b = rig.hosts
    b.receive(1, 1)
    a.send(1, 1, body(1), long=True)
    a.send(2, 2, body(2), long=True)
    b.receive(2, 2)
    run(rig)
    assert types(rig, 0)["RECV_REQ"] == 2
    assert types(rig, 1)["SEND_REQ"] == 2
    assert types(rig, 0)["ANSWER"] == 2


def test_a_synchronous_send_ends_when_it_is_met():
    """NP-29: the NICs alone know when; the host places one request and reads one record."""
    rig = Rig(FULL)
    rig.hosts[0].send(1, 1, body(1), sync=True)
    run(rig)
    assert not rig.hosts[0].records()
    rig.hosts[1].receive(1, 1)
    run(rig)
    assert [r["kind"] for r in rig.hosts[0].records()] == [Kind.SENT]


@pytest.mark.parametrize(("sync", "size"), [(True, 0), (True, 24), (False, 3000)])
def test_a_rank_reads_of_both_ends_at_once(sync, size):
    """NP-29: what a rank sends to itself is received when it counts as sent, in any order of
    events."""
    for seed in range(20):
        rig = Rig(FULL.but(eager_limit=0))
        host = rig.hosts[0]
        host.number = 1  # the rig's peer is now rank 0 itself
        for n in (1, 2):
            host.receive(n + 8, n, peer=0)
        for n in (1, 2):
            host.send(n, n, body(n, size), sync=sync, long=not sync)
        rig.run(random.Random(seed).randrange)
        told = {(r["kind"], r["operation"], r["token"], r["error"], r["context"]) for r in host.records()}
        assert told == {(Kind.RECEIVED_OWN, n + 8, n, Error.OK, Error.OK) for n in (1, 2)}
        assert all(host.page(n + 8, size) == body(n, size) for n in (1, 2))


def test_a_failed_send_to_oneself_is_told_once():
    """NP-29: its page is not the rank's; receive and send both learn of it."""
    rig = Rig(FULL.but(eager_limit=0))
    host = rig.hosts[0]
    host.number = 1
    host.send(1, 1, body(1), long=True)
    host.script.pop(0)()
    host.table[48:52] = (0x2000_0000).to_bytes(4, "big")
    host.receive(2, 1, peer=0)
    run(rig)
    told = [(r["kind"], r["operation"], r["error"], r["token"], r["context"]) for r in host.records()]
    assert told == [(Kind.RECEIVED_OWN, 2, Error.DAMAGED, 1, Error.BAD_ADDRESS)]


def test_the_host_is_not_needed_once_a_message_is_posted():
    """NP-01: requests are placed, then no host does anything; the NICs finish, the data are
    there."""
    rig = Rig(FULL)
    rig.hosts[1].receive(1, 1)
    rig.hosts[0].send(1, 1, body(1, 4096), long=True)
    while rig.hosts[0].script or rig.hosts[1].script:
        rig.act(rig.actions()[0])
    run(rig)
    assert rig.hosts[1].page(1, 4096) == body(1, 4096)


# Bodies that leave, and go on to the host, before they are whole (NP-51): any order of events, both ways at once.


EAGER = SMALL
ASKED = SMALL.but(eager_limit=0)


def long_body(number):
    return bytes((number + i) & 255 for i in range(3000 + number))


def both_ways(config, choose):
    rig = Rig(config)
    for host in rig.hosts:
        for n in (1, 2, 3):
            host.send(n, n % 2, long_body(10 * host.number + n), long=True)
        for n in (4, 5, 6):
            host.receive(n, (n - 3) % 2)
    rig.run(choose, 20_000)
    return rig


def check(rig):
    for host in rig.hosts:
        done = [r["operation"] for r in host.records() if r["kind"] is Kind.RECEIVED and not r["error"]]
        assert sorted(done) == [4, 5, 6]
        for n in (1, 2, 3):
            wanted = long_body(10 * (1 - host.number) + n)
            assert host.page(n + 3, len(wanted)) == wanted


@pytest.mark.parametrize("config", [EAGER, ASKED, EAGER.but(cut_through=0), ASKED.but(cut_through=0)])
def test_any_order(config):
    for seed in range(6):
        check(both_ways(config, random.Random(seed).randrange))


@pytest.mark.slow
@pytest.mark.parametrize("config", [EAGER, ASKED])
def test_many_orders(config):
    for seed in range(400):
        check(both_ways(config, random.Random(seed).randrange))


def arriving(rig):
    """Let things happen, but no packet become whole, until one is followed at the second NIC."""
    nic = rig.hosts[1].nic
    for _ in range(500):
        if any(start & 8 for _, _, _, start in nic.copies):
            return nic
        rig.act(next(action for action in rig.actions() if action[:2] != ("finish", 1)))
    raise AssertionError("no packet was followed")


@pytest.mark.parametrize("config", [EAGER, ASKED])
def test_a_body_is_on_its_way_to_the_host_before_it_is_whole(config):
    rig = Rig(config)
    rig.hosts[1].receive(1, 7)
    rig.run(lambda count: 0)
    rig.hosts[0].send(1, 7, long_body(1), long=True)
    nic = arriving(rig)
    assert nic.arriving
    rig.hosts[1].post(Op.CANCEL, 9, token=1)  # too late
    rig.run(lambda count: count - 1)
    kinds = {r["operation"]: r["kind"] for r in rig.hosts[1].records()}
    assert kinds == {1: Kind.RECEIVED, 9: Kind.NOT_CANCELLED}
    assert rig.hosts[1].page(1, 3001) == long_body(1)


def test_after_a_damaged_body_the_next_one_is_followed_again():
    rig = Rig(EAGER)
    flaws = [int(Verdict.VALID | Verdict.CRC)]
    rig.fabric.filter = lambda source, target, packet: [
        Packet(packet.route, packet.data, flaws.pop()) if len(packet.data) > 100 and flaws else packet
    ]
    rig.hosts[1].receive(1, 7)
    rig.run(lambda count: 0)
    for number in (1, 2):
        rig.hosts[0].send(number, 7, long_body(number), long=True)
        arriving(rig)
        rig.run(lambda count: count - 1)
    assert [r["operation"] for r in rig.hosts[1].records()] == [1]
    assert rig.hosts[1].page(1, 3002) == long_body(2)


def test_a_damaged_body_leaves_its_receive_waiting():
    """The upload began before the CRC was known: the message is not reported, and the next one
    takes the receive."""
    rig = Rig(EAGER)
    rig.fabric.filter = lambda source, target, packet: [
        Packet(packet.route, packet.data, int(Verdict.VALID | Verdict.CRC)) if len(packet.data) > 100 else packet
    ]
    rig.hosts[1].receive(1, 7)
    rig.run(lambda count: 0)
    rig.hosts[0].send(1, 7, long_body(1), long=True)
    arriving(rig)
    rig.run(lambda count: count - 1)
    assert not rig.hosts[1].records()
    rig.hosts[0].send(2, 7, b"short")
    rig.run(lambda count: count - 1)
    assert [r["kind"] for r in rig.hosts[1].records()] == [Kind.RECEIVED]
    assert rig.hosts[1].page(1, 5) == b"short"


def fill_entry(host, index, *places, **fields):
    """A page entry of pieces: page and bytes of each."""
    for number, (page, length) in enumerate(places):
        fields |= {f"pieces.{number}.address": host.own(BODY) + page * 4096, f"pieces.{number}.length": length}
    host.table[index * ENTRY : (index + 1) * ENTRY] = pack(PageEntry, fields)


def receive_in_pieces(host, operation, page, length, table):
    """A receive whose first piece is short. Each uses the same receive entry."""
    where = {"pieces__0__address": host.own(BODY) + page * 4096, "pieces__0__length": length}
    host.post(Op.RECEIVE, operation, token=1, limit=4096, tag=operation, peer=0, table=table, **where)


def a_receive_before(rig):
    """A receive has used the receive entry: its second page entry said page 9."""
    receiver = rig.hosts[1]
    fill_entry(receiver, 3, (9, 4096))
    receive_in_pieces(receiver, 1, 1, 1000, table=3)
    rig.hosts[0].send(1, 1, long_body(1), long=True)
    run(rig)
    assert receiver.page(9, 2001) == long_body(1)[1000:]
    receiver.body[9 * 4096 : 10 * 4096] = bytes(4096)


def test_a_page_entry_that_is_on_its_way_is_not_followed_into():
    """The one before lies where it will."""
    rig = Rig(ASKED)
    a_receive_before(rig)
    sender, receiver = rig.hosts
    fill_entry(receiver, 4, (10, 4096))
    receive_in_pieces(receiver, 2, 2, 1000, table=4)
    sender.send(2, 2, long_body(2), long=True)
    go_on(rig, ("copy", 1), ("finish", 1))
    assert receiver.nic.arriving
    assert len(receiver.nic.copies) == 1
    run(rig)
    assert receiver.page(2, 1000) == long_body(2)[:1000]
    assert receiver.page(10, 2002) == long_body(2)[1000:]
    assert not any(receiver.page(9, 4096))


def test_no_page_entry_is_followed_into_where_there_is_none():
    """The one of a receive before is still there."""
    rig = Rig(ASKED)
    a_receive_before(rig)
    sender, receiver = rig.hosts
    receive_in_pieces(receiver, 2, 2, 1000, table=0)
    sender.send(2, 2, long_body(2), long=True)
    go_on(rig, ("finish", 1))
    run(rig)
    (record,) = [r for r in receiver.records() if r["operation"] == 2]
    assert record["error"] == Error.BAD_ADDRESS
    assert not any(receiver.page(9, 4096))


def test_a_packet_is_followed_from_the_last_piece_of_an_entry_into_the_next():
    rig = Rig(ASKED)
    sender, receiver = rig.hosts
    fill_entry(receiver, 3, (2, 500), (3, 500), (4, 500), (5, 500), next=4)
    fill_entry(receiver, 4, (6, 4096))
    receive_in_pieces(receiver, 1, 1, 1000, table=3)
    run(rig)
    message = bytes(n & 255 for n in range(4000))
    sender.body[4096:8096] = message
    fill_entry(sender, 1, (1, 2600), (1, 1400), total=4000, operation=1, peer=1)
    sender.table[ENTRY + 8 : ENTRY + 12] = (sender.own(BODY) + 4096 + 2600).to_bytes(4, "big")
    sender.post(Op.SEND, 1, table=1, tag=1, length=4000, peer=1)
    followed = False
    while rig.actions():  # one packet after the other, each when nothing else is under way
        go_on(rig, ("accept", 1), ("finish", 1))
        followed |= any(start & HostDmaStart.FOLLOW for *_, start in receiver.nic.copies)
        for action in rig.actions():
            rig.act(action)
    assert followed
    parts = [(1, 1000), (2, 500), (3, 500), (4, 500), (5, 500), (6, 1000)]
    assert b"".join(receiver.page(*part) for part in parts) == message
