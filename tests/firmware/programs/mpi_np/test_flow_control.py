"""Credit and acknowledgements, packet by packet (NP-15 to NP-18, NP-24 to NP-26)."""

import pytest

from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import Kind
from lanai_firmware.programs.mpi_np.memory.heap import store_body

from .in_order import FULL, body, channel_of, received, run, types
from .rig import Rig

UNPAID = FULL.but(unpaid_limit=129)


def test_credit_is_slots_and_bytes():
    """NP-15, NP-18: what has no credit waits at the sender, and nothing is dropped."""
    rig = Rig(FULL)
    for n in range(1, 9):
        rig.hosts[0].send(n, n, body(n))
    run(rig)
    assert types(rig)["EAGER"] == 4
    for n in range(1, 9):
        rig.hosts[1].receive(n, n)
    run(rig)
    assert received(rig.hosts[1]) == list(range(1, 9))
    assert types(rig)["EAGER"] == 8
    assert types(rig)["DROPPED"] == 0


def test_every_message_is_acknowledged():
    """NP-16 with ack_slots=1: each message gives its credit back at once, in a packet of its own if
    nothing else goes that way."""
    rig = Rig(FULL)
    for n in range(1, 6):
        rig.hosts[1].receive(n, n)
        rig.hosts[0].send(n, n, body(n))
        run(rig)
    assert types(rig, 1) == {"ACK": 5}
    channel = channel_of(rig, 0)
    with rig.fabric.nics[0].machine:
        assert channel.slot_credit == FULL.messages


@pytest.mark.parametrize(("ack_slots", "acks"), [(1, 8), (4, 2)])
def test_messages_without_a_body_are_acknowledged_by_their_slots(ack_slots, acks):
    """They take no block of the heap, so slots alone decide when an ACK is due."""
    rig = Rig(FULL.but(messages=16, ack_slots=ack_slots))
    for n in range(1, 9):
        rig.hosts[1].receive(n, n)
        rig.hosts[0].send(n, n, b"")
        run(rig)
    assert types(rig, 1) == {"ACK": acks}


@pytest.mark.parametrize(("size", "blocks"), [(0, 0), (1, 1), (128, 1), (129, 2), (256, 2)])
def test_a_body_takes_no_more_credit_than_it_fills(size, blocks):
    """Byte credit is counted in whole blocks of 128 bytes (NP-15)."""
    rig = Rig(FULL)
    channel = channel_of(rig, 0)
    with rig.fabric.nics[0].machine:
        before = channel.slot_credit, channel.block_credit
    rig.hosts[0].send(1, 1, body(1, size))
    run(rig)
    with rig.fabric.nics[0].machine:
        assert (before[0] - channel.slot_credit, before[1] - channel.block_credit) == (1, blocks)


def test_expected_data_need_no_byte_credit():
    """NP-25: the channel's heap is full of another message; a body that was asked for comes all the
    same, and the heap stays as it is."""
    rig = Rig(FULL.but(eager_limit=0))
    rig.hosts[1].receive(1, 1)
    rig.hosts[0].send(1, 1, body(1, 3000), long=True)
    with rig.fabric.nics[1].machine:
        channel = state.nic.channels
        while store_body(channel, 0x8000, 4096):
            pass
    run(rig)
    assert received(rig.hosts[1]) == [1]
    assert rig.hosts[1].page(1, 3000) == body(1, 3000)
    assert types(rig)["ANSWER"] == 1


def test_a_message_without_credit_waits_for_its_receive():
    """NP-26: too large to go on credit, it does not leave before it is asked for, as a synchronous
    send would not."""
    rig = Rig(FULL.but(eager_limit=2000))
    rig.hosts[0].send(1, 1, body(1, 3000), long=True)
    run(rig)
    assert types(rig) == {"RECV_REQ": 1}
    assert not [r for r in rig.hosts[0].records() if r["kind"] is Kind.SENT]
    rig.hosts[1].receive(1, 1)
    run(rig)
    assert [r["kind"] for r in rig.hosts[0].records()] == [Kind.SENT]


def test_an_unpaid_message_is_dropped_once_at_most():
    """NP-24: the fifth message goes on the chance, is dropped, and then waits for credit."""
    rig = Rig(UNPAID)
    for n in range(1, 6):
        rig.hosts[0].send(n, n, body(n))
    run(rig)
    assert types(rig, 0) == {"EAGER": 4, "EAGER_UNPAID": 1}
    assert types(rig, 1)["DROPPED"] == 1
    for n in range(5, 0, -1):
        rig.hosts[1].receive(n, n)
    run(rig)
    assert types(rig, 0) == {"EAGER": 5, "EAGER_UNPAID": 1}
    assert sorted(received(rig.hosts[1])) == [1, 2, 3, 4, 5]


def test_counts_of_credit_wrap_around():
    """Slots in the upper half of a word, blocks in the lower: neither carries into the other."""
    rig = Rig(FULL)
    there, here = channel_of(rig, 0), channel_of(rig, 1)
    sender, receiver = rig.hosts
    with sender.nic.machine:
        before = int(there.slot_credit), int(there.block_credit)
        there.credit_seen = 0xFFFF_FFFF
    with receiver.nic.machine:
        here.given = here.told = 0xFFFF_FFFF
    for n in range(1, 4):
        sender.send(n, n, body(n))
        run(rig)
        receiver.receive(n, n)
        run(rig)
    with sender.nic.machine:
        assert (int(there.slot_credit), int(there.block_credit)) == before
        assert there.credit_seen == 0x0002_0002
