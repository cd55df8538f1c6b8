"""`lanai dev bench p2p`: small runs whose figures are exact, and the figures that mpi-np must reach on
the gateware (NP-B1 .. NP-B7)."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_host.config import pentium2_266
from lanai_host.errors import UserError
from lanai_sim import report
from lanai_sim.cli import main
from lanai_sim.studies import drawing
from lanai_sim.studies.benches import core, p2p
from lanai_sim.studies.benches.p2p import plots, traffic
from lanai_sim.studies.benches.p2p.pair import Buffer


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Four bytes and a page, and where the time of the four goes."""
    folder = tmp_path_factory.mktemp("p2p")
    command = ["dev", "bench", "p2p", "--parts", "traffic,stages,contention", "--sizes", "4,4096", "--repetitions", "1"]
    assert main([*command, "--json", str(folder / "p2p.json"), "--output", str(folder / "plots")]) == 0
    return json.loads((folder / "p2p.json").read_text())["figures"], folder / "plots"


EXACT = (
    "p2p.latency_us.4",
    "p2p.latency_us.4096",
    "p2p.unaligned_latency_us.4096",
    "p2p.send_overhead_us.4",
    "p2p.send_overhead_us.4096",
    "p2p.stage_us.whole",
    "p2p.np_slowdown.one_dma",
    "p2p.np_speed.two_dma",
)


@pytest.mark.parametrize("name", EXACT)
def test_figures_on_record(small, name, expected):
    expected(name, round(small[0][name], 6))


def test_other_figures_of_the_readme_on_record(tmp_path, expected):
    """The peak bandwidth is that of the longest message."""
    command = ["dev", "bench", "p2p", "--parts", "traffic", "--sizes", "64,1048576"]
    assert main([*command, "--json", str(tmp_path / "p2p.json")]) == 0
    figures = json.loads((tmp_path / "p2p.json").read_text())["figures"]
    for name in ("p2p.latency_us.64", "p2p.unaligned_latency_us.64", "p2p.bandwidth_MBps.1048576"):
        expected(name, round(figures[name], 6))


def test_a_message_across_pages_keeps_cut_through(small):
    """Two pieces cost a second upload, not the wait for the whole packet."""
    figures, _ = small
    assert figures["p2p.unaligned_latency_us.4096"] < figures["p2p.latency_us.4096"] + 9


def test_no_page_comes_again_within_a_play():
    """One that did would be found pinned: a matter of malloc, and of picoseconds in every figure
    after it."""
    assert len({Buffer(4).address for _ in range(50)}) == 50


def test_stages_add_up_to_the_message(small):
    figures, _ = small
    parts = [figures[f"p2p.stage_us.{stage}"] for stage in plots.STAGES]
    assert sum(parts) == pytest.approx(figures["p2p.stage_us.whole"])
    assert min(parts) > 0
    assert figures["p2p.stage_us.whole"] == pytest.approx(figures["p2p.latency_us.4"], rel=0.1)
    work = sum(value for name, value in figures.items() if name.startswith("p2p.function_us."))
    assert 0 < work <= figures["p2p.stage_us.nic_send"] + figures["p2p.stage_us.nic_receive"]


def test_plots_are_drawn(small):
    drawn = sorted(path.name for path in small[1].iterdir())
    assert drawn == [
        f"fig4-{name}.svg" for name in ("2-bandwidth", "3-send-overhead", "4-latency", "5-break-down", "6-slowdown")
    ]
    assert all(path.read_text().startswith("<?xml") for path in small[1].iterdir())


