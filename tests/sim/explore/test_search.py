"""The order of the search, on a program that is only imagined: rank 0 receives from each of three senders."""

from dataclasses import replace

import pytest

from lanai_host.orders import ALL, LAST, SEND, TEST, WAITS, Choice
from lanai_sim.explore.records import Made
from lanai_sim.explore.report import closing
from lanai_sim.explore.running import Outcome, job_of
from lanai_sim.explore.search import Budget, Search
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
