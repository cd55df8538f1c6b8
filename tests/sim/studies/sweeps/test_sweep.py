"""`lanai sweep`: the journal, going on after a stop, the page, and small real points."""

import json
import shutil
from dataclasses import replace

import pytest

from lanai_host.errors import UserError
from lanai_sim import sources
from lanai_sim.cli import main
from lanai_sim.executors.journal import Journal
from lanai_sim.studies.drawing import Plot
from lanai_sim.studies.sweeps import catalog, generations, matching, patterns, point, processor
from lanai_sim.studies.sweeps import catalog as page
from lanai_sim.studies.sweeps.point import Conclusion, Row, Sweep

MEASURED = []


def measure(where):
    MEASURED.append(where["x"])
    return {"y": 2.0 * where["x"]}


def conclude(rows):
    curve = point.line(rows, "x", "y")
    plot = Plot("t", "x", "y", {"one": curve})
    return Conclusion({"sweep.toy.sum": sum(curve.values())}, f"The sum is {sum(curve.values()):g}.", {"toy": plot})


TOY = Sweep("z", "toy", "A toy", lambda quick: point.grid(x=(1, 2) if quick else (1, 2, 3)), measure, conclude)


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    MEASURED.clear()
    monkeypatch.setattr(catalog, "SWEEPS", (*catalog.SWEEPS, TOY))


def test_goes_on_where_it_was(tmp_path):
    options = ["sweep", "toy", "--jobs", "1", "--journal", str(tmp_path / "t.jsonl")]
    assert main([*options, "--quick"]) == 0
    assert main([*options, "--json", str(tmp_path / "f.json")]) == 0
    assert MEASURED == [1, 2, 3]
    assert json.loads((tmp_path / "f.json").read_text())["figures"] == {"sweep.toy.sum": 12.0}
    assert len((tmp_path / "t.jsonl").read_text().splitlines()) == 3


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The four packages' sources, elsewhere."""
    copy = tmp_path_factory.mktemp("copy")
    for name, root in sources.roots().items():
        shutil.copytree(root, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    return {name: copy / name for name in sources.roots()}


@pytest.fixture
def copied(places, monkeypatch):
    """Return copies of the sources, of which the digest is taken. A test leaves them as they were."""
    monkeypatch.setattr(sources, "roots", lambda: places)
    return places


def test_the_digest_is_the_same_wherever_the_sources_are(places, monkeypatch):
    original = sources.digest()
    monkeypatch.setattr(sources, "roots", lambda: places)
    assert sources.digest() == original


@pytest.mark.parametrize(
    "edited",
    [
        "lanai_sim/engines/native/gates.h",
        "lanai_sim/engines/native/engine.cc",
        "lanai_sim/machine/fabric.py",
        "lanai_sim/kernel/kernel.py",
        "lanai_sim/kernel/node.py",
        "lanai_sim/studies/sweeps/matching.py",
        "lanai_sim/studies/papers/mpi_np/experiments.py",
        "lanai_host/simulator/transport.c",
        "lanai_host/stacks/mpi_np/driver.py",
        "lanai_hdl/nic.py",
    ],
)
def test_rows_of_other_code_are_passed_over(edited, copied, tmp_path):
    options = ["sweep", "toy", "--jobs", "1", "--quick", "--journal", str(tmp_path / "t.jsonl")]
    assert main(options) == 0
    name, _, rest = edited.partition("/")
    path = copied[name] / rest
    before = path.read_bytes()
    path.write_bytes(before + b" ")
    try:
        assert main(options) == 0
        assert MEASURED == [1, 2, 1, 2]
        assert main(options) == 0
        assert MEASURED == [1, 2, 1, 2]
    finally:
        path.write_bytes(before)


def test_every_source_counts(copied):
    """A new kind of file must be said to be code or not."""
    assert len(sources.code(copied)) > 300
    kinds = {path.suffix for root in copied.values() for path in root.rglob("*") if path.is_file()}
    assert kinds <= sources.CODE | sources.NOT_CODE
    before = sources.digest()
    new = copied["lanai_sim"] / "new.h"
    new.write_text("")
    assert sources.digest() != before
    new.unlink()


def test_a_new_revision_measures_again(tmp_path):
    Journal(tmp_path / "t", "toy", 1).add({"x": 1}, {"y": 2.0})
    assert Journal(tmp_path / "t", "toy", 1).missing([{"x": 1}]) == []
    assert Journal(tmp_path / "t", "toy", 2).missing([{"x": 1}]) == [{"x": 1}]
    assert Journal(tmp_path / "t", "other", 1).missing([{"x": 1}]) == [{"x": 1}]


def test_a_sweeps_revision_reaches_its_journal(tmp_path, monkeypatch):
    options = ["sweep", "toy", "--jobs", "1", "--quick", "--journal", str(tmp_path / "t.jsonl")]
    assert main(options) == 0
    monkeypatch.setattr(catalog, "SWEEPS", (replace(TOY, revision=2),))
    assert main(options) == 0
    assert MEASURED == [1, 2, 1, 2]


def test_a_line_cut_short_is_measured_again(tmp_path):
    path = tmp_path / "t.jsonl"
    Journal(path, TOY.name).add({"x": 1}, {"y": 2.0})
    Journal(path, TOY.name).add({"x": 2}, {"y": 4.0})
    path.write_text(path.read_text()[:-20])
    again = Journal(path, TOY.name)
    assert again.missing([{"x": 1}, {"x": 2}]) == [{"x": 2}]
    again.add({"x": 2}, {"y": 4.0})
    assert Journal(path, TOY.name).missing([{"x": 1}, {"x": 2}]) == []


def test_a_foreign_journal_is_refused(tmp_path):
    (tmp_path / "t").write_text("hello\nworld\n")
    with pytest.raises(UserError, match="line 1: 'hello' is not a row of a journal"):
        Journal(tmp_path / "t", TOY.name)


def test_errors_are_told(tmp_path, capsys):
    assert main(["sweep", "clokc"]) == 2
    assert "sweep 'clokc' is not known; did you mean 'clock'? choose one of clock, cache" in capsys.readouterr().err
    assert main(["sweep", "toy", "--jobs", "1", "--journal", str(tmp_path / "none" / "t")]) == 2
    assert "cannot write the journal" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["sweep", "toy", "--output", str(tmp_path / "file")]) == 2
    assert "cannot make the directory" in capsys.readouterr().err
    assert main(["sweep", "toy", "--jobs", "-1"]) == 2


