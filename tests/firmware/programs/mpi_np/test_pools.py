"""Pools that channels share by turns: what they hold comes back as it was, in any order of events
(docs/design/mpi-np.md)."""

import random

import pytest
from pairs import first_of

from lanai_firmware.lang import sizeof
from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, Error, Kind, Op, PageEntry, Type
from lanai_firmware.programs.mpi_np.model import SPILL_MEMORY
from lanai_firmware.programs.mpi_np.plan import LEAST_HDMA, LEAST_SEND, POOL_BLOCKS, McpConfig, QueueDepths
from lanai_firmware.programs.mpi_np.sram import LEAST_HEAP, MOST_CHANNELS, lay_out
from lanai_firmware.programs.mpi_np.state import FRAMES, RECORDS
from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.machine import HostDmaStart

from .rig import FULL, SMALL, WINDOW_MASK, Rig, received, run
from .rig import body as body_in_buffers
from .test_interleavings import CONFIGS, SCRIPTS, body, check

HEAP, END = 60_000, 0xFD000
SHARED = SMALL.but(resident=1)
SHARED_CONFIGS = {name: config.but(resident=1) for name, config in CONFIGS.items()}


def visitors(rig):
    """Rank 1 is sent to by rank 0 and by itself, by turns, through one pool; receives come late and
    from the last to the first."""
    a, b = rig.hosts
    for n in (1, 2, 3):
        a.send(n, n, body(n), long=n == 2, sync=n == 3)
        b.send(n + 4, n, body(n + 4), long=n == 1, peer=1)
    for n in (3, 2, 1):
        b.receive(n, n)
        b.receive(n + 4, n, peer=1)
    return {1: {n: n for n in (1, 2, 3, 5, 6, 7)}}


def wild_visitors(rig):
    """The same, taken by receives from rank 0 and then from any source."""
    a, b = rig.hosts
    for n in (1, 2, 3):
        a.send(n, 7, body(n))
    b.send(4, 8, body(4), peer=1)
    for n in (1, 2, 3):
        b.receive(n, int(NO_TAG), peer=0)
    b.receive(4, int(NO_TAG), peer=int(ANY))
    return None


def drive(script, config, choose):
    rig = Rig(config)
    wanted = script(rig)
    rig.run(choose)
    return rig, wanted


def counts(rig, number=1):
    with rig.fabric.nics[number].machine:
        return int(state.nic.saved), int(state.nic.fetched)


def test_more_channels_than_there_is_memory_for():
    """The thesis's 64 own their shares (NP-05). Hundreds share pools, without being told, and what does not
    fit is refused by name."""
    plan = lay_out(McpConfig(), 1, 200, HEAP, END).plan
    assert plan == lay_out(McpConfig(resident=32), 1, 200, HEAP, END).plan
    assert (plan["pools"], plan["channels"]) == (32, 200)
    assert LEAST_HEAP <= plan["blocks_per_channel"] * 128 <= POOL_BLOCKS * 128
    with pytest.raises(UserError, match=f"need 1025 channels; the NIC has {MOST_CHANNELS}"):
        lay_out(McpConfig(resident=32), 1, 1025, HEAP, END)
    with pytest.raises(UserError, match=r"150 pools leave \d+ bytes of receive buffer each .* resident"):
        lay_out(McpConfig(resident=150), 1, 200, HEAP, END)


def test_enough_rooms_are_as_good_as_none_shared():
    """Off, and on with a pool for each channel, are one layout."""
    plain = lay_out(McpConfig(), 2, 4, HEAP, END)
    assert lay_out(McpConfig(resident=8), 2, 4, HEAP, END) == plain
    assert plain.plan["pools"] == 0
    assert lay_out(McpConfig(resident=7), 2, 4, HEAP, END).plan["pools"] == 7


def test_messages_lie_where_no_rank_can_reach():
    assert SPILL_MEMORY & WINDOW_MASK not in {local_rank << 28 for local_rank in range(1, 10)}


@pytest.mark.parametrize("config", first_of(*SHARED_CONFIGS))
def test_visitors(config):
    """Two channels, one pool, in many orders of events: nothing lost, doubled or overtaken; and
    messages were moved."""
    moved = 0
    for seed in range(25):
        rig, wanted = drive(visitors, SHARED_CONFIGS[config], random.Random(seed).randrange)
        b = rig.hosts[1]
        ends = [r for r in b.records() if r["kind"] in (Kind.RECEIVED, Kind.RECEIVED_OWN)]
        assert sorted(r["operation"] for r in ends) == sorted(wanted[1])
        assert not any(r["error"] for r in ends)
        for receive, message in wanted[1].items():
            assert b.page(receive, 20 + message) == body(message)
        saved, fetched = counts(rig)
        assert fetched <= saved
        moved += fetched
    assert moved > 5


