"""A rank of a replayed run under a debugger: pdb for Python, gdb for other programs, on the user's terminal."""

import os
import shutil
import sys
from collections.abc import Sequence

from lanai_host.errors import UserError

from ..job.data import NO_LIMIT, Program
from ..job.job import Job
from ..job.processes import resolve_program
from ..units import counted

SHELL = "/bin/sh"
ON_TERMINAL = 'terminal=$1; shift; exec "$@" <"$terminal" >"$terminal" 2>&1'
PYTHON_OPTIONS = ("-c", "-")  # what pdb cannot run


def job_with(job: Job, rank: int) -> Job:
    """Return the job with one rank under a debugger. Raises UserError if that cannot be."""
    if not 0 <= rank < job.ranks:
        raise UserError(f"--debug {rank}: the schedule has {counted(job.ranks, 'rank')}, from 0 to {job.ranks - 1}")
    words = tuple(job.program)
    under = (SHELL, "-c", ON_TERMINAL, SHELL, _terminal(), *debugger(words))
    parts = ((rank, words), (1, under), (job.ranks - rank - 1, words))
    programs = tuple(Program(command, count) for count, command in parts if count)
    return job.but(programs=programs, max_wall=NO_LIMIT, progress=False)


def debugger(command: Sequence[str]) -> list[str]:
    """Return the command that runs another one in its debugger."""
    program = resolve_program(command[0])
    if program == sys.executable:
        if command[1:2] == [] or command[1].startswith(PYTHON_OPTIONS):
            raise UserError("--debug: pdb runs files and modules (-m); put the program into a file")
        return [program, "-m", "pdb", *command[1:]]
    if shutil.which("gdb") is None:
        raise UserError("--debug: gdb, which shows compiled programs, is not in PATH; install it")
    return ["gdb", "-q", "--args", program, *command[1:]]


def _terminal() -> str:
    """Return the name of the terminal on which the user types."""
    for stream in (0, 1, 2):
        try:
            return os.ttyname(stream)
        except OSError:
            continue
    raise UserError("--debug needs a terminal, and this process has none")
