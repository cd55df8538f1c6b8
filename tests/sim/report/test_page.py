"""The HTML page: whole in itself, small, and true to the trace."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanai_hdl.errors import UserError
from lanai_sim.report.activity import Activity
from lanai_sim.report.messages import MessageBook
from lanai_sim.report.page import LARGEST, SCRIPTS, page, run_data, write_comparison, write_page
from lanai_sim.report.page.data import side_by_side
from lanai_sim.report.ranks import rank_sums
from lanai_sim.report.timeline import KINDS
from lanai_sim.trace import Trace
from lanai_sim.trace import schema as s

from .sample import NS, rows, sample

PARTS = Path(__file__).parents[3] / "sim" / "lanai_sim" / "report" / "page" / "parts"
KIB = 1024


def page_of(trace: Trace) -> str:
    activity = Activity(trace)
    return page(trace, rank_sums(activity), list(MessageBook(activity).all()))


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def lanes_of(data: Any) -> dict[tuple[str, ...], Any]:
    """The lanes of a page by their paths."""
    paths: list[tuple[str, ...]] = []
    for lane in data["lanes"]:
        paths.append((*(paths[lane["parent"]] if lane["parent"] >= 0 else ()), lane["name"]))
    return dict(zip(paths, data["lanes"], strict=True))


def long_trace(stretches: int) -> Trace:
    """The sample, with so many stretches on each NIC's processor, whose messages alternate."""
    trace = sample()
    made = rows(s.PROCESSOR, *({} for _ in range(2 * stretches)))
    made["node"] = np.repeat([0, 1], stretches)
    made["begin"] = np.tile(np.arange(stretches), 2)
    made["end"] = made["begin"] + 1
    made["pc"] = 16 + 8 * (made["begin"] % 2)
    made["message"] = made["begin"] % 3 - 1
    trace.__dict__["processor"] = made
    trace.outcome = {"clocks": [stretches * NS, stretches * NS]}
    return trace


def test_page_needs_nothing_from_outside() -> None:
    text = page_of(sample())
    links = re.findall(r"""(?:src|href)=["']|url\(|@import|https?://[^"' ]+""", text)
    assert set(links) <= {"http://www.w3.org/2000/svg"}


def test_the_script_is_small_and_goes_in_unchanged() -> None:
    text = page_of(sample())
    scripts = [(PARTS / name).read_text(encoding="utf-8") for name in SCRIPTS]
    assert all(script.strip() in text for script in scripts)
    assert (PARTS / "page.css").read_text(encoding="utf-8").strip() in text
    assert sum(map(len, scripts)) < 48 * KIB


def test_every_kind_has_a_colour_of_its_own() -> None:
    style = (PARTS / "page.css").read_text(encoding="utf-8").partition("@media")[0]
    colours = dict(re.findall(r"--k(\d+): (#\w{6});", style))
    assert [int(number) for number in colours] == list(range(len(KINDS)))
    assert len(set(colours.values())) == len(KINDS)


def test_page_holds_the_sums() -> None:
    data = data_of(page_of(sample()))
    assert [sum(rank["split"]) for rank in data["ranks"]] == [1_000_000, 1_000_000]
    messages, texts = data["messages"], data["texts"]
    assert (messages["source"], messages["target"], messages["bytes"]) == ([0], [1], [4])
    assert (messages["begin"], messages["length"]) == ([100_000], [780_000])
    kind, detail, length = messages["pieces"][0][:3]
    assert (data["kinds"][kind], texts[detail], length) == ("host", "call", 100_000)
    assert sum(messages["pieces"][0][2::3]) == 780_000
    assert texts[messages["calls"][0]] == "MPI_Send at ring.py:12 → MPI_Recv"
    assert data["places"][0][:3] == ["MPI_Send", "ring.py:12", 1]
    assert sum(data["places"][0][3]) == 300_000
    assert data["matrix"] == [[0, 1, 1, 4]]
    assert data["sizes"][0][:3] == [4, "eager", 1]
    assert sum(data["sizes"][0][3]) == 780_000


def test_lanes_are_of_what_there_is_alone() -> None:
    lanes = lanes_of(data_of(page_of(sample())))
    below = {path[2:] for path in lanes if path[:2] == ("NICs", "NIC 0")}
    assert {("processor",), ("DMA", "SRAM to link"), ("link out",), ("LBUS in use",)} <= below
    assert not {("DMA", "link to SRAM"), ("DMA", "host to SRAM"), ("link in",), ("adapter",)} & below
    parents = {path[:-1] for path in lanes}
    assert all("slices" in lane or "values" in lane or path in parents for path, lane in lanes.items())


def test_a_slice_tells_its_kind_its_line_and_its_message() -> None:
    data = data_of(page_of(sample()))
    slices = lanes_of(data)["NICs", "NIC 0", "processor"]["slices"]
    assert (slices["begin"], slices["length"]) == ([300 * NS, 120 * NS], [120 * NS, 80 * NS])
    assert data["kinds"][slices["kind"]] == "NIC processor"
    assert slices["message"] == 0
    details = [data["texts"][number] for number in slices["details"]]
    assert details == ["line main.py:2, slots stalled 20", "line main.py:3"]


