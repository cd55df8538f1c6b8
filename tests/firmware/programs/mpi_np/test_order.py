"""Rules of order, one event before another: an engine of a NIC stands still until the rule would be
broken."""

import pytest

from lanai_firmware.lang import offset_of
from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import Kind, Op, PageEntry, Region
from lanai_firmware.programs.mpi_np.memory.heap import store_body
from lanai_hdl.config import lanai41

from ..rig import go_on
from .rig import BODY, ENTRY, FULL, Rig, body, channel_of, received, run, types
from .test_protocols import arriving
from .test_recovery import ON

DEEP = lanai41().but(hdma_queue=8)  # so that the firmware goes on while copies wait
MANY = FULL.but(messages=16, receives=16)


def without_copies(rig, number, rounds=100):
    """The host DMA of a NIC stands. The processor polls while it waits, so this never comes to rest."""
    for _ in range(rounds):
        for action in rig.actions():
            if action[:2] != ("copy", number):
                rig.act(action)


def freed(host):
    """The word that has a bit for each slot that was given back an odd number of times."""
    return int.from_bytes(host.nic.pio_read(host.layout.regions[0] + int(offset_of(Region, "freed")), 4), "big")


def test_a_slot_is_given_back_when_its_body_has_left():
    rig = Rig(FULL)
    sender, receiver = rig.hosts
    receiver.receive(1, 1)
    sender.send(1, 1, body(1))
    go_on(rig, ("send", 0))
    assert freed(sender) == 0
    run(rig)
    assert freed(sender) == 1
    assert receiver.page(1, 24) == body(1)


def test_a_receive_buffer_is_used_again_when_its_body_is_in_memory():
    """Messages that nobody expects fill the others meanwhile: they need no copy to the host."""
    rig = Rig(MANY, nic=DEEP)
    sender, receiver = rig.hosts
    receiver.receive(1, 1)
    go_on(rig)
    sender.send(1, 1, body(1))
    for n in range(2, 16):
        sender.send(n, 9, body(n))
    without_copies(rig, 1)
    run(rig)
    assert receiver.page(1, 24) == body(1)


def test_a_kept_body_is_released_when_it_has_been_read():
    """Its space is not given to another before: there are credit and space for four messages."""
    rig = Rig(FULL, nic=DEEP)
    sender, receiver = rig.hosts
    for n in range(1, 5):
        sender.send(n, n, body(n))
    go_on(rig)
    for n in range(1, 5):
        receiver.receive(n, n)
    without_copies(rig, 1)
    for n in range(5, 9):
        sender.send(n, n, body(n))
    without_copies(rig, 1)
    assert len(rig.packets) == 4, "credit came back before the bodies were read"
    run(rig)
    for n in range(5, 9):
        receiver.receive(n, n)
    run(rig)
    assert received(receiver) == list(range(1, 9))
    for n in range(1, 9):
        assert receiver.page(n, 24) == body(n)


def test_expected_messages_wait_for_room_in_the_host_dma():
    rig = Rig(MANY)
    sender, receiver = rig.hosts
    for n in range(1, 7):
        receiver.receive(n, n)
    go_on(rig)
    for n in range(1, 7):
        sender.send(n, n, body(n))
    without_copies(rig, 1)
    run(rig)
    for n in range(1, 7):
        assert receiver.page(n, 24) == body(n)


def test_a_short_message_waits_for_room_at_the_receiver():
    """For blocks of its memory, as for slots: what is more than these hold would be written over."""
    rig = Rig(FULL)
    sender, receiver = rig.hosts
    channel = channel_of(rig, 0)
    with sender.nic.machine:
        room = channel.block_credit
        channel.block_credit = 1
    for n in range(1, 3):
        sender.send(n, n, body(n, FULL.inline_bytes))
    go_on(rig)
    with sender.nic.machine:
        assert channel.block_credit <= 1
        channel.block_credit = room
    for n in range(1, 3):
        receiver.receive(n, n)
    run(rig)
    assert received(receiver) == [1, 2]


def test_a_packet_is_not_sent_again_while_it_has_not_left():
    """However long the send DMA stands: it would be queued over and over."""
    rig = Rig(ON)
    sender, receiver = rig.hosts
    receiver.receive(1, 1)
    sender.send(1, 1, body(1))
    go_on(rig, ("send", 0))
    queued = len(sender.nic.sends)
    for _ in range(40):
        if sender.nic.armed:
            sender.nic.tick()
        go_on(rig, ("send", 0))
    assert len(sender.nic.sends) == queued
    run(rig)
    assert receiver.page(1, 24) == body(1)


def test_a_packet_waits_for_its_body_where_it_may_not_chase():
    rig = Rig(FULL.but(cut_through=0))
    sender, receiver = rig.hosts
    receiver.receive(1, 1)
    sender.send(1, 1, body(1), long=True)
    go_on(rig, ("copy", 0))
    assert not rig.packets
    run(rig)
    assert receiver.page(1, 24) == body(1)


def test_no_packet_chases_its_body_behind_one_that_is_followed():
    """Each of two NICs could else wait for the rest of the other's packet (NP-51)."""
    rig = Rig(FULL)
    first, second = rig.hosts
    second.receive(1, 1)
    first.receive(2, 2)
    run(rig)
    first.send(1, 1, body(1, 3000), long=True)
    nic = arriving(rig)
    second.send(2, 2, body(2, 3000), long=True)
    go_on(rig, ("finish", 1))
    assert not nic.sends
    run(rig)
    assert second.page(1, 3000) == body(1, 3000)
    assert first.page(2, 3000) == body(2, 3000)


def send_in_parts(host, operation, message):
    """A send of a message that lies in eight pieces, and so goes in eight packets."""
    place, size = operation * 4096, len(message) // 8
    host.body[place : place + len(message)] = message
    for entry, following, first in ((operation, 40, 0), (40, 0, 4)):
        fields = {"next": following, "total": len(message), "operation": operation, "peer": host.other()}
        for piece in range(4):
            fields[f"pieces.{piece}.address"] = host.own(BODY) + place + (first + piece) * size
            fields[f"pieces.{piece}.length"] = size
        host.table[entry * ENTRY : (entry + 1) * ENTRY] = pack(PageEntry, fields)
    host.post(Op.SEND, operation, table=operation, tag=operation, length=len(message), peer=host.other())


def test_parts_of_a_body_wait_for_room_in_the_host_dma():
    rig = Rig(FULL.but(eager_limit=0, cut_through=0))
    sender, receiver = rig.hosts
    receiver.receive(1, 1)
    run(rig)
    send_in_parts(sender, 1, body(1, 4000))
    without_copies(rig, 1)
    run(rig)
    assert receiver.page(1, 4000) == body(1, 4000)


# Credit and acknowledgements, packet by packet (NP-15 to NP-18, NP-24 to NP-26).


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