def test_drawing_is_deterministic_and_needs_no_display(tmp_path, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    plot = drawing.Plot("a", "x", "y", {"one": {1: 2.0, 2: 3.0}}, marks={"there": 2.5}, log="x")
    for name in ("a.svg", "b.svg"):
        drawing.draw(plot, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_drawing_carries_the_digest_of_what_it_shows(tmp_path):
    plot = drawing.Plot("a", "x", "y", {"one": {1: 2.0, 2: 1 / 3}}, bars={}, marks={"there": 2.5}, log="x")
    drawing.draw(plot, tmp_path / "a.svg")
    assert drawing.digest_of((tmp_path / "a.svg").read_text()) == plot.digest()
    assert replace(plot, lines={"one": {1: 2.0, 2: 1 / 3 + 1e-12}}).digest() == plot.digest()
    others = [
        replace(plot, lines={"one": {1: 2.0, 2: 0.334}}),
        replace(plot, lines={"two": {1: 2.0, 2: 1 / 3}}),
        replace(plot, points=plot.lines, lines={}),
        replace(plot, title="b"),
        replace(plot, log=""),
        replace(plot, marks={"there": 2.6}),
    ]
    assert plot.digest() not in {other.digest() for other in others}
    assert drawing.digest_of("<svg></svg>") is None


def test_a_drawing_has_the_pages_colours_its_units_and_the_lines_names_at_their_ends(tmp_path):
    page = (Path(report.__file__).parent / "page" / "parts" / "page.css").read_text()
    assert [one for one in drawing.COLOURS if one not in page] == []
    lines = {"slow": {64: 2.0, 2048: 3.0}, "quick": {64: 1.0, 2048: 3.0}}
    drawing.draw(drawing.Plot("a", "bytes", "us", lines, log="xy"), tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert all(f">{text}</text>" in drawn for text in ("64", "2 Ki", "µs"))
    names = {name: re.search(rf'fill: (#\w+)"[^>]*y="([\d.]+)"[^>]*>{name}</text>', drawn) for name in lines}
    assert [names[name][1] for name in lines] == [*drawing.COLOURS[:2]]
    assert abs(float(names["slow"][2]) - float(names["quick"][2])) > 8  # points: one above the other


@pytest.mark.parametrize(("last", "halves"), [(4, False), (3.5, True)])
def test_whole_numbers_have_no_ticks_between_them(last, halves, tmp_path):
    drawing.draw(drawing.Plot("a", "ranks", "us", {"one": {2: 1.0, last: 3.0}}), tmp_path / "a.svg")
    ticks = re.search(r'id="matplotlib.axis_1".*?id="matplotlib.axis_2"', (tmp_path / "a.svg").read_text(), re.S)[0]
    assert bool(re.search(r">\d\.\d+</text>", ticks)) is halves


def test_drawing_refuses(tmp_path):
    plot = drawing.Plot("a", "x", "y", {"one": {1: 2.0}})
    with pytest.raises(UserError, match=r"must end in \.svg"):
        drawing.draw(plot, tmp_path / "a.bmp")
    with pytest.raises(UserError, match="cannot write the drawing"):
        drawing.draw(plot, tmp_path / "none" / "a.svg")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot make the directory"):
        drawing.folder(tmp_path / "file")


def test_crossover_is_where_lines_meet():
    assert traffic.crossover({0: 1.0, 10: 3.0}, {0: 2.0, 10: 2.0}) == 5
    assert traffic.crossover({0: 1.0, 10: 2.0}, {0: 2.0, 10: 3.0}) == float("inf")
    assert traffic.crossover({0: 3.0, 10: 4.0}, {0: 2.0, 10: 3.0}) == 0


@pytest.mark.parametrize("period", [16, 32, 64])
def test_period_of_the_saw_tooth(period):
    assert traffic.tooth({size: size + 10.0 * ((size + 16) // period) for size in range(4, 260, 4)}) == period


def test_patterns_take_what_they_say():
    for eighths in range(9):
        assert sum(core.pattern(eighths, False)) == eighths
        assert sum(core.pattern(eighths, True)) == 2 * eighths


@pytest.mark.ci
def test_the_golden_model_is_slowed_down_as_the_core_is():
    image = core.half_memory_loop() + core.NOP.to_bytes(4, "big")
    bench = core.CoreBench(core.SIZE)
    for taken in (core.pattern(eighths, both) for eighths in range(core.EIGHTHS + 1) for both in (False, True)):
        assert core.heads_of_model(image, taken) == core.heads_of_core(bench, image, taken)


@pytest.mark.slow
def test_figures():
    figures = p2p.measure(pentium2_266(), McpConfig(), 2)
    assert figures["p2p.latency_us.4"] <= 15
    assert figures["p2p.bandwidth_MBps.peak"] >= 100
    assert figures["p2p.bandwidth_MBps.1048576"] >= 0.97 * figures["p2p.bandwidth_MBps.peak"], "no drop past the buffer"
    assert figures["p2p.send_overhead_us.4"] <= 2
    assert figures["p2p.nic_share_percent"] > 50
    assert figures["p2p.np_slowdown.one_dma"] == 1.5
    assert figures["p2p.pio_period_bytes"] == 32
    assert figures["p2p.crossover_bytes.send_overhead.dma"] < 1024
