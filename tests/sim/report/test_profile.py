"""Cycles by function, line and stack; flame graph; matrix."""

from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_hdl.errors import UserError
from lanai_sim.report import profile as flame
from lanai_sim.report.activity import (
    DMA,
    HOST,
    OUTSIDE,
    PEER,
    PIO,
    PROCESSOR,
    STALL,
    WIRE,
    Activity,
    Layer,
    Part,
    partition,
)
from lanai_sim.report.messages import NO_RECEIVE, MessageBook, matrix, size_class
from lanai_sim.report.profile import Frames, annotated, fold, folded_text, profile, source_named
from lanai_sim.report.ranks import by_group, rank_sums
from lanai_sim.report.rows import figures
from lanai_sim.report.tracks import timeline
from lanai_sim.trace import Trace

from .sample import NS, sample


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


# Call stacks are rebuilt from a flat list of places.

SIZE = 0x100
ENTRIES = {i * SIZE: f"f{i}" for i in range(6)}


def test_calls_and_returns() -> None:
    frames = Frames({0: "main", 0x100: "poll", 0x200: "search"})
    places = [
        (0, "main"),
        (4, "main"),
        (0x100, "poll"),
        (0x200, "search"),
        (0x200, "search"),
        (0x104, "poll"),
        (8, "main"),
    ]
    depths = [frames.step(pc, function) for pc, function in places]
    assert depths == [
        ("main",), ("main",), ("main", "poll"), ("main", "poll", "search"), ("main", "poll", "search"), ("main",
         "poll"), ("main",),
    ]  # fmt: skip


def test_inlined_functions_are_leaves() -> None:
    totals = fold([(0, "main", "main", 3), (4, "main", "next_slot", 2), (8, "main", "main", 1)], {0: "main"})
    assert totals == {("main",): 4, ("main", "next_slot"): 2}
    assert folded_text(totals) == "main 4\nmain;next_slot 2\n"


@st.composite
def walks(draw: st.DrawFn) -> list[tuple[int, int, bool]]:
    """(function, offset, is a call): a random program of functions that call higher numbered ones
    only."""
    stack, result = [0], [(0, 0, True)]
    for _ in range(draw(st.integers(0, 40))):
        action = draw(st.sampled_from("icr"))
        if action == "c" and stack[-1] < 5:
            stack.append(draw(st.integers(stack[-1] + 1, 5)))
            result.append((stack[-1], 0, True))
        elif action == "r" and len(stack) > 1:
            stack.pop()
            result.append((stack[-1], 8, False))
        else:
            result.append((stack[-1], 4, False))
    return result


@given(walks())
def test_random_programs_have_the_stacks_they_had(walk: list[tuple[int, int, bool]]) -> None:
    frames, stack = Frames(ENTRIES), list[int]()
    for function, offset, call in walk:
        if call:
            stack.append(function)
        else:
            while stack[-1] != function:
                stack.pop()
        assert frames.step(function * SIZE + offset, f"f{function}") == tuple(f"f{i}" for i in stack)


# Time is split exactly, and each moment goes to the first layer that claims it.

stretch = st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 3))


def layer(stretches: list[tuple[int, int, int]]) -> Layer:
    begins = [begin for begin, _, _ in stretches]
    return Layer.of(begins, [begin + size for begin, size, _ in stretches], [label for _, _, label in stretches])


def test_first_layer_wins_and_the_rest_belongs_to_no_layer() -> None:
    parts = partition(10, 50, [layer([(0, 15, 1), (20, 5, 2)]), layer([(12, 20, 3)])])
    assert parts.sums() == {(0, 1): 5, (1, 3): 12 - 0, (0, 2): 5, (-1, 0): 18}
    assert parts.total == 40


def test_overlapping_stretches_keep_the_earlier() -> None:
    flat = layer([(0, 10, 1), (5, 10, 2), (6, 2, 3)])
    assert (flat.begin.tolist(), flat.end.tolist(), flat.label.tolist()) == ([0, 10], [10, 15], [1, 2])


def test_nothing_at_all() -> None:
    assert partition(5, 5, [layer([])]).sums() == {}
    assert partition(5, 9, []).sums() == {(-1, 0): 4}


