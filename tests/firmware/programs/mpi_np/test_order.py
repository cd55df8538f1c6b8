"""Rules of order, one event before another: an engine of a NIC stands still until the rule would be
broken."""

from lanai_firmware.lang import offset_of
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import Op, PageEntry, Region
from lanai_hdl.config import lanai41

from ..holding import go_on
from .in_order import FULL, body, channel_of, received, run
from .rig import BODY, ENTRY, Rig
from .test_cut_through import arriving
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
