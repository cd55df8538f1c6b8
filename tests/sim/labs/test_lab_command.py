"""`lanai lab`: what a student does, and does wrong."""

import json
import os
import shutil
from pathlib import Path

import pytest

from lanai_sim import cli
from lanai_sim.labs.child import sentence
from lanai_sim.labs.grading import Work, grade
from lanai_sim.labs.task import Case, TooLong, lab, labs, start

from .mistakes import MISTAKES

SOLUTIONS = Path(__file__).with_name("solutions").resolve()


def solution(name, folder, changes):
    """Copy a solution to a folder and replace texts in it. Return the folder."""
    for file in (SOLUTIONS / name).glob("*.py"):
        shutil.copyfile(file, folder / file.name)
    for old, new in changes.items():
        found = [file for file in folder.glob("*.py") if old in file.read_text()]
        assert len(found) == 1, old
        text = found[0].read_text()
        assert text.count(old) == 1, old
        found[0].write_text(text.replace(old, new))
    return folder.resolve()


DOCS = Path(__file__).parents[3] / "docs"
CASE = lab("dma").public[0]


def failures(folder, text, seconds=120.0, cases=(CASE,)):
    """Run cases on a `dma.py` of this text. Return what is said of each, and the printed lines."""
    (folder / "dma.py").write_text(text)
    work = Work(lab("dma"), folder.resolve(), seconds)
    return [outcome.wrong for outcome in work.run(cases) if outcome.wrong], work.printed


def test_the_list_names_every_lab(capsys):
    assert cli.main(["lab", "list"]) == 0
    shown = capsys.readouterr().out
    assert all(task.title in shown for task in labs())
    assert [task.number for task in labs()] == list(range(1, len(labs()) + 1))


@pytest.mark.parametrize("task", labs(), ids=lambda task: task.name)
def test_a_lab_has_a_page_and_fits_into_its_time(task):
    page = (DOCS / "labs" / f"{task.name}.md").read_text()
    assert task.title.lower() in page.lower()
    assert f"lanai lab grade {task.number}" in page
    assert task.name in (DOCS / "labs" / "index.md").read_text()
    assert task.minutes == 120
    for name in task.files:
        assert "TODO" in (task.start / name).read_text()
        assert len((task.start / name).read_text().splitlines()) <= 90
    assert [step.points for step in task.steps] == sorted((step.points for step in task.steps), reverse=True)
    assert task.steps[0].points == 100


def test_private_cases_follow_from_the_seed():
    for task in labs():
        assert task.secret(3) == task.secret(3)
        assert task.secret(3) != task.secret(4)
        assert len(task.secret(3)) == task.private > 0


def test_start_copies_the_starting_code_and_replaces_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for task in labs():
        assert cli.main(["lab", "start", str(task.number)]) == 0
        folder = tmp_path / f"lab{task.number}-{task.name}"
        assert sorted(file.name for file in folder.iterdir()) == sorted(file.name for file in task.start.iterdir())
        assert set(task.files) <= {file.name for file in folder.iterdir()}
    (tmp_path / "lab1-dma" / "dma.py").write_text("mine")
    capsys.readouterr()
    assert cli.main(["lab", "start", "1"]) == 2
    assert "'lab1-dma/dma.py' exists already and is not replaced" in capsys.readouterr().err
    assert (tmp_path / "lab1-dma" / "dma.py").read_text() == "mine"


def test_a_grade_ends_with_the_score(tmp_path, monkeypatch, capfd):
    """From another directory than the one of the work."""
    folder = solution("dma", tmp_path, {})
    monkeypatch.chdir("/")
    assert cli.main(["lab", "grade", "dma", str(folder), "--json", str(tmp_path / "grade.json")]) == 0
    _, *lines, score = capfd.readouterr().out.splitlines()
    assert "\n".join([*lines, score]) in (DOCS / "labs" / "index.md").read_text()
    figures = json.loads((tmp_path / "grade.json").read_text())["figures"]
    assert figures["lab.dma.points"] == 100
    assert score == f"score: 100 of 100: {figures['lab.dma.slots']} slots in the public cases"


def test_the_work_is_found_where_the_student_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab", "grade", "1"]) == 2
    assert "no dma.py in" in capsys.readouterr().err
    assert cli.main(["lab", "grade", "1", "nowhere"]) == 2
    assert "`lanai lab start 1` copies the starting code" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "import os\n", "class Other: pass\n"], ids=["empty", "no class", "wrong name"])