def test_page_keeps_other_sections(tmp_path):
    options = [
        "sweep",
        "toy",
        "--jobs",
        "1",
        "--journal",
        str(tmp_path / "t.jsonl"),
        "--output",
        str(tmp_path / "docs"),
    ]
    path = tmp_path / "docs" / page.PAGE
    assert main([*options, "--quick"]) == 0
    first = path.read_text()
    assert "## (z) A toy" in first
    assert "The sum is 6." in first
    page.update(tmp_path / "docs", replace(TOY, letter="y", name="other"), Conclusion({}, "Another."))
    assert main(options) == 0
    text = path.read_text()
    assert text.count("# Beyond MPI-NP\n") == text.count("(z) A toy") == text.count("Another.") == 1
    assert "The sum is 12." in text
    assert text.index("(y)") < text.index("(z)")
    assert (tmp_path / "docs" / "figures" / "beyond-toy.svg").exists()


def test_letters_and_names_are_unique():
    assert [catalog.find(letter).name for letter in "abcde"] == ["clock", "cache", "queues", "fairness", "overlap"]


def test_clock_conclusion_from_made_up_rows():
    rows = [
        Row({"matching": matching, "megahertz": mhz}, {"latency_us": fixed + 330 / mhz, "nic_us": 1 + 198 / mhz})
        for matching, fixed in (("nic", 2.0), ("host", 8.0))
        for mhz in (33, 66, 264)
    ]
    found = processor.conclude_clock(rows)
    assert found.figures["sweep.clock.fixed_us"] == pytest.approx(1)
    assert found.figures["sweep.clock.factor_to_2us"] == pytest.approx(198 / 33)
    assert found.figures["sweep.clock.host_meets_nic_at_33_mhz"] == pytest.approx(330 / 4)
    assert "not 24" in found.paragraph


def test_sticky_conclusion_from_made_up_rows():
    """The longest pause with which a late receiver gets nothing by remote write."""
    rows = [
        Row({"late_us": late, "pause_us": pause}, {"percent": 100.0 if pause > late / 10 else 0.0})
        for late in catalog.LATE_US
        for pause in catalog.PAUSES_US
    ]
    found = catalog.conclude_sticky(rows)
    assert "pauses for 20 us at most" in found.paragraph
    assert found.figures["sweep.sticky.200_us_late.40"] == 100


