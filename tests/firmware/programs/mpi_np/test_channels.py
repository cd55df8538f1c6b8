"""Channels: what each has, and that a full one holds no other up (ids as in the docs: NP-nn)."""

import pytest

from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import SLOTS
from lanai_firmware.programs.mpi_np.plan import OWN_POOLS, SHARED_POOLS, McpConfig
from lanai_firmware.programs.mpi_np.sram import LEAST_HEAP, lay_out
from lanai_hdl.errors import UserError

from .in_order import FULL, body, channel_of, in_turn, received, run
from .rig import Rig

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
