"""Rules on how the run has ended: deadlocks, MPI errors, what was left behind."""

import dataclasses
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ..job.result import Ending, Result
from ..units import counted
from .finding import Finding, Kind, at, finding
from .records import ARGUMENTS, Rank, Record

_CRASH = re.compile(r"rank (?P<rank>\d+) .*was killed by (?P<signal>SIG(SEGV|BUS|FPE|ILL))( at (?P<place>\S+:\d+))?")
_FAILED = re.compile(
    r"rank (?P<rank>\d+) (.*exited with code \d+(, by |$)|left by )(?P<error>\S+)?( at (?P<place>.+?:\d+))?(?= and |$)"
)
_EXCEPTION = "mpi4py.MPI.Exception"
_KINDS = {
    "TRUNCATE": (Kind.TRUNCATION, "receive into a buffer that has room for the message"),
    "RMA_SYNC": (Kind.EPOCH, "open an access epoch for the target before, and an exposure epoch at the target"),
    "RMA_CONFLICT": (Kind.EPOCH, "let operations that conflict be in different epochs"),
    "OUTSIDE": (Kind.CALL, "call it between MPI_Init and MPI_Finalize"),
    "THREAD_LEVEL": (
        Kind.THREAD_LEVEL,
        'ask MPI_Init_thread for more, or in Python set mpi4py.rc.thread_level = "multiple" before MPI is imported',
    ),
    "OTHER": (Kind.ERROR, "see what the message says"),
}


def deadlock(result: Result) -> Iterator[Finding]:
    """The ranks wait, and nothing can happen any more."""
    if result.ending is not Ending.DEADLOCK:
        return
    waiting = [one for one in result.ranks if one.wait is not None]
    sides = [(one.rank, one.wait.call, one.place) for one in waiting if one.wait is not None]
    told = [f"rank {rank} waits in {at(call, line)}" for rank, call, line in sides]
    circle = [text.strip() for text in result.report.splitlines() if " waits for " in text and "closed" not in text]
    text = "; ".join(circle or told)
    yield finding(Kind.DEADLOCK, sides, text, "let one of these calls come after what the others wait for")


def failure(result: Result) -> str:
    """Return by what a program that failed has ended; empty if it did not fail."""
    if not result.code:
        return ""
    head = result.report.partition("\n")[0]
    found = _FAILED.match(head)
    if found is None:
        return f": {head} (exit {result.code})" if head else f" (exit {result.code})"
    place = f" at {found['place']}" if found["place"] else ""
    return (f" by {found['error']}{place}" if found["error"] else "") + f" (exit {result.code})"


def second_run(first: Result, again: Result) -> Iterator[Finding]:
    """The end and the output of a run in which sends wait for their receives, where the first has ended well."""
    if again.ending is Ending.DEADLOCK:
        for one in deadlock(again):
            text = f"the run goes on only if the library copies messages; if sends wait for their receives: {one.text}"
            hint = "use MPI_Sendrecv or MPI_Isend, or order sends and receives"
            yield dataclasses.replace(one, kind=Kind.BUFFERING, text=text, hint=hint)
    elif again.code:
        head = again.report.partition("\n")[0]
        found = _FAILED.match(head)
        sides = [(int(found["rank"]), found["error"] or "", found["place"] or "")] if found is not None else []
        text = "the program ends well in one run, and in another, whose sends wait for their receives, fails"
        hint = "let the program be right also where a standard send is complete only when its receive has begun"
        yield finding(Kind.BUFFERING, sides, text + failure(again), hint)
    else:
        yield from _other_output(first, again)


def _other_output(first: Result, again: Result) -> Iterator[Finding]:
    for rank, (one, other) in enumerate(zip(first.outputs, again.outputs, strict=False)):
        lines = itertools.zip_longest(one.stdout.splitlines(), other.stdout.splitlines(), fillvalue="")
        different = next((pair for pair in lines if pair[0] != pair[1]), None)
        if different is not None:
            one_line, other_line = different
            text = f"rank {rank} prints {one_line!r} in one run, and {other_line!r} where sends wait for their receives"
            yield finding(Kind.BUFFERING, [], text, "", note=True)
            return


