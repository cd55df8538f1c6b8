"""Results as JSON and traces, read for a comparison."""

import json
import math

import pytest

from lanai_hdl.errors import UserError
from lanai_sim.job.job import Job
from lanai_sim.report import outcome
from lanai_sim.report import outcome as changes
from lanai_sim.report.outcome import Change, Outcome

PROGRAM = ("python", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")


def test_a_result_as_json(tmp_path):
    path = tmp_path / "a.json"
    figures = {"run.simulated_us": 1.5, "run.pio_us": 1, "run.waiting_us": 2}
    config = {"program": ["python", "x.py"], "host": {"kernel": {"wake": 3}}, "ranks": 2}
    path.write_text(json.dumps({"figures": figures, "config": config, "commit": "abc"}))
    found = outcome.read(str(path))
    assert (found.traced, found.program, found.figures) == (False, ("python", "x.py"), figures)
    assert found.settings == {"host.kernel.wake": 3, "ranks": 2, "commit": "abc"}
    assert found.parts == {"run.pio_us", "run.waiting_us"}


def test_a_trace(tmp_path):
    path = tmp_path / "a.trace"
    result = Job(PROGRAM, 2).run(trace=path).check()
    found = outcome.read(str(path))
    assert (found.traced, found.program) == (True, PROGRAM)
    assert found.figures[outcome.SIMULATED] == result.figures[outcome.SIMULATED]
    assert found.figures["MPI_Barrier, calls"] == 2
    assert found.figures["MPI_Barrier, us"] > 0
    assert found.figures["messages"] == sum(value for name, value in found.figures.items() if name.endswith(", count"))
    assert sum(found.figures[name] for name in found.parts) == pytest.approx(sum(result.clocks) / 1e6)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"figures": {}}', '{"figures": 3, "config": {}}', "\x00\xff"])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(UserError, match="is neither a trace nor a result with figures and config"):
        outcome.read(str(path))


def test_a_missing_file_is_named():
    with pytest.raises(UserError, match="cannot read 'nowhere': No such file"):
        outcome.read("nowhere")


# Changes between two results: the largest first, a verdict, and refusals.

PROGRAM_CHANGES = ("python", "ring.py")


def outcome_changes(path, figures, traced=False, program=PROGRAM_CHANGES, settings=(), parts=()):
    return Outcome(path, traced, program, dict(settings), figures, frozenset(parts))


def test_times_come_first_and_the_largest_of_each():
    a = outcome_changes("a", {"run.simulated_us": 100.0, "run.pio_us": 5.0, "x": 10, "y": 1000, "same": 3})
    b = outcome_changes("b", {"run.simulated_us": 101.0, "run.pio_us": 8.0, "x": 20, "y": 1100, "same": 3})
    assert [one.name for one in changes.changes(a, b)] == ["run.pio_us", "run.simulated_us", "x", "y"]


def test_a_figure_of_one_result_alone():
    (gone, new) = changes.changes(outcome_changes("a", {"gone": 2, "s": 1}), outcome_changes("b", {"new": 3, "s": 1}))[
        ::-1
    ]
    assert (gone.name, gone.percent) == ("gone", -100)
    assert (new.name, new.percent, changes.share(new)) == ("new", math.inf, "new")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("run.pio_us", True), ("p2p.latency_us.4", True), ("MPI_Send, us", True), ("run.tx_flits", False), ("us", False)],
)
def test_times_are_known_by_their_names(name, expected):
    assert Change(name, 1, 2).is_time is expected


def told(a, b):
    changes.check(a, b)
    return changes.verdict(changes.changes(a, b), a, b)


def test_the_verdict_names_the_time_and_its_largest_part():
    parts = {"run.waiting_us", "run.pio_us"}
    a = outcome_changes("a.json", {"run.simulated_us": 100.0, "run.waiting_us": 150.0, "run.pio_us": 5.0}, parts=parts)
    b = outcome_changes("b.json", {"run.simulated_us": 112.0, "run.waiting_us": 170.0, "run.pio_us": 2.0}, parts=parts)
    assert told(a, b) == (
        "b.json took 12.0 % more simulated time than a.json: 112.000 us instead of 100.000 us; the largest part of it "
        "is waiting, +20.000 us of all ranks"
    )
    assert told(b, a).startswith("a.json took 10.7 % less simulated time than b.json")


def test_other_verdicts():
    a, b = (
        outcome_changes("a", {"run.simulated_us": 1.0, "n": 1}),
        outcome_changes("b", {"run.simulated_us": 1.0, "n": 2}),
    )
    assert told(a, a) == "nothing changed: all 2 figures are equal"
    one = outcome_changes("a", {"x": 1.0})
    assert told(one, one) == "nothing changed: the only figure is equal"
    assert told(a, b) == "the simulated time is equal; 1 other figure changed, most of all n"
    bench = outcome_changes("a", {"x": 4.0, "y": 1.0}), outcome_changes("b", {"x": 5.0, "y": 1.0})
    assert told(*bench) == "1 figure changed, most of all x: 4 -> 5 (+25.0 %)"


def test_settings_that_differ():
    a, b = (
        outcome_changes("a", {"x": 1}, settings={"ranks": 2, "n": 1}),
        outcome_changes("b", {"x": 1}, settings={"ranks": 4, "n": 1}),
    )
    assert changes.settings(a, b) == ["ranks: 2 -> 4"]


def test_what_cannot_be_compared_is_refused():
    a = outcome_changes("a", {"x": 1})
    with pytest.raises(changes.UserError, match=r"a is of 'python ring.py', b of 'python pi.py': results of other"):
        changes.check(a, outcome_changes("b", {"x": 1}, program=("python", "pi.py")))
    with pytest.raises(changes.UserError, match="b of no program"):
        changes.check(a, outcome_changes("b", {"x": 1}, program=()))
    with pytest.raises(changes.UserError, match="a is a result as JSON, b a trace; name two of one kind"):
        changes.check(a, outcome_changes("b", {"x": 1}, traced=True))
    with pytest.raises(changes.UserError, match="no figure in common"):
        changes.check(a, outcome_changes("b", {"y": 1}))


@pytest.mark.parametrize(
    ("change", "limit", "expected"),
    [
        (None, 0, False),
        (Change("run.simulated_us", 100, 103), 2, True),
        (Change("run.simulated_us", 100, 102), 2, False),
        (Change("run.simulated_us", 100, 50), 2, False),
        (Change("rate", 100, 50), 2, True),
        (Change("rate", 0, 1), 2, True),
    ],
)
def test_a_change_that_is_too_much(change, limit, expected):
    assert changes.exceeds(change, limit) is expected