def test_windows_conclusion_from_made_up_rows():
    slow = {"allocated": 1, "registered": 1, "emulated": 4}
    rows = [
        Row({"memory": memory, "size": size}, {"put_us": factor * size, "get_us": 2.0 * size})
        for memory, factor in slow.items()
        for size in patterns.WINDOWS_SIZES
    ]
    found = patterns.conclude_windows(rows)
    assert "puts 4.00 and 4.00 times as fast at 8 and at 8,192 bytes, gets 1.00 and 1.00 times" in found.paragraph
    assert found.figures["sweep.windows.put.emulated.64_us"] == 256


def test_noise_conclusion_from_made_up_rows():
    rows = [
        Row(
            where,
            {"percent": 45.0 if where["jitter"] >= 0.03 else 50.0 * where["lead"], "stage_us": 400 + where["jitter"]},
        )
        for where in catalog.noise_points(False)
    ]
    found = catalog.conclude_noise(rows)
    assert "| 4,096 B, 2 ranks, 0 us | 0 | 400 | 400 | 3 % | 45 | 400 | 400 |" in found.paragraph
    assert "| 4,096 B, 2 ranks, 8 us | 100 | 400 | 400 | 3 % | 45 |" in found.paragraph
    assert found.figures["sweep.noise.4096_bytes.2_ranks.lead_0.percent.3"] == 45


def made_up(point, questions):
    """A row whose figures are 1, 2, 3, ... times the place of its system."""
    asked = [one.figure for one in questions if one.part == point.get("part", "")]
    names = {"system": generations.SYSTEMS, "mover": (*generations.MOVERS,)}
    times = next(places.index(point[name]) + 1 for name, places in names.items() if name in point)
    return Row(point, {figure: float(times * number) for number, figure in enumerate(asked, start=1)})


def test_generations_conclusion_from_made_up_rows():
    rows = [made_up(where, generations.QUESTIONS) for where in generations.generations_points(False)]
    found = generations.conclude_generations(rows)
    assert "| 8 B one way, us | 1.0 | 2.0 | 3.0 | 4.0 | 5.0 |" in found.paragraph
    assert (
        "a step takes, beyond its computing, 1 (bip), 2 (mpi-np), 3 (mbcf), 4 (sci), 5 (lanai2) us" in found.paragraph
    )
    assert len(found.figures) == len(generations.SYSTEMS) * len(generations.QUESTIONS)
    plot = found.plots["generations"]
    assert plot.lines["8 B one way"] == {system: place for place, system in enumerate(generations.SYSTEMS, start=1)}
    assert {name for name in plot.lines if "host work" in name} == {
        "allreduce of 8 B: host work",
        "a step beside its computing: host work",
    }


def test_a_part_of_the_generations_concludes_nothing():
    rows = [made_up(where, generations.QUESTIONS) for where in generations.generations_points(True)]
    found = generations.conclude_generations(rows)
    assert "A few points only." in found.paragraph
    assert "hidden" not in found.paragraph.partition("**Result.**")[2]


def test_movers_conclusion_from_made_up_rows():
    rows = [made_up(where, generations.MOVED) for where in generations.movers_points(False)]
    found = generations.conclude_movers(rows)
    assert "8 bytes by firmware take 0.5 times what they take by stores" in found.paragraph
    assert "| 64 B one way, us | 2.0 | 4.0 | 6.0 | 8.0 | 10.0 | 12.0 |" in found.paragraph
    assert found.plots["movers"].lines["data plane"][8.0] == 6
    assert "A few points only." in generations.conclude_movers(rows[:2]).paragraph


def thickness_row(point, **changed):
    """The thick NIC's times are twice the thin one's, and both halve with twice the clock."""
    scale = (2.0 if point["nic"] == "thick" else 1.0) * 33 / point["megahertz"]
    return Row(point, {"behind_0_us": 8 * scale, "behind_24_us": 16 * scale, "taken_us": 300 * scale} | changed)


def test_thickness_conclusion_from_made_up_rows():
    points = matching.thickness_points(False)
    found = matching.conclude_thickness([thickness_row(point) for point in points])
    assert "a message alone takes 2.00, 2.00, 2.00, 2.00 times as long on the thick NIC" in found.paragraph
    assert "its clock must be 2.0, 2.0, 2.0, 2.0 times as fast" in found.paragraph
    assert "| functions called | 33 | 8.0 | 16.0 | 16.0 | 32.0 | 300.0 | 600.0 |" in found.paragraph
    assert found.figures["sweep.thickness.written.needed.same"] == pytest.approx(2)
    assert found.plots["thickness"].lines["full, behind 24"] == {33.0: 2, 133.0: 2, 528.0: 2}
    few = matching.conclude_thickness([thickness_row(point) for point in matching.thickness_points(True)])
    assert "A few points only." in few.paragraph


