"""Choices that a failure does not need, taken out of its plan."""

from collections.abc import Callable

from lanai_host.orders import ALL, MATCH, Choice

from .failure import Failure, failure_of
from .running import Outcome

MOST = 12  # changed choices of which each is tried
Plan = frozenset[Choice]


def minimized(failure: Failure, run: Callable[[Plan], Outcome], usual: Outcome | None) -> Failure:
    """Return the same failure by fewer changed choices, as far as `run` finds one. `usual`: a run that has printed
    what others shall print."""

    def again(plan: Plan) -> Failure | None:
        found = failure_of(run(plan), usual)
        return found if found is not None and found.head == failure.head else None

    best = failure
    if any(one.kind == MATCH and one.number == ALL for one in failure.outcome.plan):
        best = again(_exact(failure.outcome)) or failure
    if 1 < len(best.outcome.plan) <= MOST:
        for one in sorted(best.outcome.plan, reverse=True):
            rest = best.outcome.plan - {one}
            best = (again(rest) if rest else None) or best
    return best


def _exact(outcome: Outcome) -> Plan:
    """Return the plan of a run without what it says of all choices, but for sends."""
    changed = [one.choice for one in outcome.deviations]
    return frozenset([*changed, *(one for one in outcome.plan if one.kind != MATCH)])
