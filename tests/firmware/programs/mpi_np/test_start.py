"""A NIC in plain Python that gets what a boot left is as one that boots."""

from collections import deque

import pytest

from lanai_firmware.lang import firmware, u32
from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np import booted, model
from lanai_firmware.programs.mpi_np import state as state_of_channels
from lanai_firmware.programs.mpi_np import state as state_of_cursor
from lanai_firmware.programs.mpi_np.boot import boot
from lanai_firmware.programs.mpi_np.codec import pack, picker, unpack
from lanai_firmware.programs.mpi_np.layout import PAGE, SLOTS, Header, Kind, Op, Record, Request, Type
from lanai_firmware.programs.mpi_np.memory import pools
from lanai_firmware.programs.mpi_np.memory.cursor import allowed
from lanai_firmware.programs.mpi_np.plan import OWN_POOLS, SHARED_POOLS, McpConfig
from lanai_firmware.programs.mpi_np.sram import LEAST_HEAP, lay_out
from lanai_hdl.errors import UserError

from .rig import FULL, SMALL, WINDOW, Rig, body, channel_of, in_turn, received, run
from .test_recovery import ON


@pytest.fixture
def none(monkeypatch):
    monkeypatch.setattr(booted, "_booted", {})


@pytest.fixture
def boots(monkeypatch):
    """The NICs that the firmware has booted."""
    done = []
    take = booted._taken
    monkeypatch.setattr(booted, "_taken", lambda nic: done.append(nic) or take(nic))
    return done


def state(rig):
    """All that the firmware of both NICs can see."""
    return [booted._digest(nic) for nic in rig.fabric.nics]


@pytest.mark.usefixtures("none")
def test_it_is_as_one_that_boots(boots, monkeypatch):
    first, second = Rig(SMALL), Rig(SMALL)
    assert len(boots) == 2  # of two NICs with different places
    monkeypatch.setattr(model, "boot_once", lambda nic, boot: boot())
    assert state(first) == state(second) == state(Rig(SMALL))


@pytest.mark.usefixtures("none")
def test_what_is_done_with_one_is_not_done_to_the_next():
    expected = state(Rig(SMALL))
    for nic in Rig(SMALL).fabric.nics:
        nic.machine.sram[:] = bytes(len(nic.machine.sram))
        nic.buffers.clear()
        nic.latch["SCRATCH0"] = 7
        nic.machine.placed.clear()
    assert state(Rig(SMALL)) == expected


@pytest.mark.usefixtures("none")
def test_another_plan_boots(boots):
    Rig(SMALL)
    Rig(SMALL.but(eager_limit=0))
    assert len(boots) == 4


@pytest.mark.usefixtures("none")
def test_another_firmware_boots(boots, monkeypatch):
    Rig(SMALL)
    code = pools.evict_empty.python.__code__
    monkeypatch.setattr(pools.clear_pool.python, "__code__", code.replace(co_name="other"))
    with pytest.raises(TypeError):  # the other takes one argument
        Rig(SMALL)
    assert len(boots) == 2


@pytest.mark.usefixtures("none")
def test_code_is_that_of_all_functions_that_it_may_call():
    names = {code.co_name for code in booted._code(boot)}
    assert {"boot", "boot_channel", "clear_pool", "post_buffers", "post", "return_buffer"} <= names
    assert "restore" not in names

    @firmware
    def alone() -> bool:
        return True

    assert booted._code(alone) == (alone.python.__code__,)


@pytest.mark.usefixtures("none")
def test_a_refusal_is_not_kept(boots):
    @firmware
    def refuses() -> bool:
        return False

    [nic] = model.fabric(1).nics
    with nic.machine:
        assert not booted.boot_once(nic, refuses)
    assert (boots, booted._booted) == ([], {})


@pytest.mark.usefixtures("none")
def test_so_many_are_kept(monkeypatch):
    monkeypatch.setattr(booted, "KEPT", 2)
    Rig(SMALL)
    Rig(SMALL.but(eager_limit=0))
    assert len(booted._booted) == 2


# Packets that the receiving end of recovery takes: of its own channel, numbered, from a peer that is not lost.


def ends(host):
    return [(r["kind"], r["operation"]) for r in host.records()]


def test_a_packet_for_another_rank_is_dropped():
    """Its route was damaged, which no CRC covers. Both receivers have the same channel number for their
    peer, and expect the same packet number."""
    rig = Rig(ON, places=(1, 1, 1))
    wires, strayed = rig.fabric.wires, []

    def misroute(source, target, packet):
        if (source, target) != (0, 1) or strayed:
            return [packet]
        strayed.append(packet)
        wires.setdefault((0, 2), deque()).append(packet)
        return []

    rig.fabric.filter = misroute
    sender, receiver, other = rig.hosts
    receiver.receive(1, 1, peer=0)
    other.receive(2, 1, peer=0)
    run(rig)
    sender.send(1, 1, body(1), peer=1)
    run(rig)
    assert strayed
    assert ends(other) == []
    assert ends(receiver) == [(Kind.RECEIVED, 1)]