def errors(ranks: Sequence[Rank]) -> Iterator[Finding]:
    """Errors that have ended the program. One that the program has handled is a note."""
    for rank in ranks:
        raised = any(record["text"].startswith(_EXCEPTION) for record in rank.of("leaves"))
        found = list(rank.of("error"))
        for record in found:
            never_handled = record["class"] == "THREAD_LEVEL"
            ends = never_handled or record["fatal"] or (raised and record is found[-1])
            known = _KINDS.get(record["class"])
            kind, hint = known or (Kind.ARGUMENT, "pass what the call allows")
            own = known is None and record["class"] not in ARGUMENTS
            text = f"{record['text']}" + (f" (at {record['s']})" if record["s"] else "")
            yield finding(
                Kind.ERROR if own else kind, [(rank.rank, record["c"], record["s"])], text, hint, note=own or not ends
            )


def crashes(result: Result, ranks: Sequence[Rank]) -> Iterator[Finding]:
    """Ranks that a signal has ended which their own instructions cause. Where no place is known it is the MPI call that
    had not ended."""
    calls = {rank.rank: list(rank.calls.values())[-1] for rank in ranks if rank.calls}
    for line in result.report.splitlines():
        found = _CRASH.match(line)
        if found is not None:
            rank, signal, place = int(found["rank"]), found["signal"], found["place"] or ""
            text = f"rank {rank} was killed by {signal}" + (f" at {place}" if place else "")
            call = calls.get(rank)
            if not place and call is not None and call.end is None:
                place = call.line
                text += f" in {at(call.name, call.line)}"
            which = "this line uses" if place else "MPI calls and the program use"
            hint = f"look at the memory that {which}; a count or a type that is larger than a buffer destroys it"
            yield finding(Kind.CRASH, [(rank, signal, place)], text, hint)


def not_finalized(result: Result) -> Iterator[Finding]:
    told = [text for text in (*result.notes, *result.report.splitlines()) if "without MPI_Finalize" in text]
    if told:
        text = told[0].removeprefix("warning: ").partition(";")[0]
        yield finding(Kind.NOT_FINALIZED, [], text, "let each rank call MPI_Finalize before it ends")


def leaks(ranks: Sequence[Rank]) -> Iterator[Finding]:
    """Objects that were not freed, and requests that were not completed: those of a line together."""
    found: dict[tuple[str, ...], list[tuple[int, Record]]] = defaultdict(list)
    for rank in ranks:
        for record in rank.of("leak"):
            key = (record["class"], record["s"] or record["text"])
            found[key].append((rank.rank, record))
    for several in found.values():
        _, record = several[0]
        request = record["class"] in ("request", "message")
        made = f", made at {record['s']}," if record["s"] else ""
        text = f"{record['text']}{made} was not {'completed' if request else 'freed'}"
        times, on = sum(one["times"] for _, one in several), {rank for rank, _ in several}
        if times > 1:
            text += f" ({times} times on {counted(len(on), 'rank')})"
        hint = "wait for it, or test it until it is done" if request else f"free the {record['class']}"
        sides = [(rank, "MPI_Finalize", record["s"]) for rank in sorted(on)]
        yield finding(Kind.REQUEST if request else Kind.LEAK, sides, text, hint)


def of_ranks(ranks: Sequence[Rank]) -> Iterator[Finding]:
    """Return what ranks have found by themselves."""
    for rank in ranks:
        for record in rank.of("found"):
            sides = [(rank.rank, call, line) for call, line in zip(record["calls"], record["lines"], strict=True)]
            where = " and ".join(at(call, line) for _, call, line in sides)
            before = "noticed before the second" if record.get("before") else ""
            text = f"rank {rank.rank}: {record['text']} ({where}{', ' + before if before else ''})"
            yield finding(Kind(record["class"]), sides, text, record["hint"])
