"""The study of the CCU MPI: each answer belongs to a claim, and comes from figures that some
experiment makes. No simulation is run here."""

import re
from pathlib import Path

import pytest

from lanai_sim.studies.papers import claims, page, studies
from lanai_sim.studies.papers.ccu import answers, experiments, systems

ROOT = Path(__file__).parents[3]
STUDY = studies.find("ccu")
KNOWN = {claim.id.removeprefix("ccu.") for claim in claims.load("ccu")}


def fake(slower):
    """Figures of a world in which a byte takes 1 us, and `slower` times that on the other
    systems."""

    def measured(pattern, ranks, options, sizes):
        ours = options == systems.SYSTEMS["ccu"]
        return {size: (1000 + size) * (1.0 if ours else slower) for size in sizes}

    return measured


@pytest.fixture
def figures(monkeypatch):
    def make(slower):
        monkeypatch.setattr(experiments, "measured", fake(slower))
        return STUDY.figures(True, 1, None, lambda name: None)

    return make


def test_answers_belong_to_claims():
    assert set(answers.BY_CLAIM) | set(answers.HELD) | set(answers.WHY_NOT) <= KNOWN


@pytest.mark.parametrize("test", [test for tests in answers.HELD.values() for test in tests])
def test_tests_that_hold_claims_are_there(test):
    file, _, function = test.partition("::")
    assert re.search(rf"^def {function}\(", (ROOT / file).read_text(), re.MULTILINE)


def test_every_way_to_answer_finds_its_figures(figures):
    found = STUDY.answer(figures(1.5))
    by_id = {one.claim.id.removeprefix("ccu."): one for one in found}
    assert all(by_id[name].answered for name in answers.BY_CLAIM)
    shapes = [one for one in found if one.holds is not None]
    assert shapes
    assert all(one.holds for one in shapes)
    assert by_id["s5_3.bw_8000"].value == pytest.approx(8 * 8000 / 9000)


def test_shapes_do_not_show_where_the_others_are_faster(figures):
    found = {one.claim.id: one for one in STUDY.answer(figures(0.9))}
    for name in ("s5_3.pingpong_exchange", "s6_1.bcast_order", "s6.collectives_better", "s7.bitonic_best"):
        assert found[f"ccu.{name}"].holds is False


def test_without_figures_only_constants_and_tests_answer(figures):
    found = STUDY.answer({})
    assert all(one.holds is None for one in found)
    assert all(one.why or one.answered for one in found)


def test_the_page_names_every_experiment(figures):
    measured = figures(1.5)
    text = page.write(STUDY.FRAME, STUDY.answer(measured), STUDY.draw(measured), "figures")
    for one in experiments.EXPERIMENTS:
        assert one.says in text
    assert {"pingpong", "bandwidth", "bcast", "cannon", "window"} <= set(STUDY.draw(measured))