def test_wildcards_find_what_is_away():
    """Messages of one source come in order, and a receive from anyone finds what lies in host
    memory."""
    for seed in range(25):
        rig, _ = drive(wild_visitors, SHARED, random.Random(seed).randrange)
        b = rig.hosts[1]
        got = {}
        for record in b.records():
            if record["kind"] is Kind.RECEIVED:
                got.setdefault(record["source"], []).append(b.page(record["operation"], 1)[0])
        assert got == {0: [1, 2, 3], 1: [4]}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("config", SHARED_CONFIGS)
def test_the_interleavings_with_one_room(script, config):
    for seed in range(5):
        check(SCRIPTS[script], SHARED_CONFIGS[config], random.Random(seed).randrange)


def test_a_taken_message_survives_being_away():
    """A matched probe took it; then another channel had the pool; then it is received."""
    rig = Rig(SHARED)
    a, b = rig.hosts
    a.send(1, 5, body(1))
    rig.run(lambda count: 0)
    b.post(Op.PROBE_TAKE, 2, tag=5, peer=0)
    rig.run(lambda count: 0)
    found = b.records()[-1]
    assert found["kind"] is Kind.FOUND
    b.send(3, 6, body(3), peer=1)
    rig.run(lambda count: 0)
    assert counts(rig) == (1, 0)
    where = {"pieces__0__address": 0x1020_0000 + 4 * 4096, "pieces__0__length": 4096}
    b.post(Op.RECEIVE_TAKEN, 4, token=4, limit=4096, peer=0, spare=found["token"], **where)
    rig.run(lambda count: 0)
    assert b.page(4, 21) == body(1)
    assert counts(rig) == (2, 1)


def test_an_empty_room_changes_hands_for_nothing():
    """A pool without a message is not transferred, whichever channel has it."""
    rig = Rig(SHARED)
    for turn in range(3):
        for n, peer in ((1, 0), (2, 1)):
            rig.hosts[peer].send(n + turn * 2, n, body(n), peer=1)
            rig.run(lambda count: 0)
            rig.hosts[1].receive(n + 4, n, peer=peer)
            rig.run(lambda count: 0)
            assert rig.hosts[1].page(n + 4, 20 + n) == body(n)
    assert counts(rig) == (0, 0)
    assert {kind for _, kind in rig.packets} <= {Type.EAGER, Type.ACK}


# Buffers and pages of the NIC (NP-39, NP-40, NP-45, NP-47).


def test_receive_heap_with_fragments():
    """NP-40: bodies leave in any order, so free space is scattered; credit counts all of it, and
    contents stay whole."""
    rig = Rig(FULL.but(messages=8))
    a, b = rig.hosts
    sizes = {1: 300, 2: 200, 3: 250, 4: 129, 5: 90}
    for n, size in sizes.items():
        a.send(n, n, body_in_buffers(n, size), long=size > 256)
    run(rig)
    for n in (2, 4):
        b.receive(n, n)
    run(rig)
    a.send(6, 6, body_in_buffers(6, 500), long=True)  # into the holes of 2 and 4, and beyond
    run(rig)
    for n in (6, 5, 3, 1):
        b.receive(n, n)
        run(rig)
    for n, size in {**sizes, 6: 500}.items():
        assert b.page(n, size) == body_in_buffers(n, size)
    assert received(b) == [2, 4, 6, 5, 3, 1]


def test_send_stages_wrap_around():
    """NP-39, NP-52: many more packets than stages, and a body of many parts: each stage is used
    again and again."""
    rig = Rig(FULL.but(eager_limit=0))
    for turn in range(3):
        for n in range(1, 7):
            rig.hosts[1].receive(n, n)
            rig.hosts[0].send(n, n, body_in_buffers(n + turn, 100), long=True)
        run(rig)
        assert all(rig.hosts[1].page(n, 100) == body_in_buffers(n + turn, 100) for n in range(1, 7))
    with rig.fabric.nics[0].machine:
        assert state.nic.stage_tail > 2 * (state.nic.stage_mask + 1)