def test_calls_and_their_host_work_tell_the_line_that_called() -> None:
    data = data_of(page_of(sample()))
    lanes = lanes_of(data)
    for lane in ("MPI", "host work"):
        slices = lanes["ranks", "rank 0", lane]["slices"]
        numbers = slices["details"] if isinstance(slices["details"], list) else [slices["details"]]
        assert all("at ring.py:12" in data["texts"][number] for number in numbers)


def test_the_head_tells_how_a_run_ended_that_did_not_end_well() -> None:
    trace = sample()
    assert data_of(page_of(trace))["outcome"] == ""
    trace.outcome["report"] = "deadlock at 1 us: <b>all</b> ranks wait"
    text = page_of(trace)
    assert data_of(text)["outcome"] == "deadlock at 1 us: <b>all</b> ranks wait"
    assert "<b>" not in text


def test_calls_that_took_no_time_are_not_told_by_line() -> None:
    trace = sample()
    free = rows(s.CALLS, {"id": 2, "rank": 0, "parent": -1, "name": 1, "begin": 400 * NS, "end": 400 * NS, "site": 3})
    trace.__dict__["calls"] = np.concatenate([trace.calls, free])
    data = data_of(page_of(trace))
    assert [row[:3] for row in data["places"]] == [["MPI_Send", "ring.py:12", 1]]
    assert ["MPI_Recv", 2] in [row[:2] for row in data["calls"]]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_without_a_message_has_a_page_without_its_panels(ranks: int) -> None:
    trace = sample()
    trace.meta |= {"ranks": ranks, "nodes": [[rank] for rank in range(ranks)]}
    trace.outcome = {"clocks": [1000 * NS] * ranks}
    for table in ("calls", "host", "messages", "packets", "requests", "dma", "processor", "lbus"):
        trace.__dict__[table] = getattr(trace, table)[:0]
    data = data_of(page_of(trace))
    assert data["facts"] == {"device": "mpi-np", "ranks": ranks, "NICs": ranks}
    assert [data[name] for name in ("calls", "places", "sizes", "firmware", "matrix", "lanes")] == [[]] * 6
    assert data["messages"]["id"] == []


def test_a_page_of_many_events_is_small_and_says_what_it_lacks() -> None:
    trace = long_trace(50_000)
    text = page_of(trace)
    assert len(text.encode()) <= LARGEST
    data = data_of(text)
    assert re.search(r"\d+,\d{3} of 50,000 slices of NIC 0 · processor", " ".join(data["lost"]))
    busy = lanes_of(data)["NICs", "NIC 1", "processor"]["busy"]
    kind = str(KINDS.index("NIC processor"))
    assert set(busy["share"]) == {kind}
    assert set(busy["share"][kind][:-1]) == {100}


@pytest.mark.parametrize("name", ["</script>", "<!--<script"])
def test_a_program_name_cannot_end_the_script_or_make_it_go_on(name: str) -> None:
    """After `<!--<script` a browser takes the end of the script for text."""
    trace = sample()
    trace.meta["command"] = ["</script><b>"]
    trace.names[0] = name
    text = page_of(trace)
    assert text.count("</script>") == text.count("<script") == 2
    assert "<!--" not in text
    assert "<b>" not in text


def test_a_command_that_looks_like_the_template_stays_text() -> None:
    trace = sample()
    trace.meta["command"] = ["./a", "{{flame}}", "{% for x in y %}", "{{nothing}}"]
    assert "./a {{flame}} {% for x in y %} {{nothing}}" in page_of(trace)


def test_unwritable_page_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no_such"):
        write_page(tmp_path / "no_such" / "page.html", sample(), [], [])


def test_runs_side_by_side(tmp_path: Path) -> None:
    """All begin at the same moment, and the texts of each slice are those of its own run."""
    runs = {"one": run_data(sample(), 1000), "other": run_data(long_trace(5), 1000)}
    write_comparison(tmp_path / "page.html", "ring <&>", runs)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "ring &lt;&amp;&gt;: where the time went" in text
    data = data_of(text)
    lanes = lanes_of(data)
    assert [path for path in lanes if len(path) == 1] == [("one",), ("other",)]
    for name, run in runs.items():
        for path, lane in lanes_of(run).items():
            moved = lanes[name, *path]
            if "slices" in lane:
                assert (moved["slices"]["begin"], moved["slices"]["message"]) == (lane["slices"]["begin"], -1)
                assert _texts(data, moved) == _texts(run, lane)
    assert data["total"] == max(run["total"] for run in runs.values())
    assert [one["name"] for one in data["ranks"]] == ["one", "other"]
    assert sum(data["ranks"][0]["split"]) == 1_000_000  # of both ranks, whose mean it is


def _texts(data: Any, lane: Any) -> list[list[str]]:
    columns = (lane["slices"][name] for name in ("name", "details"))
    return [[data["texts"][one] for one in (column if isinstance(column, list) else [column])] for column in columns]


def test_what_one_run_leaves_out_is_told_in_its_name() -> None:
    data = side_by_side({"long": run_data(long_trace(5000), 1000), "short": run_data(sample(), 1000)})
    assert {line.partition(":")[0] for line in data["lost"]} == {"long"}
