"""`lanai paper t3d`: its claims, its sizes, and the whole run behind slow."""

import json

import pytest

from lanai_sim.cli import main
from lanai_sim.studies.papers import claims
from lanai_sim.studies.papers.t3d import experiments, study
from lanai_sim.studies.papers.t3d import experiments as constants
from lanai_sim.studies.papers.t3d.study import STUDY


def test_every_claim_has_an_answer_or_a_reason():
    known = {claim.id for claim in claims.load("t3d")}
    assert set(study.ways()) <= known
    assert {f"t3d.{name}" for name in study.WHY_NOT} <= known
    assert all(one.answered or one.why for one in STUDY.answer({}))


def test_sizes_are_those_of_the_paper():
    """T3-B1, T3-G2, T3-G6: what the three figures of the paper show, which prints no latency."""
    values = {claim.id.removeprefix("t3d."): claim for claim in claims.load("t3d")}
    sizes = constants.LATENCY_SIZES
    assert (sizes[0], sizes[-1], sizes.step) == values["s4.latency_sizes"].values
    sizes = constants.MEDIUM_SIZES
    assert (sizes[0], sizes[-1], sizes.step) == values["s4.medium_sizes"].values
    sizes = constants.LARGE_SIZES
    assert (sizes[0], sizes[-1]) == values["s4.large_sizes"].values
    assert values["s4.processors"].value == constants.RANKS


def test_constants_are_those_of_the_device():
    figures = constants.figures(True)
    assert (figures["design.slots_per_pair"], figures["design.send_levels"]) == (1, 2)
    assert (figures["design.alignment"], figures["design.alignment_first"]) == (4, 8)


def test_experiments_have_names_of_their_own():
    names = [one.name for one in experiments.EXPERIMENTS]
    assert len(set(names)) == len(names)


@pytest.mark.slow
def test_the_quick_study_answers_24_claims(tmp_path):
    """The bars: what is fitted is met, 107 MB/s at 1 MB and 100 MB/s at 100 kB, and the shape between. What is not
    fitted is as it was found: puts and gets by the shell, of whole lines and of half ones."""
    file = tmp_path / "figures.json"
    assert main(["paper", "t3d", "--quick", "--jobs", "2", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())["figures"]
    assert figures["paper.t3d.answered"] >= 24
    found = {name.removeprefix("paper.t3d.figure."): value for name, value in figures.items()}
    assert found["bandwidth_MBps.1000000"] == pytest.approx(107, rel=0.02)
    assert found["bandwidth_MBps.100000"] == pytest.approx(100, rel=0.01)
    assert found["bandwidth_MBps.1000000"] >= 0.98 * found["put_MBps"]
    assert 1.0 <= found["put_MBps"] / found["get_MBps"] <= 1.1
    assert 1.6 <= found["put_MBps"] / found["half_lines.get_MBps"] <= 1.8
    for name in ("put_MBps", "get_MBps", "bandwidth_MBps.100000"):
        assert found[f"choices.{name}"] == pytest.approx(found[name], rel=0.01)
    for size in experiments.MEDIUM_QUICK:
        assert found[f"time_us.{size}"] == pytest.approx(65 + size / 107, rel=0.1)
