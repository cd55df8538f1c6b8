"""Runs made by workers ahead of a search, and runs that a journal keeps."""

import pytest
from warm import lanai

from lanai_host.orders import Choice
from lanai_sim.executors.journal import Journal
from lanai_sim.executors.place import Place
from lanai_sim.explore.ahead import AheadRunner
from lanai_sim.explore.records import Made
from lanai_sim.explore.running import Outcome, Runner, job_of
from lanai_sim.job.result import Ending, RankOutput, Result

PLAN = frozenset({Choice(0, "match", 0, 2)})
MADE = (
    Made(Choice(0, "match", 0, 2), (1,), 1, "a.py:3", 7, after=(3,), ids=((1, 0), (2, 4))),
    Made(Choice(1, "send", 0, 0)),
)
RESULT = Result(3, 500, "deadlock", ending=Ending.DEADLOCK, exits=(0, None), outputs=(RankOutput("1\n"), RankOutput()))
FOUR = """
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank:
    world.send(world.rank, 0)
else:
    order = [world.recv(source=MPI.ANY_SOURCE) for _ in range(3)]
    assert order != [2, 3, 1]
"""


@pytest.fixture
def runs(monkeypatch):
    """Return the plans of runs that were really made."""
    made = []

    def run(self, job, plan):
        made.append(plan)
        return Outcome(frozenset(plan), MADE, RESULT)

    monkeypatch.setattr(Runner, "run", run)
    return made


def test_a_run_that_the_journal_keeps_is_not_made_again(runs, tmp_path):
    job = job_of(["python", "-c", "pass"], 2)
    outcomes = []
    for _ in range(2):
        runner = AheadRunner(Place(jobs=1), 10, Journal(tmp_path / "j", "explore"))
        outcomes.append(runner.run(job, PLAN))
        runner.close()
    assert outcomes == [Outcome(PLAN, MADE, RESULT)] * 2
    assert runs == [PLAN]
    AheadRunner(Place(jobs=1), 10, Journal(tmp_path / "j", "explore")).run(job_of(["python", "-c", "1"], 2), PLAN)
    assert runs == [PLAN, PLAN]


@pytest.mark.ci
def test_what_is_found_does_not_depend_on_the_number_of_workers(tmp_path):
    found = []
    for jobs in (1, 2):
        schedule = tmp_path / f"{jobs}.json"
        done = lanai(
            "explore", "-n", 4, "--jobs", jobs, "--schedule", schedule, "--journal", tmp_path / f"{jobs}.jsonl",
            "--", "python", "-c", FOUR, timeout=200,
        )  # fmt: skip
        assert done.returncode == 10, done.stderr
        found.append((schedule.read_text(), done.stderr.replace(str(schedule), "")))
    assert found[0][0] == found[1][0]
    assert found[0][1].splitlines()[-1] == found[1][1].splitlines()[-1]
