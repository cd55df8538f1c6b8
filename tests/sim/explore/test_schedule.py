"""Schedules: written, read, refused, and compared with a run."""

import json

import pytest

from lanai_host.errors import UserError
from lanai_host.orders import Choice
from lanai_sim.explore.records import Made
from lanai_sim.explore.replaying import job_of_schedule
from lanai_sim.explore.running import job_of
from lanai_sim.explore.schedule import Schedule
from lanai_sim.job.result import Result

MADE = (
    Made(Choice(0, "match", 0, 2), (1,), site="a.py:3", tag=7),
    Made(Choice(1, "send", 0, 0)),
    Made(Choice(2, "send", 0, 1)),
)


@pytest.fixture
def schedule(tmp_path):
    program = tmp_path / "a.py"
    program.write_text("pass\n")
    return Schedule.of(job_of(["python", str(program)], 3), MADE, Result(1, 5))


def test_what_was_written_is_read(schedule, tmp_path):
    path = str(tmp_path / "s.json")
    schedule.write(path)
    assert Schedule.read(path) == schedule
    assert schedule.choices == (MADE[0].choice, MADE[2].choice)


def test_another_program_is_refused(schedule, tmp_path):
    with pytest.raises(UserError, match=r"another program: python .*a\.py, and not python b\.py"):
        schedule.check(["python", "b.py"])
    (tmp_path / "a.py").write_text("pass  # changed\n")
    with pytest.raises(UserError, match="has changed since"):
        schedule.check(schedule.program)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "choices": [[0, "match", 0]]}'])
def test_what_is_not_a_schedule_is_refused(text, tmp_path):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(UserError, match="is not a schedule"):
        Schedule.read(str(tmp_path / "s.json"))


def test_a_bad_member_is_refused(schedule, tmp_path):
    path = tmp_path / "s.json"
    schedule.write(str(path))
    document = json.loads(path.read_text())
    for change in ({"ranks": 0}, {"more": 1}, {"choices": [[0, "tea", 0, 0]]}, {"choices": [[0, "match", "0", 0]]}):
        path.write_text(json.dumps(document | change))
        with pytest.raises(UserError, match="is not a schedule"):
            Schedule.read(str(path))


def test_a_run_that_departs_is_told(schedule):
    assert schedule.departure(MADE) == ""
    other = Made(Choice(0, "match", 0, 1))
    assert "the sender 2 for match 1 of rank 0" in schedule.departure([other, *MADE[1:]])
    assert "only the schedule has" in schedule.departure(MADE[:1])
    missed = Made(Choice(0, "match", 0, 1), site="a.py:3", missed=2)
    assert schedule.departure([missed]).endswith("the schedule says 2")


def test_flags_that_contradict_the_schedule_are_refused(schedule):
    with pytest.raises(UserError, match="3 ranks, not of 4"):
        job_of_schedule(schedule, schedule.program, job_of(schedule.program, 4), ["ranks"])
    on_nics = job_of(schedule.program, 3).but(device="mpi-np", options=None)
    with pytest.raises(UserError, match="not on mpi-np"):
        job_of_schedule(schedule, schedule.program, on_nics, ["device"])
    assert job_of_schedule(schedule, schedule.program, job_of(schedule.program, 1), []).ranks == 3
