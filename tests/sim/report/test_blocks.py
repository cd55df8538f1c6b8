"""The signals of optional blocks of NICs in a trace."""

import pytest

from lanai_hdl.block_config import BlockConfig
from lanai_hdl.config import NicConfig
from lanai_hdl.csr.declare import Counter, EventBit, RegisterBlock
from lanai_hdl.errors import UserError
from lanai_sim.engines.gateware.block_signals import block_signals
from lanai_sim.report.rows import blocks
from lanai_sim.report.tracks import timeline
from lanai_sim.trace import schema
from lanai_sim.trace import schema as s

from .sample import NS, rows, sample

SIGNALS = [["tally", "SHORT", "short packet"], ["tally", "LONG", "long packet"]]


def traced():
    """The ranks begin at slot 100: what happens before is boot."""
    trace = sample()
    trace.meta |= {"blocks": SIGNALS, "started": 100 * NS}
    happened = ((0, 0, 50), (0, 0, 150), (0, 0, 151), (0, 1, 300), (1, 0, 400))
    trace.__dict__["blocks"] = rows(s.BLOCKS, *({"node": n, "signal": i, "slot": at} for n, i, at in happened))
    return trace


def test_each_signal_of_each_nic_has_a_row():
    assert blocks(traced()) == [
        ("tally", "SHORT", 0, 2, 50 * NS, 51 * NS),
        ("tally", "SHORT", 1, 1, 300 * NS, 300 * NS),
        ("tally", "LONG", 0, 1, 200 * NS, 200 * NS),
    ]
    assert blocks(sample()) == []


def test_the_timeline_has_a_slice_for_each_slot():
    found = {lane.path: [(one.begin, one.end) for one in lane.slices] for lane in timeline(traced()).lanes}
    assert found["NICs", "NIC 0", "tally", "SHORT"] == [(50 * NS, 51 * NS), (51 * NS, 52 * NS)]
    assert found["NICs", "NIC 0", "tally", "LONG"] == [(200 * NS, 201 * NS)]
    assert found["NICs", "NIC 1", "tally", "SHORT"] == [(300 * NS, 301 * NS)]
    assert ("NICs", "NIC 1", "tally", "LONG") not in found


def test_signals_that_are_not_named_are_damage():
    about = {"ranks": 2, "nodes": [[0], [1]], "blocks": SIGNALS}
    good, bad = (rows(s.STORED[b"BLCK"], {"node": 1, "signal": signal, "slot": 5}) for signal in (1, 2))
    assert schema.rows(b"BLCK", good, about, 0, 0) == ""
    assert schema.rows(b"BLCK", bad, about, 0, 0) == "signal is 2 to 2"
    assert schema.meta({"ranks": 1, "ranks_per_node": 1, "slot_khz": 1, "nodes": [], "blocks": [["tally"]]})


class Many(BlockConfig):
    name = "many"
    declares = RegisterBlock(
        "Many", (), (EventBit("E", 12, ""),), tuple(Counter(f"C{n}", 4 * n, "") for n in range(64))
    )

    def build(self, config):
        raise AssertionError


def test_there_is_a_limit():
    config = NicConfig()
    object.__setattr__(config, "blocks", (Many(),))
    with pytest.raises(UserError, match="shows 64 events and counters of optional blocks; these NICs have 65"):
        block_signals(config)