def test_a_file_without_the_class_is_told(tmp_path, text):
    assert failures(tmp_path, text)[0] == ["dma.py defines no SendDma; keep the names of the starting code"]


def test_a_syntax_error_quotes_the_line(tmp_path):
    [wrong], printed = failures(tmp_path, "x = 1\n    def f(:\n")
    assert wrong == "dma.py:2: unexpected indent\n    def f(:\n    ^"
    assert printed == []


def test_a_crash_names_the_students_line(tmp_path):
    text = "class SendDma:\n    def __init__(self, config):\n        self.x = config.nothing\n"
    [wrong], _ = failures(tmp_path, text)
    assert wrong.startswith("AttributeError: 'NicConfig' object has no attribute 'nothing'")
    assert wrong.endswith(", at dma.py:3: self.x = config.nothing")


@pytest.mark.ci
def test_a_class_that_is_not_a_component_is_told(tmp_path):
    text = "class SendDma:\n    def __init__(self, config): pass\n"
    assert failures(tmp_path, text)[0] == [
        "SendDma is not a wiring.Component; keep the base class of the starting code"
    ]


def test_an_endless_loop_ends_and_names_its_line(tmp_path):
    text = "class SendDma:\n    def __init__(self, config):\n        while True:\n            pass\n"
    [wrong], _ = failures(tmp_path, text, 0.5, [CASE, CASE])
    assert wrong.startswith("it goes on for ever, or takes too long, at dma.py:")


@pytest.mark.ci
def test_a_combinational_loop_ends_with_a_hint(tmp_path):
    folder = solution("dma", tmp_path, {"words.i.valid.eq(arriving),": "words.i.valid.eq(~words.i.valid),"})
    [wrong], printed = failures(folder, (folder / "dma.py").read_text(), 2)
    assert wrong.endswith("; combinational logic that depends on itself never settles")
    assert printed == []


@pytest.mark.ci
def test_a_design_that_fails_in_elaborate_is_told_without_noise(tmp_path):
    folder = solution("dma", tmp_path, {"left = Signal()": "left = self.nothing"})
    [wrong], printed = failures(folder, (folder / "dma.py").read_text())
    assert "has no attribute 'nothing', at dma.py:31: left = self.nothing" in wrong
    assert printed == []


@pytest.mark.ci
def test_files_of_the_student_hide_no_module_of_python(tmp_path):
    folder = solution("dma", tmp_path, {})
    for name in ("random", "json", "select"):
        (folder / f"{name}.py").write_text("raise SystemExit\n")
    assert failures(folder, (folder / "dma.py").read_text())[0] == []
    assert not (folder / "__pycache__").exists()


@pytest.mark.ci
def test_an_exit_is_a_failure(tmp_path):
    assert failures(tmp_path, "import sys\nsys.exit(0)\n")[0] == ["SystemExit: 0, at dma.py:2: sys.exit(0)"]
    [wrong], _ = failures(tmp_path, "import os\nos._exit(0)\n")
    assert wrong == "it ended the process of the bench (exit code 0)"


def test_what_the_work_prints_is_kept_apart(tmp_path):
    (text,) = (file.read_text() for file in (SOLUTIONS / "dma").glob("*.py"))
    wrong, printed = failures(tmp_path, f"{text}\nprint('score: 100 of 100')\n")
    assert wrong == []
    assert printed == ["score: 100 of 100"]


@pytest.mark.ci
def test_endless_printing_ends_and_is_cut(tmp_path):
    [wrong], printed = failures(tmp_path, "while True:\n    print('x' * 1000)\n", 0.5)
    assert wrong.startswith("it goes on for ever, or takes too long, at dma.py:")
    assert 10 < len(printed) < 1000


@pytest.mark.ci
def test_a_module_of_python_with_the_name_of_the_work_is_not_taken(tmp_path):
    """The student's folder comes first, whatever lies in the directory of the command."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "dma.py").write_text("raise SystemExit")
    (tmp_path / "work").mkdir()
    folder = solution("dma", tmp_path / "work", {})
    work = Work(lab("dma"), folder, 120)
    before = os.getcwd()
    os.chdir(tmp_path / "here")
    try:
        assert [outcome.wrong for outcome in work.run([CASE])] == ["", ""]
    finally:
        os.chdir(before)


@pytest.mark.ci
def test_a_case_of_no_cases_starts_nothing_that_stays(tmp_path):
    assert failures(tmp_path, "class SendDma: pass\n", cases=[Case("none", CASE.values)][:0])[0] == []


# A lab's solution passes, its starting code fails, and each typical mistake fails at the case that says why.


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