def test_one_page_needs_no_page_entry_at_the_receiver():
    """NP-45, NP-47: four pages an entry; the first pages ride in the request itself."""
    assert sizeof(PageEntry) == 4 * 8 + 16
    rig = Rig(FULL)
    rig.hosts[1].receive(1, 1)
    rig.hosts[0].send(1, 1, body_in_buffers(1, 4096), long=True)
    run(rig)
    assert received(rig.hosts[1]) == [1]
    with rig.fabric.nics[1].machine:
        assert state.nic.hdma == 2, "one upload of the body, one of the record: no page entry was fetched"


def test_an_unmapped_page_is_an_error_not_an_access():
    """NP-28: a page entry of a long send names a page outside the rank's window."""
    rig = Rig(FULL.but(eager_limit=0))
    a, b = rig.hosts
    a.send(1, 1, body_in_buffers(1), long=True)
    a.script.pop(0)()
    a.table[48:52] = (0x2000_0000).to_bytes(4, "big")
    b.receive(1, 1)
    run(rig)
    assert [(r["kind"], r["error"]) for r in a.records()] == [(Kind.SENT, Error.BAD_ADDRESS)]
    assert [(r["kind"], r["error"]) for r in b.records()] == [(Kind.RECEIVED, Error.DAMAGED)]


# The firmware runs on NICs with other queues than the Lanai 4.1's, or says by name which it cannot run on.


MOST_HDMA, MOST_SEND = int(RECORDS) - 2, int(FRAMES) - 2
DEPTHS = [
    {"hdma_queue": LEAST_HDMA},
    {"hdma_queue": MOST_HDMA},
    {"send_queue": LEAST_SEND},
    {"send_queue": MOST_SEND},
    {"recv_queue": 1},
    {"recv_queue": 64},
    {"completions": 1},
    {"hdma_queue": LEAST_HDMA, "send_queue": LEAST_SEND, "recv_queue": 1, "completions": 1},
]


def body_in_queue(number):
    return bytes((number + i) & 255 for i in range(100 + number))


@pytest.mark.parametrize("recovery", [0, 1])
@pytest.mark.parametrize("depths", DEPTHS, ids=str)
def test_messages_pass_whatever_the_queues_hold(depths, recovery):
    """Both ways, on each of the three protocols, more of them than the smaller queues hold."""
    rig = Rig(SMALL.but(recovery=recovery), nic=lanai41().but(**depths))
    step = iter(range(1 << 30))
    for host in rig.hosts:
        for n in range(6):
            host.receive(n, n)
            host.send(n + 6, n, body_in_queue(n), long=n % 3 == 1, sync=n % 3 == 2)
    rig.run(lambda count: next(step) % count, 20_000)
    for host in rig.hosts:
        assert sorted(r["tag"] for r in host.records() if r["kind"] is Kind.RECEIVED) == list(range(6))
        assert [host.page(n, 100 + n) for n in range(6)] == [body_in_queue(n) for n in range(6)]


@pytest.mark.parametrize("depth", [3, 4, 8])
def test_bodies_are_followed_whatever_the_queue_holds(depth):
    """NP-51: an idle host DMA is one whose queue has all its entries free, however many those
    are."""
    rig = Rig(SMALL, nic=lanai41().but(hdma_queue=depth))
    a, b = rig.hosts
    b.receive(1, 1)
    b.script.pop()()
    a.send(1, 1, b"x" * 2000, long=True)
    followed = False
    order = ("host", "copy", "turn", "send", "accept", "finish")
    while actions := rig.actions():
        rig.act(min(actions, key=lambda action: order.index(action[0])))
        followed |= any(start & HostDmaStart.FOLLOW for *_, start in b.nic.copies)
    assert followed
    assert b.page(1, 2000) == b"x" * 2000


@pytest.mark.parametrize(
    ("depths", "text"),
    [
        ({"hdma_queue": 2}, f"hdma_queue=2, but this firmware needs {LEAST_HDMA} to {MOST_HDMA}"),
        ({"hdma_queue": MOST_HDMA + 1}, f"hdma_queue={MOST_HDMA + 1}, but this firmware needs {LEAST_HDMA} to"),
        ({"send_queue": 1}, f"send_queue=1, but this firmware needs {LEAST_SEND} to {MOST_SEND}"),
        ({"send_queue": 64}, "send_queue=64, but this firmware needs"),
    ],
)
def test_queues_that_the_firmware_cannot_use_are_refused(depths, text):
    with pytest.raises(UserError, match=text):
        lay_out(McpConfig(), 1, 2, 60_000, 0xFD000, depths=QueueDepths.built(lanai41().but(**depths)))


def test_the_driver_reads_them_from_the_nic():
    assert QueueDepths.of(0x0405_0607) == QueueDepths(hdma=4, send=5, recv=6)