@given(st.lists(st.lists(stretch, max_size=8), max_size=4), st.integers(0, 70), st.integers(0, 70))
def test_each_moment_as_a_slow_count_gives_it(many: list[list[tuple[int, int, int]]], one: int, other: int) -> None:
    begin, end = min(one, other), max(one, other)
    layers = [layer(stretches) for stretches in many]
    expected: dict[tuple[int, int], int] = {}
    for moment in range(begin, end):
        owner = (-1, 0)
        for index, entry in enumerate(layers):
            active = np.flatnonzero((entry.begin <= moment) & (moment < entry.end))
            if len(active):
                owner = (index, int(entry.label[active[0]]))
                break
        expected[owner] = expected.get(owner, 0) + 1
    parts = partition(begin, end, layers)
    assert parts.sums() == expected
    assert sum(parts.sums().values()) == end - begin


# The sums of time on a trace whose every stretch is known; they are exact.


@pytest.fixture
def trace() -> Trace:
    return sample()


def ns(split: dict[str, int]) -> dict[str, float]:
    return {group: time / NS for group, time in split.items()}


def test_each_rank_sums_to_its_run(trace: Trace) -> None:
    first, second = rank_sums(Activity(trace))
    assert ns(by_group(first.split)) == {OUTSIDE: 700, HOST: 100, PIO: 100, PROCESSOR: 100}
    assert ns(by_group(second.split)) == {
        OUTSIDE: 150, HOST: 90, PROCESSOR: 280, STALL: 20, DMA: 120, WIRE: 40, PEER: 300,
    }  # fmt: skip
    assert sum(first.split.values()) == first.total == 1000 * NS
    assert sum(second.split.values()) == second.total == 1000 * NS


def test_calls_sum_to_their_time(trace: Trace) -> None:
    first, second = rank_sums(Activity(trace))
    assert [(call.name, call.count, call.total / NS) for call in first.calls] == [("MPI_Send", 1, 300)]
    assert [(call.name, call.count, call.total / NS) for call in second.calls] == [("MPI_Recv", 1, 850)]


def test_a_call_that_never_ended_lasts_to_the_end(trace: Trace) -> None:
    trace.calls["end"][1] = -1
    assert rank_sums(Activity(trace))[1].calls[0].total == 950 * NS


def test_message_is_told_moment_by_moment(trace: Trace) -> None:
    message = MessageBook(Activity(trace)).one(0)
    assert [(part.group, part.detail, (end - begin) / NS) for part, begin, end in message.pieces] == [
        (HOST, "call", 100),
        (PIO, "pio write", 100),
        (PROCESSOR, "fw.poll", 100),
        (STALL, "fw.poll", 20),
        (PROCESSOR, "fw.send", 80),
        (DMA, "SRAM to link", 60),
        (WIRE, "", 40),
        (PROCESSOR, "fw.poll", 100),
        (DMA, "SRAM to host", 60),
        (PEER, "for its turn", 90),
        (HOST, "complete", 30),
    ]
    assert message.total == sum(message.split.values()) == 780 * NS


def test_a_late_receive_is_what_is_waited_for(trace: Trace) -> None:
    trace.messages["received"] = 820 * NS
    message = MessageBook(Activity(trace)).one(0)
    assert message.split[NO_RECEIVE] == 60 * NS
    assert message.split[Part(PEER, "for its turn")] == 30 * NS


def test_unfinished_messages_are_left_out(trace: Trace) -> None:
    trace.messages["completed"] = -1
    book = MessageBook(Activity(trace))
    assert list(book.all()) == []
    with pytest.raises(IndexError):
        book.one(0)


def test_figures_name_every_group(trace: Trace) -> None:
    activity = Activity(trace)
    made = figures(trace, rank_sums(activity), list(MessageBook(activity).all()))
    assert made["report.rank.1.waiting_for_peer_us"] == 0.3
    assert made["report.message.mean_us"] == 0.78
    parts = [
        value for name, value in made.items() if name.startswith("report.message.") and name != "report.message.mean_us"
    ]
    assert sum(parts) == pytest.approx(0.78)
