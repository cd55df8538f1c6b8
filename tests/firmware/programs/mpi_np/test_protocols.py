"""The protocols packet by packet, on the model: who asks, who answers, and when a send ends (NP-21,
NP-23, NP-29)."""

import random

import pytest

from lanai_firmware.programs.mpi_np.layout import Error, Kind

from .in_order import FULL, body, run, types
from .rig import Rig


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
