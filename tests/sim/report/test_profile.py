"""Cycles by function, line and stack; flame graph; matrix."""

from collections import Counter
from xml.etree import ElementTree

import pytest

from lanai_hdl.errors import UserError
from lanai_sim.report import profile as flame
from lanai_sim.report.messages import matrix, size_class
from lanai_sim.report.profile import annotated, profile, source_named
from lanai_sim.report.tracks import timeline

from .sample import sample


def test_slots_sum_to_what_the_processors_did() -> None:
    result = profile(sample())
    assert (result.total.slots, result.waiting, result.held) == (320, 300, 0)
    assert sum(cost.slots for cost in result.functions.values()) == 320
    assert sum(cost.slots for cost in result.lines.values()) == 320
    assert sum(result.stacks.values()) == 320
    assert {name: cost.slots for name, cost in result.functions.items()} == {"fw.poll": 240, "fw.send": 80}
    assert result.stacks == {("fw.poll",): 240, ("fw.poll", "fw.send"): 80}


def test_one_node_only() -> None:
    assert profile(sample(), 1).total.slots == 120
    with pytest.raises(UserError, match="--node 2: the trace has nodes 0 to 1"):
        profile(sample(), 2)


def test_boot_is_left_out_unless_asked_for() -> None:
    trace = sample()
    trace.meta["started"] = 420_000
    assert profile(trace).total.slots == 80 + 120
    assert profile(trace, boot=True).total.slots == 320


def test_source_lines_carry_their_cost() -> None:
    trace = sample()
    lines = list(annotated(trace, profile(trace), source_named(trace, "main.py")))
    assert [(cost.slots if cost else 0, number, text) for cost, number, text in lines] == [
        (0, 1, "def poll():"), (240, 2, "    look()"), (80, 3, "    send()"),
    ]  # fmt: skip
    with pytest.raises(UserError, match=r"no source of the firmware ends in 'x\.py'; there are main\.py"):
        source_named(trace, "x.py")


def test_flame_graph_is_as_wide_as_the_time() -> None:
    picture = ElementTree.fromstring(flame.svg(profile(sample()).stacks, "a < b"))
    widths = {}
    for group in picture.iter("{http://www.w3.org/2000/svg}g"):
        title, box = (
            group.findtext("{http://www.w3.org/2000/svg}title", ""),
            group.find("{http://www.w3.org/2000/svg}rect"),
        )
        assert box is not None
        widths[title.split(":")[0]] = float(box.attrib["width"])
    assert widths == {"all": 1200, "fw.poll": 1200, "fw.send": 300}


def test_matrix_counts_messages_and_bytes() -> None:
    made = matrix(sample())
    assert (made.messages.tolist(), made.bytes.tolist()) == ([[0, 1], [0, 0]], [[0, 4], [0, 0]])
    assert made.all_protocols == Counter(eager=1)
    assert [size_class(bits) for bits in (0, 1, 2, 3, 13)] == ["0", "1", "2 to 3", "4 to 7", "4,096 to 8,191"]


def test_timeline_has_every_unit_and_an_arrow() -> None:
    made = timeline(sample())
    paths = [lane.path for lane in made.lanes]
    assert paths[:4] == [("ranks",), ("ranks", "rank 0"), ("ranks", "rank 0", "MPI"), ("ranks", "rank 0", "host work")]
    for path in (("processor",), ("DMA", "SRAM to link"), ("link out",), ("link in",)):
        assert any(one[0] == "NICs" and one[2:] == path for one in paths), path
    names = {one.name for lane in made.lanes for one in lane.slices}
    assert {"MPI_Send", "MPI_Recv", "fw.poll", "fw.send", "28 bytes"} <= names
    assert any(name.endswith("packet 0") for name in names)
    (arrow,) = made.arrows
    assert (arrow.source.title, arrow.target.title) == ("rank 0 · MPI", "rank 1 · MPI")


def test_a_wait_outside_calls_is_the_programs_time_as_in_the_bars() -> None:
    trace = sample()
    trace.__dict__["host"]["call"][4] = -1  # of rank 1
    (lane,) = [lane for lane in timeline(trace).lanes if lane.path == ("ranks", "rank 1", "host work")]
    assert [one.kind for one in lane.slices] == ["host", "program", "host"]
