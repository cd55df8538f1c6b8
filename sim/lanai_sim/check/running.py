"""Runs of a program that are looked at: one as it is, one with synchronous sends. A program that is given as its
source is built first, with checks of loads and stores."""

import contextlib
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
from . import outcome, records
from .finding import PythonNames
from .judge import Verdict, judge, python_names

SOURCES = {
    ".c": "mpicc", ".cc": "mpicxx", ".cpp": "mpicxx", ".cxx": "mpicxx", ".f90": "mpifort", ".F90": "mpifort",
}  # fmt: skip


@contextlib.contextmanager
def built(command: Sequence[str]) -> Iterator[list[str]]:
    """Give the command with the program of its source, if its first word is one. The program ends with the
    context."""
    wrapper = SOURCES.get(Path(command[0]).suffix)
    if wrapper is None:
        yield list(command)
        return
    with tempfile.TemporaryDirectory(prefix="lanai-check-") as directory:
        program = Path(directory, Path(command[0]).stem)
        compile_ = line(WRAPPERS[wrapper], [command[0], "-o", str(program)], checked=True).command
        if subprocess.run(compile_, check=False).returncode:
            raise UserError(
                f"{command[0]} could not be compiled; build it with `lanai {wrapper} --check` and its flags"
            )
        yield [str(program), *command[1:]]


def check(job: Job, *, buffering: bool = True) -> tuple[Verdict, Result]:
    """Run a program, judge it, and say how it ended. `buffering`: run it once more with synchronous sends, if
    it has ended well."""
    with tempfile.TemporaryDirectory(prefix="lanai-check-") as directory:
        result = _run(job, {ENV_CHECK: directory}, show=True)
        ranks = records.read(Path(directory))
    verdict = judge(ranks, result)
    sends = any(record.get("mode") in ("s", "x") for rank in ranks for record in rank.of("send"))
    if buffering and sends and result.code == 0:
        again = _run(job.but(progress=False), {ENV_SYNCHRONOUS: "1"}, show=False)
        _judge_second(verdict, result, again, python_names(ranks))
    return verdict, result


def _run(job: Job, variables: dict[str, str], *, show: bool) -> Result:
    job = job.but(environment={**job.environment, **variables})
    return Run(job, output=Output(job.prefix, capture=True, show=show)).execute()


def _judge_second(verdict: Verdict, first: Result, again: Result, names: PythonNames) -> None:
    if again.ending in (Ending.WALL_LIMIT, Ending.INTERRUPTED):
        verdict.unseen.append(f"sends that wait for their receives: {again.report.partition(chr(10))[0]}")
        return
    for one in map(names.told, outcome.second_run(first, again)):
        (verdict.notes if one.note else verdict.findings).append(one)
        verdict.second = None if again.ending is Ending.DEADLOCK else again