@pytest.mark.ci
def test_a_straight_path_and_no_compiler_brings_the_thick_nic_level_with_the_thin_one():
    points = matching.thickness_points(True)
    thick, whole, thin = (matching.measure_thickness(point)["behind_0_us"] for point in points)
    assert thick == pytest.approx(thin, rel=0.1)
    assert whole > 2 * thin
    called = {
        nic: matching.measure_thickness({"nic": nic, "code": "called", "megahertz": 33}) for nic in ("thin", "thick")
    }
    assert 1.8 < called["thick"]["behind_0_us"] / called["thin"]["behind_0_us"] < whole / thin
    assert called["thin"]["behind_0_us"] > 2 * thin
    assert called["thick"]["taken_us"] < 0.02 * called["thin"]["taken_us"]


def test_a_step_waits_for_what_computing_does_not_hide():
    """On `ideal` lines carry the edges while a rank computes. It posts four transfers, and sums up over two rounds."""
    found = generations.skeleton("ideal")
    assert 2 * 1.0 < found["step_us"] < 6  # the latency of a round is 1 us
    assert 0 < found["step_host_us"] < found["step_us"]


def test_a_mover_is_measured_by_both_its_ends(monkeypatch):
    monkeypatch.setitem(generations.MOVERS, "a line", {"device": "ideal"})
    monkeypatch.setattr(generations, "SIZES", (8, 64))
    found = generations.measure_movers({"mover": "a line"})
    assert found["one_way_us.64"] == pytest.approx(found["one_way_us.8"] + 56 / 160, abs=0.01)
    assert 0 < found["host_us.8"] < 2 * found["one_way_us.8"]
    assert found["hidden.receive"] > 95


@pytest.mark.ci
def test_uneven_ranks_write_one_half_where_even_ones_write_none_or_all():
    """The same seed gives the same run."""
    where = {"ranks": 2, "size": 4096, "requests": catalog.SR}
    even, uneven = (
        [catalog.measure_noise(where | {"jitter": part, "lead": lead}) for lead in catalog.LEADS] for part in (0.0, 0.1)
    )
    assert [one["percent"] for one in even] == [0, 100]
    assert all(catalog.HALF[0] < one["percent"] < catalog.HALF[1] for one in uneven)
    little, again = (catalog.measure_noise(where | {"jitter": 0.03, "lead": 0}) for _ in range(2))
    assert little["stage_us"] < even[0]["stage_us"]
    assert again == little


@pytest.mark.slow
def test_a_sender_by_fifo_that_is_ahead_stays_so():
    """MB-G4."""
    shares = [catalog.measure_sticky({"late_us": late, "pause_us": 0})["percent"] for late in catalog.LATE_US]
    assert shares == [100, 0]
    assert catalog.measure_sticky({"late_us": catalog.LATE_US[-1], "pause_us": 40})["percent"] > 50


def test_nic_at_keeps_bus_link_and_cable():
    slow, fast = point.nic_at(33), point.nic_at(528)
    assert fast.slot_khz == 16 * slow.slot_khz
    assert (fast.host_bus_khz, fast.link_kbytes) == (slow.host_bus_khz, slow.link_kbytes)
    assert fast.link_latency == 16 * slow.link_latency
    assert point.nic_at(1056).slot_khz == 2_112_000


def test_jain():
    assert patterns.figures_of([[1, 2], [1, 2]], 1)["jain"] == 1
    assert patterns.figures_of([[1, 2], [3, 4]], 1)["jain"] == 0.5


def test_a_real_point(expected):
    """Eight posted receives in the way of four bytes."""
    figures = matching.measure_queues({"queue": "posted", "matching": "nic", "depth": 8})
    expected("sweep.queues.latency_us.posted.nic.8", round(figures["latency_us"], 6))


@pytest.mark.slow
def test_replay_without_cache_is_the_gateware():
    figures = processor.measure_cache({"message": 4, "cache": 16384})
    assert figures["busy_plain_us"] == pytest.approx(figures["busy_gateware_us"], rel=0.01)
    assert figures["miss_percent"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["queues", "fairness", "overlap", "cache", "windows"])
def test_whole_sweeps(name, tmp_path):
    options = ["--quick", "--journal", str(tmp_path / "t.jsonl"), "--output", str(tmp_path)]
    assert main(["sweep", name, *options]) == 0
    assert f"`lanai sweep {name}`" in (tmp_path / page.PAGE).read_text()
