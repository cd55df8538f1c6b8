"""A lab's solution passes, its starting code fails, and each typical mistake fails at the case that says why."""

import pytest

from lanai_sim.labs.child import sentence
from lanai_sim.labs.grading import Work, grade
from lanai_sim.labs.task import TooLong, lab, labs, start

from .mistakes import MISTAKES
from .place import SOLUTIONS, solution

NAMES = [task.name for task in labs()]
# Not for the default run: models may have to be built, and many MPI programs are started.
LONG = ("barrier", "race")
WITH_CI = [pytest.param(name, marks=pytest.mark.ci) if name in LONG else name for name in NAMES]
SEED, SECONDS = 7, 120


def graded(name, folder):
    lines = []
    return grade(lab(name), folder, SEED, SECONDS, lines.append), lines


@pytest.mark.parametrize("name", WITH_CI)
def test_the_solution_gets_all_points(name):
    found, lines = graded(name, SOLUTIONS / name)
    assert found.passed, lines
    assert found.points == 100, lines
    assert len(found.outcomes) == len(lab(name).public) + lab(name).private
    assert not any("your code printed" in line for line in lines), lines


@pytest.mark.ci
@pytest.mark.parametrize("name", NAMES)
def test_the_starting_code_fails(name, tmp_path):
    start(lab(name), tmp_path)
    found, lines = graded(name, tmp_path.resolve())
    assert not found.passed
    assert not found.loading, lines
    assert found.points == 0
    assert not any("your code printed" in line for line in lines), lines


@pytest.mark.ci
@pytest.mark.parametrize(
    ("name", "file", "text", "slots"),
    [
        ("dma", "dma.py", "from lanai_hdl.send_dma.engine import SendDma", 199),
        ("lbus", "arbiter.py", "from lanai_hdl.lbus.lbus import SlotArbiter", 545),
    ],
)
def test_the_real_hardware_passes(name, file, text, slots, tmp_path):
    """So what a student writes could take its place. The pages name the slots."""
    (tmp_path / file).write_text(f"{text} as {text.split()[-1]}\n")
    found, lines = graded(name, tmp_path.resolve())
    assert found.passed, lines
    assert (found.points, found.total) == (100, slots)


@pytest.mark.ci
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.lab}-{mistake.name}")
def test_a_mistake_fails_at_the_case_that_says_why(mistake, tmp_path):
    folder = solution(mistake.lab, tmp_path, {mistake.old: mistake.new})
    [case] = [one for one in lab(mistake.lab).public if one.name == mistake.case]
    loaded, outcome = Work(lab(mistake.lab), folder, SECONDS).run([case])
    assert loaded.wrong == ""
    assert mistake.said in outcome.wrong


def test_each_lab_has_typical_mistakes():
    assert {name: sum(mistake.lab == name for mistake in MISTAKES) >= 2 for name in NAMES} == dict.fromkeys(NAMES, True)


# The text about an error in a student's work.


def raised(code: str, file: str) -> TooLong:
    try:
        exec(compile(code, file, "exec"), {"TooLong": TooLong})
    except TooLong as error:
        return error
    raise AssertionError("nothing was raised")


def test_generated_code_is_not_taken_for_a_line_of_the_student(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # as the work's process does
    error = raised("raise TooLong('it takes too long')", "<incremental>")
    assert sentence(error, tmp_path, "it never settles") == "it takes too long; it never settles"


def test_a_line_in_the_students_folder_is_quoted(tmp_path):
    file = tmp_path / "dma.py"
    file.write_text("raise TooLong('it takes too long')\n")
    error = raised(file.read_text(), str(file))
    assert sentence(error, tmp_path, "it never settles") == (
        "it takes too long, at dma.py:1: raise TooLong('it takes too long')"
    )