def test_a_packet_without_a_number_is_dropped():
    """A NIC sent it whose recovery is off: there `sequence` counts envelopes."""
    rig = Rig(ON)
    _, receiver = rig.hosts
    receiver.receive(1, 1)
    run(rig)
    there = 0 << 8 | 1  # as rank 0 says of packets to rank 1
    header = pack(Header, {"type": int(Type.EAGER), "channel": 0, "sequence": there, "tag": 1, "length": 24})
    rig.fabric.wires.setdefault((0, 1), deque()).append(Packet(0x81 << 24, header + body(1)))
    run(rig)
    assert ends(receiver) == []


def test_packets_of_a_peer_that_was_lost_are_dropped():
    """The program has a report that nothing will come from it."""
    rig = Rig(ON.but(retries=1))
    cut = [True]
    rig.fabric.filter = lambda source, target, packet: [] if cut[0] else [packet]
    sender, receiver = rig.hosts
    receiver.send(1, 1, body(1))
    run(rig)
    assert [kind for kind, _ in ends(receiver)] == [Kind.LOST]
    cut[0] = False
    sender.send(2, 2, body(2))
    run(rig)
    receiver.post(Op.PROBE, 3, tag=2, peer=0)
    run(rig)
    assert ends(receiver)[1:] == [(Kind.MISSING, 3)]


# Channels: what each has, and that a full one holds no other up (ids as in the docs: NP-nn).


SRAM_HEAP, SRAM_END = 60_000, 0xFD000  # of a 1 MB NIC: what the image takes, and where the stack begins


def test_sixty_four_channels_each_with_their_share():
    """NP-04, NP-05, NP-06: 64 channels in 1 MB, 32 message slots and 4.5 kB of receive buffer each;
    with a 65th they share pools."""
    layout = lay_out(McpConfig(), 8, 8, SRAM_HEAP, SRAM_END)
    assert layout.plan["messages_per_channel"] == 32
    assert layout.plan["blocks_per_channel"] * 128 >= LEAST_HEAP == 4608
    assert OWN_POOLS == 64
    few = lay_out(McpConfig(), 1, 2, SRAM_HEAP, SRAM_END)
    assert few.plan["blocks_per_channel"] > 8 * layout.plan["blocks_per_channel"], "fewer channels have more each"
    assert layout.plan["pools"] == 0
    assert lay_out(McpConfig(), 5, 13, SRAM_HEAP, SRAM_END).plan["pools"] == SHARED_POOLS
    with pytest.raises(UserError, match=r"65 channels; the NIC has 64: .*, or resident=32"):
        lay_out(McpConfig(resident=65), 5, 13, SRAM_HEAP, SRAM_END)


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
                seen, channel = [], state_of_channels.nic.ready_first
                while channel:
                    seen.append(int(channel.number))
                    channel = channel.ready_next
                assert len(seen) == len(set(seen)) == state_of_channels.nic.ready_count


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


# Structs of MPI-NP as bytes.


def test_a_picker_takes_what_unpack_gives():
    data = bytes(3) + bytes(range(32))
    whole = unpack(Record, data[3:35])
    assert picker(Record, "kind", "token")(memoryview(data), 3) == (whole["kind"], whole["token"])


def test_members_without_a_value_are_0():
    packed = unpack(Request, pack(Request, {"tag": 5, "pieces.1.length": 9}))
    assert {name: value for name, value in packed.items() if value} == {"tag": 5, "pieces.1.length": 9}


@pytest.mark.parametrize("use", [lambda: picker(Request, "no_such"), lambda: pack(Request, {"no_such": 1})])
def test_a_member_that_is_not_there_is_refused(use):
    with pytest.raises(KeyError, match="no_such"):
        use()


# The runs of host memory that an endpoint may use (NP-14).


END = 2 * WINDOW  # of the first endpoint's window
SIZE = int(PAGE)


@pytest.mark.parametrize(
    ("address", "length", "may"),
    [
        (WINDOW, SIZE, True),
        (WINDOW + 100, SIZE - 100, True),
        (WINDOW + 100, SIZE - 99, False),  # not cut at the page
        (WINDOW + SIZE - 1, 1, True),
        (WINDOW + SIZE - 1, 2, False),
        (END - SIZE, SIZE, True),
        (END - 1, 1, True),
        (WINDOW, 0, False),
        (END - 1, 2, False),
        (END - SIZE + 1, SIZE, False),
        (WINDOW - 1, 1, False),
        (WINDOW - 1, 2, False),
        (END, 1, False),
        (0, SIZE, False),
        (WINDOW, SIZE + 1, False),
        (WINDOW, 0xFFFF_FFFF, False),
        (WINDOW + 8, 0xFFFF_FFFC, False),  # its last byte is in the window too
        (0xFFFF_FFFF, 1, False),
    ],
)
def test_a_run_lies_in_one_page_of_the_window(address, length, may):
    rig = Rig()
    with rig.fabric.nics[0].machine:
        assert bool(allowed(state_of_cursor.nic.endpoints, u32(address), u32(length))) is may
