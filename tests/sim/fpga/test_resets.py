"""A reset of many flip-flops gets a global network, and no net a different value."""

import json

import pytest

from lanai_sim.fpga import bitstream
from lanai_sim.fpga.ecp5 import MANY, promote

OUTPUTS = {"Z", "Q", "CLKO"}


def cell(kind, **connections):
    return {"type": kind, "parameters": {}, "connections": {port: [bit] for port, bit in connections.items()}}


def design(flip_flops):
    """A LUT (net 12, of 10 and 11) that resets `flip_flops` and that another LUT reads; a second
    reset of two flip-flops."""
    cells = {
        "reset": cell("LUT4", A=10, B=11, C="0", D="1", Z=12),
        "reader": cell("LUT4", A=12, B=10, C="0", D="0", Z=13),
        "memory": cell("DP16KD", RSTA=12),
        "free_running": cell("TRELLIS_FF", CLK=2, DI=13, Q=14),
    }
    cells |= {f"ff_{n}": cell("TRELLIS_FF", CLK=2, LSR=12, DI=13, Q=100 + n) for n in range(flip_flops)}
    cells |= {f"other_{n}": cell("TRELLIS_FF", CLK=2, LSR=13, DI=13, Q=50 + n) for n in range(2)}
    return {"modules": {"top": {"cells": cells, "netnames": {"spare": {"bits": [4000, "0"]}}}}}


def function(cells, bit):
    """Return the function of a net as a tree of cells' types and inputs, without buffers."""
    for found in cells.values():
        if any([bit] == found["connections"].get(port) for port in OUTPUTS):
            inputs = {port: bits[0] for port, bits in found["connections"].items() if port not in OUTPUTS}
            if found["type"] == "DCCA":
                return function(cells, inputs["CLKI"])
            if found["type"] == "LUT4":
                return tuple((port, function(cells, inputs[port])) for port in sorted(inputs))
    return bit


def test_the_flip_flops_are_reset_through_a_buffer_and_all_else_stays():
    netlist, before = design(5), design(5)["modules"]["top"]["cells"]
    assert promote(netlist, many=5) == ["reset"]
    cells = netlist["modules"]["top"]["cells"]
    assert cells.keys() - before.keys() == {"reset_resets", "reset_resets_DCCA"}
    (buffered,) = cells["reset_resets_DCCA"]["connections"]["CLKO"]
    moved = {name for name in before if cells[name] != before[name]}
    assert moved == {f"ff_{n}" for n in range(5)}
    for name in moved:
        assert cells[name]["connections"] == before[name]["connections"] | {"LSR": [buffered]}
    assert function(cells, buffered) == function(before, 12)


def test_new_nets_bear_numbers_that_no_net_had():
    netlist = design(5)
    promote(netlist, many=5)
    module = netlist["modules"]["top"]
    assert {name: net["bits"] for name, net in module["netnames"].items() if name != "spare"} == {
        "reset_resets_net": [4001],
        "reset_resets_DCCA_net": [4002],
    }
    assert module["cells"]["reset_resets"]["connections"]["Z"] == [4001]


def test_two_resets_get_a_network_each():
    netlist = design(5)
    assert promote(netlist, many=2) == ["reset", "reader"]
    cells = netlist["modules"]["top"]["cells"]
    assert cells["ff_0"]["connections"]["LSR"] == [4002]
    assert cells["other_0"]["connections"]["LSR"] == [4004]


@pytest.mark.parametrize("flip_flops", [0, 4])
def test_a_reset_of_few_flip_flops_stays_as_it_is(flip_flops):
    netlist = design(flip_flops)
    assert promote(netlist, many=5) == []
    assert netlist == design(flip_flops)


def test_what_place_and_route_reads_has_the_buffer(tmp_path):
    file = tmp_path / "top.json"
    file.write_text(json.dumps(design(MANY)))
    netlist = bitstream._with_global_resets(file)
    assert netlist["modules"]["top"]["cells"]["ff_0"]["connections"]["LSR"] != [12]
    assert json.loads(file.read_text()) == netlist
