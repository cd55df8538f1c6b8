"""The order of the search, on a program that is only imagined: rank 0 receives from each of three senders."""

from dataclasses import replace

import pytest
from warm import lanai

from lanai_host.clocks.library import Clock
from lanai_host.orders import ALL, LAST, SEND, TEST, WAITS, Choice
from lanai_sim.executors.journal import Journal
from lanai_sim.executors.place import Place
from lanai_sim.explore.ahead import AheadRunner
from lanai_sim.explore.records import Made, impossible
from lanai_sim.explore.running import Outcome, Runner, job_of
from lanai_sim.explore.search import Budget, Search, cause_of, closing
from lanai_sim.job.result import Ending, RankOutput, Result

SENDERS = (1, 2, 3)


class Imagined:
    """Runs the program: it fails if its messages came in an order for which `fails` is true."""

    def __init__(self, fails, job):
        self.fails, self.job, self.plans = fails, job, []

    def ahead(self, job, plans):
        pass

    def races(self, job, outcome):
        return ()

    def run(self, job, plan):
        self.plans.append(frozenset(plan))
        named = {one.number: one.value for one in plan}
        left, made = list(SENDERS), []
        for number in range(len(SENDERS)):
            usual = left[-1] if named.get(ALL) == LAST else named[ALL] if named.get(ALL) in left else left[0]
            value = named[number] if named.get(number) in left else usual
            others = tuple(one for one in left if one != value)
            missed = named[number] if number in named and value != named[number] else None
            made.append(Made(Choice(0, "match", number, value), others, left[0], missed=missed))
            left.remove(value)
        order = [one.choice.value for one in made]
        failed = self.fails(order)
        result = Result(
            int(failed), 0, "bad" if failed else "", ending=Ending.RANK_FAILED if failed else Ending.FINISHED,
            exits=(0,) * 4, outputs=(RankOutput(f"first {order[0]}\n"), *[RankOutput()] * 3),
        )  # fmt: skip
        return Outcome(frozenset(plan), tuple(made), result)


def searched(fails, **how):
    runner = Imagined(fails, None)
    search = Search(job_of(["python"], 4), Budget(100, 60.0), **how)
    search.run(runner)
    return search, runner


def test_every_order_of_a_right_program_is_tried_once():
    search, runner = searched(lambda order: False)
    assert search.complete
    assert not search.failures
    assert search.runs - search.repeated - search.missed - 1 >= 6
    assert len(set(runner.plans[2:])) == len(runner.plans[2:])


@pytest.mark.parametrize("order", [[1, 3, 2], [2, 1, 3], [3, 1, 2], [2, 3, 1], [3, 2, 1]])
def test_each_order_that_fails_is_found(order):
    search, _ = searched(lambda found: found == order)
    assert [one.kind for one in search.failures] == ["rank failed"]
    assert [one.choice.value for one in search.failures[0].outcome.made] == order


def test_a_failure_is_told_by_the_choices_that_it_needs():
    search, _ = searched(lambda order: order[-1] == 1)
    assert search.failures[0].outcome.plan == {Choice(0, "match", 0, 3), Choice(0, "match", 1, 2)}
    search, _ = searched(lambda order: order[0] == 3)
    assert search.failures[0].outcome.plan == {Choice(0, "match", 0, 3)}


def test_another_output_counts_if_that_is_asked():
    assert not searched(lambda order: False)[0].failures
    search, _ = searched(lambda order: False, outputs=True)
    assert search.failures[0].kind == "output"
    assert search.failures[0].text == "line 1 of rank 0 is 'first 2' instead of 'first 1'"


def test_a_budget_ends_a_search():
    search = Search(job_of(["python"], 4), Budget(3, 60.0))
    search.run(Imagined(lambda order: False, None))
    assert search.runs == 3
    assert not search.complete


def test_a_search_may_take_so_much_processor_time():
    class Slow(Imagined):
        def run(self, job, plan):
            return replace(super().run(job, plan), seconds=2.0)

    search = Search(job_of(["python"], 4), Budget(100, 9.0))
    search.run(Slow(lambda order: False, None))
    assert search.runs == 5
    assert not search.complete


