"""Runs of a program that are looked at: one as it is, one with synchronous sends. A program that is given as its
source is built first, with checks of loads and stores."""

import contextlib
import dataclasses
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from lanai_host.abi.wrappers import WRAPPERS, line
from lanai_host.errors import UserError
from lanai_host.simulator.protocol import ENV_CHECK, ENV_SYNCHRONOUS

from ..job.job import Job
from ..job.result import Result
from . import outcome, records
from .finding import Finding, Kind
from .judge import Verdict, judge

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
        result = _with(job, {ENV_CHECK: directory}).run()
        verdict = judge(records.read(Path(directory)), result)
        sends = any(
            record.get("mode") in ("s", "x") for rank in records.read(Path(directory)) for record in rank.of("send")
        )
    if buffering and sends and result.code == 0:
        again = _with(job.but(progress=False), {ENV_SYNCHRONOUS: "1"}).run()
        verdict.findings += [_on_buffers(one) for one in outcome.deadlock(again)]
    return verdict, result


def _with(job: Job, variables: dict[str, str]) -> Job:
    return job.but(environment={**job.environment, **variables})


def _on_buffers(found: Finding) -> Finding:
    text = "the run goes on only if the library copies messages; if sends wait for their receives: " + found.text
    hint = "use MPI_Sendrecv or MPI_Isend, or order sends and receives"
    return dataclasses.replace(found, kind=Kind.BUFFERING, text=text, hint=hint)
