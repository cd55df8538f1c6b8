"""The report of a search, in words."""

from collections.abc import Iterator

from lanai_host.orders import ALL, SEND

from .failure import Failure
from .search import Search


def lines_of(failure: Failure, path: str) -> Iterator[str]:
    """Give the lines on a failure, whose schedule is in a file."""
    outcome = failure.outcome
    count = len(outcome.plan)
    how = "in the default order" if not count else f"with {count} {'choice' if count == 1 else 'choices'} changed"
    yield f"{_ranks(len(outcome.result.outputs))}: {failure.kind} {how}"
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
    runs = f"{search.runs} {'run' if search.runs == 1 else 'runs'}"
    notes = [f"{search.repeated} repeated another one's history"] if search.repeated else []
    if search.pruned:
        notes.append(f"{search.pruned} {'alternative' if search.pruned == 1 else 'alternatives'} cannot be")
    more = f" ({', '.join(notes)})" if notes else ""
    if search.failures:
        return f"{_ranks(search.job.ranks)}: {len(search.failures)} found in {runs}{more}"
    what = "every order was tried" if search.complete else "nothing found before the budget was spent"
    return f"{_ranks(search.job.ranks)}: {what}: {runs}{more}"


def _ranks(count: int) -> str:
    return f"{count} {'rank' if count == 1 else 'ranks'}"