@pytest.mark.parametrize(
    ("kinds", "text"),
    [
        ([], "every order was tried"),
        ([SEND], "every order was tried"),
        ([TEST], "every order of receives was tried, tests one by one"),  # beside the wildcards
        ([SEND, SEND], "every order of receives was tried, sends one by one"),
        ([SEND, SEND, TEST, TEST], "every order of receives was tried, sends and tests one by one"),
    ],
)
def test_what_was_tried_is_told(kinds, text):
    """All sends wait in one of the plans, so one send is tried with all else."""

    class More(Imagined):
        def run(self, job, plan):
            outcome = super().run(job, plan)
            more = tuple(Made(Choice(1, kind, number, 0), (WAITS,), 0) for number, kind in enumerate(kinds))
            return replace(outcome, made=outcome.made + more)

    search = Search(job_of(["python"], 4), Budget(100, 60.0))
    search.run(More(lambda order: False, None))
    assert closing(search).startswith(f"4 ranks: {text}: ")


def test_a_program_that_differs_by_itself_is_named():
    flips = iter(range(100))
    search, _ = searched(lambda order: next(flips) == 1)
    assert search.unsteady.startswith("it has ended by finished (code 0), and then by rank failed")


# Messages that cannot be an alternative of a wildcard, as they are sent because of what it chose.

MATCH = {"k": "match", "n": 0, "v": 1, "of": [1]}


def sent(to, number=0):
    return {"k": "sent", "to": to, "i": number}


def got(source, number=0):
    return {"k": "got", "of": source, "i": number}


def late(source, number=0):
    return {"k": "late", "n": 0, "of": source, "i": number}


def test_a_message_that_was_sent_because_of_the_choice_cannot_be_one():
    zero = [MATCH, got(1), sent(2), late(2)]
    assert impossible([zero, [sent(0)], [got(0), sent(0)]]) == {(0, 0, 2)}


def test_it_may_go_over_other_ranks():
    zero = [MATCH, got(1), sent(3), late(2)]
    assert impossible([zero, [sent(0)], [got(3), sent(0)], [got(0), sent(2)]]) == {(0, 0, 2)}


def test_a_message_that_only_came_later_is_an_alternative():
    zero = [MATCH, got(1), sent(2), late(2)]
    assert impossible([zero, [sent(0)], [sent(0), got(0)]]) == set()


def test_what_the_program_was_not_told_counts_for_nothing():
    """The library has the message; the program has not waited for it when it sends."""
    zero = [MATCH, got(1), sent(2), late(2)]
    assert impossible([zero, [sent(0)], [sent(0)]]) == set()


def test_records_that_were_cut_short_leave_nothing_out():
    zero = [MATCH, got(1), late(2)]
    assert impossible([zero, [], [got(0), sent(0)]]) == set()


# The causes why a program differs between runs: they are taken away one after the other.

JOB = job_of(["python", "-c", "pass"], 2)


def is_fixed(job):
    return "fixed_random" in job.environment.get("LD_PRELOAD", "")


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (lambda job: job.clock is Clock.SIMULATED and not is_fixed(job), "the cause is its clock: with simulated"),
        (lambda job: is_fixed(job) and job.clock is None, "the cause is random numbers of the system"),
        (lambda job: is_fixed(job) and job.clock is Clock.SIMULATED, "its clock and random numbers of the system toge"),
        (lambda job: False, "the cause is neither its clock nor random numbers"),
    ],
)
def test_the_cause_without_which_runs_are_equal_is_named(ends, said):
    assert said in cause_of(JOB, lambda job: "" if ends(job) else "they differ", "")


def test_threads_are_named_if_nothing_else_helps():
    assert cause_of(JOB, lambda job: "differs", "rank 1 has 5 threads") == "the cause is threads: rank 1 has 5 threads"


# Runs made by workers ahead of a search, and runs that a journal keeps.


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
            "--", "python", "-c", FOUR, timeout=500,
        )  # fmt: skip
        assert done.returncode == 10, done.stderr
        found.append((schedule.read_text(), done.stderr.replace(str(schedule), "")))
    assert found[0][0] == found[1][0]
    assert found[0][1].splitlines()[-1] == found[1][1].splitlines()[-1]
