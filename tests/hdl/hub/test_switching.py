"""The switching hub: frames on each cable, both ways at once."""

from itertools import pairwise

import pytest
from tests.hdl.wire import Node, Simulated, nic, packet

from lanai_hdl.errors import UserError
from lanai_hdl.hub.config import FrameTimes, SwitchingHubConfig
from lanai_hdl.hub.switching import SwitchingHub
from lanai_hdl.link.flit import Kind

TIMES = FrameTimes(lead=20, least=60, gap=15)


def words(got):
    return [data for kind, data, _ in got if kind == Kind.DATA]


def turn(sends, down=()):
    """Turn a hub of as many ports: the flits that came to each port, with slots; whether it is
    idle at the end."""
    nodes = [Node(send, up=port not in down) for port, send in enumerate(sends)]
    dut = SwitchingHub(SwitchingHubConfig(len(sends), nic(), frame=TIMES))
    idle = Simulated(dut).turn(nodes, ["idle"], 600)["idle"]
    return [node.got for node in nodes], idle


def test_both_ways_at_once():
    """Each cable has its frames, whatever the other carries."""
    got, idle = turn([packet([1], 1) * 3, packet([2], 0) * 3])
    assert idle
    assert [words(one) for one in got] == [[2] * 3, [1] * 3]
    for one in got:
        heads = [slot for kind, _, slot in one if kind == Kind.HEAD]
        assert {after - before for before, after in pairwise(heads)} == {TIMES.least + TIMES.gap + 1}
    assert got[0][0][2] == got[1][0][2] >= TIMES.lead


def test_a_dead_cable_holds_nothing_up():
    """Frames for a NIC whose cable has no carrier are discarded."""
    got, _ = turn([packet([1], 1) + packet([3], 2), [], []], down=(1,))
    assert [words(one) for one in got] == [[], [], [3]]


@pytest.mark.parametrize("name", ["lead", "least", "gap"])
def test_a_bad_time_is_quoted(name):
    with pytest.raises(UserError, match=f"{name}=-7 must be a whole number of slots from 0"):
        FrameTimes(**{name: -7})
