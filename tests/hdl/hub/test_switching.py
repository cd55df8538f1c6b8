"""The switching hub: frames on each cable, both ways at once."""

from itertools import pairwise

import pytest

from lanai_hdl.bfm import simulator
from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.hub.config import FrameTimes, SwitchingHubConfig
from lanai_hdl.hub.switching import SwitchingHub
from lanai_hdl.link.crc import crc32
from lanai_hdl.link.flit import Kind

TIMES = FrameTimes(lead=20, least=60, gap=15)


def packet(word, port):
    return [(Kind.HEAD, (0x80 | port) << 24), (Kind.DATA, word), (Kind.TAIL, crc32([word]))]


def words(got):
    return [data for kind, data, _ in got if kind == Kind.DATA]


def turn(sends, slots=600, down=()):
    """Turn a hub of as many ports: the flits that came to each port, with slots; whether it is
    idle at the end."""
    nic = lanai41().but(rx_fifo=32, link_latency=4, link_kbytes=264_000)
    dut = SwitchingHub(SwitchingHubConfig(len(sends), nic, frame=TIMES))
    pending, got, idle = [list(send) for send in sends], [[] for _ in sends], []

    async def bench(ctx):
        stopped = [[] for _ in sends]
        for slot in range(slots):
            for n, flits in enumerate(pending):
                rx, tx = dut.rx[n], dut.tx[n]
                stopped[n].append(ctx.get(rx.stop))
                late = 2 * nic.link_latency  # a NIC obeys STOP as late as the link allows
                may = len(stopped[n]) <= late or not stopped[n][-1 - late]
                kind, data = flits.pop(0) if flits and may else (Kind.IDLE, 0)
                ctx.set(rx.kind, Kind.DOWN if n in down else kind)
                ctx.set(rx.data, data)
                if ctx.get(tx.kind) not in (Kind.IDLE, Kind.DOWN):
                    got[n].append((ctx.get(tx.kind), ctx.get(tx.data), slot))
            await ctx.tick()
        idle.append(ctx.get(dut.idle))

    sim = simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    return got, idle[0]


def test_both_ways_at_once():
    """Each cable has its frames, whatever the other carries."""
    got, idle = turn([packet(1, 1) * 3, packet(2, 0) * 3])
    assert idle
    assert [words(one) for one in got] == [[2] * 3, [1] * 3]
    for one in got:
        heads = [slot for kind, _, slot in one if kind == Kind.HEAD]
        assert {after - before for before, after in pairwise(heads)} == {TIMES.least + TIMES.gap + 1}
    assert got[0][0][2] == got[1][0][2] >= TIMES.lead


def test_a_dead_cable_holds_nothing_up():
    """Frames for a NIC whose cable has no carrier are discarded."""
    got, _ = turn([packet(1, 1) + packet(3, 2), [], []], down=(1,))
    assert [words(one) for one in got] == [[], [], [3]]


@pytest.mark.parametrize("name", ["lead", "least", "gap"])
def test_a_bad_time_is_quoted(name):
    with pytest.raises(UserError, match=f"{name}=-7 must be a whole number of slots from 0"):
        FrameTimes(**{name: -7})
