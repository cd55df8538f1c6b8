"""A verdict in plain sentences, and its findings as SARIF 2.1.0, which code hosts and editors show beside the lines."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..units import counted
from ..version import version
from .finding import Finding, Kind
from .judge import Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def lines(verdict: Verdict, portable: bool = False) -> Iterator[str]:
    """Give what is wrong, and with `portable` what MPI leaves to a library."""
    for one in verdict.findings:
        yield from _finding(one, "")
    for one in verdict.notes:
        if not (portable and one.kind is Kind.PORTABILITY):
            yield from _finding(one, "note: ")
    if portable:
        yield from (f"portable: {text}" for text in _freedoms(verdict))
    yield f"verdict: {summary(verdict)}"
    for text in verdict.unseen:
        yield f"not looked at: {text}"


def summary(verdict: Verdict) -> str:
    """Return the verdict in a few words."""
    if verdict.wrong:
        return counted(len(verdict.findings), "finding")
    if verdict.failed:
        return f"failed{verdict.failed}" + ("; no mistake in its MPI calls found" if verdict.ran else "")
    return "nothing found"


def _freedoms(verdict: Verdict) -> Iterator[str]:
    for one in verdict.sends:
        yield one.text
    if verdict.sends:
        yield f"a run in which all sends wait for their receives: {verdict.waits}"
    yield from (one.text for one in verdict.freedoms)
    if not (verdict.sends or verdict.freedoms):
        yield "the run has used no freedom of MPI that is looked at"


def of_many(verdicts: Mapping[str, Verdict]) -> str:
    """Return the verdicts on several programs in one line."""
    told = []
    for word, text in (("wrong", "with findings"), ("failed", "failed"), ("ok", "with nothing found")):
        names = [name for name, verdict in verdicts.items() if verdict.word == word]
        if names:
            told.append(f"{len(names)} {text}" + (f" ({', '.join(names)})" if word != "ok" else ""))
    return f"{counted(len(verdicts), 'program')}: {', '.join(told)}"


def document(verdicts: Mapping[str, Verdict]) -> dict[str, object]:
    """Return the verdicts on several programs, and the worst of them, as plain values."""
    words = {verdict.word for verdict in verdicts.values()}
    worst = next(word for word in ("wrong", "failed", "ok") if word in words)
    programs = [{"program": name, **verdict.document()} for name, verdict in verdicts.items()]
    return {"verdict": worst, "programs": programs}


def second_run(verdict: Verdict) -> Iterator[str]:
    """Give what the ranks printed in the second run, if that has shown something."""
    if verdict.second is None:
        return
    yield "the second run, in which sends wait for their receives, printed:"
    for rank, output in enumerate(verdict.second.outputs):
        for line in (*output.stdout.splitlines(), *output.stderr.splitlines()):
            yield f"[{rank}] {line}"


def _finding(one: Finding, mark: str) -> Iterator[str]:
    yield f"{mark}{one.kind}: {one.text}"
    if not mark:
        yield f"  what to do: {one.hint}"


def sarif(findings: Sequence[Finding], notes: Sequence[Finding] = ()) -> dict[str, Any]:
    """Return findings as a document in SARIF."""
    driver = {
        "name": "lanai check",
        "version": version(),
        "rules": [{"id": str(kind), "shortDescription": {"text": str(kind).replace("-", " ")}} for kind in Kind],
    }
    results = [_result(one, "error") for one in findings] + [_result(one, "note") for one in notes]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _result(one: Finding, level: str) -> dict[str, Any]:
    places = [place for place in map(_location, one.lines) if place is not None]
    found: dict[str, Any] = {
        "ruleId": str(one.kind),
        "level": level,
        "message": {"text": f"{one.text}. {one.hint[:1].upper()}{one.hint[1:]}."},
        "locations": places[:1],
    }
    if places[1:]:
        found["relatedLocations"] = places[1:]
    return found


def _location(line: str) -> dict[str, Any] | None:
    file, _, number = line.rpartition(":")
    if not number.isdecimal():
        return None
    uri = Path(file).as_uri() if file.startswith("/") else quote(file)
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": int(number)}}}
