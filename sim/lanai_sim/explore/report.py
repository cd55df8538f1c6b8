"""The report of a search, in words."""

from collections.abc import Iterator

from lanai_host.orders import ALL, SEND, TEST

from ..units import counted
from .failure import Failure
from .search import Search


def lines_of(failure: Failure, path: str) -> Iterator[str]:
    """Give the lines on a failure, whose schedule is in a file."""
    outcome = failure.outcome
    plan = outcome.plan
    how = "in the default order" if not plan else f"with {counted(len(plan), 'choice')} changed"
    yield f"{counted(len(outcome.result.outputs), 'rank')}: {failure.kind} {how}"
    if any(one.kind == SEND and one.rank == ALL for one in outcome.plan):
        yield "  changed: all standard sends wait for their receives"
    else:
        for rank in sorted(one.rank for one in outcome.plan if one.kind == SEND and one.number == ALL):
            yield f"  changed: standard sends of rank {rank} wait for their receives"
    for made in outcome.deviations:
        yield f"  changed: {made.words()}"
    yield from (f"  {line}" for line in failure.races)
    for line in failure.text.splitlines():
        yield f"  {line}"
    yield f"  repeat it: lanai run --replay {path}"


def closing(search: Search) -> str:
    """Return the line on how much was tried."""
    ranks, runs = counted(search.job.ranks, "rank"), counted(search.runs, "run")
    notes = [f"{search.repeated} repeated another one's history"] if search.repeated else []
    if search.pruned:
        notes.append(f"{counted(search.pruned, 'alternative')} cannot be")
    more = f" ({', '.join(notes)})" if notes else ""
    if search.failures:
        return f"{ranks}: {len(search.failures)} found in {runs}{more}"
    what = _tried(search) if search.complete else "nothing found before the budget was spent"
    return f"{ranks}: {what}: {runs}{more}"


def _tried(search: Search) -> str:
    single = [words for kind, words in ((SEND, "sends"), (TEST, "tests")) if kind in search.single]
    if not single:
        return "every order was tried"
    return f"every order of receives was tried, {' and '.join(single)} one by one"
