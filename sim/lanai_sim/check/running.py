"""Runs of a program that are looked at: one as it is, one with synchronous sends; and the verdict in words. A program
that is given as its source is built first, with checks of loads and stores."""

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lanai_host.abi.programs import needed
from lanai_host.abi.wrappers import WRAPPERS, line
from lanai_host.errors import UserError
from lanai_host.simulator.protocol import ENV_CHECK, ENV_SYNCHRONOUS

from ..job.forked import WarmServers
from ..job.job import Job
from ..job.launcher import Run
from ..job.output import Output
from ..job.result import Ending, Result
from ..units import counted
from ..version import version
from . import outcome, records
from .finding import Finding, Kind, PythonNames
from .judge import Verdict, judge, python_names

SOURCES = {
    ".c": "mpicc", ".cc": "mpicxx", ".cpp": "mpicxx", ".cxx": "mpicxx", ".f90": "mpifort", ".F90": "mpifort",
}  # fmt: skip


PYTHON = ".py"
_OPENMP = re.compile(r"^\s*(#\s*pragma\s+omp|!\$omp)\b", re.MULTILINE | re.IGNORECASE)


def programs(words: Sequence[str]) -> list[list[str]]:
    """Return the commands that are meant: each word is a program if all are sources, files of Python or executables
    that were linked with MPI, else they are one command."""
    if len(words) > 1 and all(map(_is_program, words)):
        return [[word] for word in words]
    return [list(words)]


def _is_program(word: str) -> bool:
    path = Path(word)
    if path.suffix in (*SOURCES, PYTHON):
        return path.is_file()
    # Else it would be looked for on PATH. A script that starts its argument is linked with nothing.
    return "/" in word and os.access(path, os.X_OK) and any(name.startswith("libmpi") for name in needed(path))


@contextlib.contextmanager
def built(command: Sequence[str], flags: Sequence[str] = ()) -> Iterator[list[str]]:
    """Give the command with the program of its source, if its first word is one. The program ends with the
    context. `flags`: of the compiler."""
    file = Path(command[0])
    wrapper = SOURCES.get(file.suffix)
    if wrapper is None:
        script = file.suffix == PYTHON and file.is_file() and not os.access(file, os.X_OK)
        yield ["python"] * script + list(command)
        return
    with tempfile.TemporaryDirectory(prefix="lanai-check-") as directory:
        program = Path(directory, file.stem)
        compile_ = line(WRAPPERS[wrapper], [command[0], "-o", str(program), *flags], checked=True).command
        if subprocess.run(compile_, check=False).returncode:
            raise UserError(
                f"{command[0]} could not be compiled; give its flags as --cflags, or build it with "
                f"`lanai {wrapper} --check`"
            )
        yield [str(program), *command[1:]]


def ignored(command: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Return what the compiler has ignored in a source, in sentences."""
    source = Path(command[0])
    if source.suffix not in SOURCES or "-fopenmp" in flags or not _OPENMP.search(source.read_text(errors="replace")):
        return []
    return [f"threads of OpenMP: {source} was compiled without --cflags=-fopenmp"]


def imports_of(commands: Sequence[Sequence[str]]) -> list[str]:
    """Return the modules that are imported once for all programs."""
    scripts = [Path(word) for command in commands for word in command if word.endswith(PYTHON) and Path(word).is_file()]
    return ["numpy"] if any(re.search(r"\bnumpy\b", script.read_text(errors="replace")) for script in scripts) else []


def check(job: Job, *, buffering: bool = True, servers: WarmServers | None = None) -> tuple[Verdict, Result]:
    """Run a program, judge it, and say how it ended. What it prints is shown, unless the job captures it.
    `buffering`: run it once more with synchronous sends, if it has ended well. `servers`: what forks the ranks of
    Python."""
    with tempfile.TemporaryDirectory(prefix="lanai-check-") as directory:
        result = _run(job, {ENV_CHECK: directory}, servers, show=not job.capture)
        ranks = records.read(Path(directory))
    verdict = judge(ranks, result)
    sends = any(record.get("mode") in ("s", "x") for rank in ranks for record in rank.of("send"))
    if buffering and sends and result.code == 0:
        again = _run(job.but(progress=False), {ENV_SYNCHRONOUS: "1"}, servers, show=False)
        _judge_second(verdict, result, again, python_names(ranks))
    return verdict, result


def _run(job: Job, variables: dict[str, str], servers: WarmServers | None, *, show: bool) -> Result:
    job = job.but(environment={**job.environment, **variables})
    return Run(job, output=Output(job.prefix, capture=True, show=show), servers=servers).execute()


def _judge_second(verdict: Verdict, first: Result, again: Result, names: PythonNames) -> None:
    if again.ending in (Ending.WALL_LIMIT, Ending.INTERRUPTED):
        verdict.unseen.append(f"sends that wait for their receives: {again.report.partition(chr(10))[0]}")
        return
    verdict.waits = "ended well" if not again.code else "deadlocks" if again.ending is Ending.DEADLOCK else "fails"
    for one in map(names.replaced, outcome.second_run(first, again)):
        (verdict.notes if one.note else verdict.findings).append(one)
        verdict.second = None if again.ending is Ending.DEADLOCK else again


# A verdict in plain sentences, and its findings as SARIF 2.1.0, which code hosts and editors show beside the lines.


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
        for text in (*output.stdout.splitlines(), *output.stderr.splitlines()):
            yield f"[{rank}] {text}"


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
