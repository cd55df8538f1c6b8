"""The thesis's rules one by one, packet by packet, on the model (ids as in the docs: NP-nn)."""

import random
from collections import Counter

import pytest

from lanai_firmware.errors import UserError
from lanai_firmware.lang import sizeof
from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, SLOTS, Error, Kind, Op, PageEntry, Type
from lanai_firmware.programs.mpi_np.matching.matching import find_unclaimed
from lanai_firmware.programs.mpi_np.memory.heap import store_body
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_firmware.programs.mpi_np.sram import LEAST_HEAP, MAX_CHANNELS, lay_out

from .rig import Rig

FULL = McpConfig(messages=4, receives=16, any_receives=2, ack_slots=1, inline_bytes=256)
UNPAID = FULL.but(unpaid_limit=129)
SRAM_HEAP, SRAM_END = 60_000, 0xFD000  # of a 1 MB NIC: what the image takes, and where the stack begins


def in_turn():
    step = [0]

    def choose(count):
        step[0] += 1
        return step[0] % count

    return choose


def run(rig):
    rig.run(in_turn(), 20_000)


def body(number, size=24):
    return bytes((number + i) & 255 for i in range(size))


def types(rig, source=None):
    return Counter(Type(kind).name for sender, kind in rig.packets if source is None or sender == source)


def received(host):
    return [r["operation"] for r in host.records() if r["kind"] is Kind.RECEIVED]


# Memory and channels.


def test_sixty_four_channels_each_with_their_share():
    """NP-04, NP-05, NP-06: 64 channels in 1 MB, 32 message slots and 4.5 kB of receive buffer each;
    a 65th is refused."""
    layout = lay_out(McpConfig(), 8, 8, SRAM_HEAP, SRAM_END)
    assert layout.plan["messages_per_channel"] == 32
    assert layout.plan["blocks_per_channel"] * 128 >= LEAST_HEAP == 4608
    assert MAX_CHANNELS == 64
    few = lay_out(McpConfig(), 1, 2, SRAM_HEAP, SRAM_END)
    assert few.plan["blocks_per_channel"] > 8 * layout.plan["blocks_per_channel"], "fewer channels have more each"
    with pytest.raises(UserError, match="65 channels; the NIC has 64"):
        lay_out(McpConfig(), 5, 13, SRAM_HEAP, SRAM_END)


def test_sends_ahead_of_a_silent_peer():
    """NP-12: sixteen sends and more are taken for a channel that cannot send; the request slots
    bound them."""
    rig = Rig(FULL)
    for n in range(1, 25):
        rig.hosts[0].send(n, n, body(n))
    run(rig)
    channel = channel_of(rig, 0)
    with rig.fabric.nics[0].machine:
        queued, send = 0, channel.first
        while send:
            queued, send = queued + 1, send.next
    assert queued == 24 - 4, "four message slots are at the other end; the others wait in the channel's ring"
    assert int(SLOTS) >= 16
    assert len(rig.packets) == 4


def channel_of(rig, number, peer=None):
    with rig.fabric.nics[number].machine:
        return state.nic.channels + (1 - number if peer is None else peer)


def test_the_ready_ring_names_a_channel_once():
    """NP-11: at every moment of a busy run."""
    rig = Rig(FULL)
    for host in rig.hosts:
        for n in range(1, 9):
            host.send(n, n, body(n), long=n % 2 == 0)
    choose = in_turn()
    for _ in range(600):
        actions = rig.actions()
        if not actions:
            break
        rig.act(actions[choose(len(actions))])
        for nic in rig.fabric.nics:
            with nic.machine:
                seen, channel = [], state.nic.ready_first
                while channel:
                    seen.append(int(channel.number))
                    channel = channel.ready_next
                assert len(seen) == len(set(seen)) == state.nic.ready_count


def test_a_full_channel_holds_no_other_up():
    """NP-07: rank 0's channel to rank 1 is out of everything; its channel to itself is not."""
    rig = Rig(FULL)
    host = rig.hosts[0]
    for n in range(1, 9):
        host.send(n, n, body(n))
    run(rig)
    host.number = 1  # the rig's peer is now rank 0 itself
    host.receive(20 % 16, 3)
    host.send(10, 3, b"to myself")
    run(rig)
    assert received(host) == [4]
    assert host.page(4, 9) == b"to myself"


# Flow control.


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


# Protocols.


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


# Matching.


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


# Buffers and pages.


def test_receive_heap_with_fragments():
    """NP-40: bodies leave in any order, so free space is scattered; credit counts all of it, and
    contents stay whole."""
    rig = Rig(FULL.but(messages=8))
    a, b = rig.hosts
    sizes = {1: 300, 2: 200, 3: 250, 4: 129, 5: 90}
    for n, size in sizes.items():
        a.send(n, n, body(n, size), long=size > 256)
    run(rig)
    for n in (2, 4):
        b.receive(n, n)
    run(rig)
    a.send(6, 6, body(6, 500), long=True)  # into the holes of 2 and 4, and beyond
    run(rig)
    for n in (6, 5, 3, 1):
        b.receive(n, n)
        run(rig)
    for n, size in {**sizes, 6: 500}.items():
        assert b.page(n, size) == body(n, size)
    assert received(b) == [2, 4, 6, 5, 3, 1]


def test_send_stages_wrap_around():
    """NP-39, NP-52: many more packets than stages, and a body of many parts: each stage is used
    again and again."""
    rig = Rig(FULL.but(eager_limit=0))
    for turn in range(3):
        for n in range(1, 7):
            rig.hosts[1].receive(n, n)
            rig.hosts[0].send(n, n, body(n + turn, 100), long=True)
        run(rig)
        assert all(rig.hosts[1].page(n, 100) == body(n + turn, 100) for n in range(1, 7))
    with rig.fabric.nics[0].machine:
        assert state.nic.stage_tail > 2 * (state.nic.stage_mask + 1)


def test_one_page_needs_no_page_entry_at_the_receiver():
    """NP-45, NP-47: four pages an entry; the first pages ride in the request itself."""
    assert sizeof(PageEntry) == 4 * 8 + 16
    rig = Rig(FULL)
    rig.hosts[1].receive(1, 1)
    rig.hosts[0].send(1, 1, body(1, 4096), long=True)
    run(rig)
    assert received(rig.hosts[1]) == [1]
    with rig.fabric.nics[1].machine:
        assert state.nic.hdma == 2, "one upload of the body, one of the record: no page entry was fetched"


def test_an_unmapped_page_is_an_error_not_an_access():
    """NP-28: a page entry of a long send names a page outside the rank's window."""
    rig = Rig(FULL.but(eager_limit=0))
    a, b = rig.hosts
    a.send(1, 1, body(1), long=True)
    a.script.pop(0)()
    a.table[48:52] = (0x2000_0000).to_bytes(4, "big")
    b.receive(1, 1)
    run(rig)
    assert [(r["kind"], r["error"]) for r in a.records()] == [(Kind.SENT, Error.BAD_ADDRESS)]
    assert [(r["kind"], r["error"]) for r in b.records()] == [(Kind.RECEIVED, Error.DAMAGED)]
