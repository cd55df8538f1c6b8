"""A verdict in plain sentences."""

from collections.abc import Iterator

from ..units import counted
from .finding import Finding
from .judge import Verdict


def lines(verdict: Verdict) -> Iterator[str]:
    for one in verdict.findings:
        yield from _finding(one, "")
    for one in verdict.notes:
        yield from _finding(one, "note: ")
    yield f"verdict: {counted(len(verdict.findings), 'finding') if verdict.wrong else 'nothing found'}"
    for text in verdict.unseen:
        yield f"not looked at: {text}"


def _finding(one: Finding, mark: str) -> Iterator[str]:
    yield f"{mark}{one.kind}: {one.text}"
    if not mark:
        yield f"  what to do: {one.hint}"
