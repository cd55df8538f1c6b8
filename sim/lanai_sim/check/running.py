"""Runs of a program that are looked at: one as it is, one with synchronous sends. A program that is given as its
source is built first, with checks of loads and stores."""

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from lanai_host.abi.wrappers import WRAPPERS, line
from lanai_host.errors import UserError
from lanai_host.simulator.protocol import ENV_CHECK, ENV_SYNCHRONOUS

from ..job.job import Job
from ..job.launcher import Run
from ..job.output import Output
from ..job.result import Ending, Result
from ..job.warm import WarmServers
from . import outcome, records
from .finding import PythonNames
from .judge import Verdict, judge, python_names

SOURCES = {
    ".c": "mpicc", ".cc": "mpicxx", ".cpp": "mpicxx", ".cxx": "mpicxx", ".f90": "mpifort", ".F90": "mpifort",
}  # fmt: skip


PYTHON = ".py"
_OPENMP = re.compile(r"^\s*(#\s*pragma\s+omp|!\$omp)\b", re.MULTILINE | re.IGNORECASE)


def programs(words: Sequence[str]) -> list[list[str]]:
    """Return the commands that are meant: each word is a program if all are files of sources or of Python, else they
    are one command."""
    if len(words) > 1 and all(Path(word).suffix in (*SOURCES, PYTHON) and Path(word).is_file() for word in words):
        return [[word] for word in words]
    return [list(words)]


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
    for one in map(names.told, outcome.second_run(first, again)):
        (verdict.notes if one.note else verdict.findings).append(one)
        verdict.second = None if again.ending is Ending.DEADLOCK else again
