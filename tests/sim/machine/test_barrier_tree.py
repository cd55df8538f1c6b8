"""The switches that a barrier tree joins, and the ports by which it does."""

import pytest

from lanai_hdl.config import NicConfig
from lanai_sim.engines.base import BarrierRole
from lanai_sim.machine import fabrics
from lanai_sim.machine.presets import t3d, t3d_barrier

from .walking import cable_ends


def layout(text, nics):
    return fabrics.describe(text, nics).layout(t3d_barrier())


@pytest.mark.parametrize(
    ("text", "nics"),
    [("switches:2", 2), ("switches:4", 40), ("switch", 40), ("torus:4x4x4", 64), ("torus:2x2x2", 5),
     ("torus:3x1x1", 3), ("mesh:8", 8), ("mesh:4x4", 3)],
)  # fmt: skip
def test_each_nic_has_one_way_to_the_one_top(text, nics):
    net = layout(text, nics)
    ends = cable_ends(net.cables)
    tops = [n for n, role in enumerate(net.barrier) if role.members and not role.parent]
    assert len(tops) == 1
    reached = []

    def descend(switch, entry):
        role = net.barrier[switch - nics]
        assert role.parent == entry
        assert role.members
        for port in range(net.switch.ports):
            if role.members >> port & 1:
                assert not role.parent >> port & 1
                unit, there = ends[switch, port]
                if unit < nics:
                    reached.append(unit)
                else:
                    descend(unit, 1 << there)

    descend(nics + tops[0], 0)
    assert sorted(reached) == list(range(nics))


def test_the_top_is_in_the_middle():
    """NICs 0 to 6 on a line: node 3 is three cables from both ends."""
    assert [role.parent for role in layout("mesh:7", 7).barrier].index(0) == 3


def test_switches_without_nics_below_them_have_no_part():
    net = layout("mesh:4", 2)
    assert net.barrier[2:] == (BarrierRole(0, 0),) * 2


def test_a_switch_that_no_cable_leads_to_is_not_the_top(tmp_path):
    file = tmp_path / "lone.toml"
    file.write_text('cables = [["nic0", "switch1.0"], ["nic1", "switch2.1"], ["switch1.2", "switch2.2"]]')
    assert layout(str(file), 2).barrier == (BarrierRole(0, 0), BarrierRole(0b101, 0), BarrierRole(0b010, 0b100))


def test_one_switch_needs_no_inputs_for_its_part():
    net = layout("switch", 3)
    assert (net.barrier, net.switch.cascaded) == ((), False)


def test_nics_without_the_block_have_switches_without_it():
    net = fabrics.describe("torus:2x2x1", 4).layout(t3d())
    assert (net.barrier, net.switch.barrier, net.switch.cascaded) == ((), 0, False)
    assert isinstance(net.nic, NicConfig)
