"""A run as a file that can be repeated, also with a rank under a debugger: the program and the choices of its ranks."""

import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from lanai_firmware import output_file
from lanai_host.errors import UserError
from lanai_host.orders import MATCH, Choice

from ..job import launcher
from ..job.data import NO_LIMIT, Program
from ..job.job import Job
from ..job.processes import resolve_program
from ..job.result import Result
from ..sources import program_digest
from ..units import counted
from .records import KINDS, SELDOM, Made
from .running import DEVICE, OPTIONS, Runner

FORMAT = 1


@dataclass(frozen=True)
class Schedule:
    """The choices of a run of a program, and what came of it. `digest`: of the files that the command names."""

    program: tuple[str, ...]
    digest: str
    ranks: int
    choices: tuple[Choice, ...]
    ending: str = ""
    code: int = 0
    sim_time: int = 0
    max_wall: float | None = None  # seconds that a run may last; None: any

    @classmethod
    def of(cls, job: Job, made: Sequence[Made], result: Result) -> Self:
        """Return the schedule of a run. Most sends, accesses and tests are usual, and left out."""
        kept = tuple(one.choice for one in made if one.scheduled)
        program = tuple(job.program)
        ending, wall = str(result.ending), None if job.max_wall == NO_LIMIT else job.max_wall
        return cls(program, program_digest(program), job.ranks, kept, ending, result.code, result.sim_time, wall)

    @classmethod
    def read(cls, path: str) -> Self:
        """Return what a file holds. Raises UserError."""
        try:
            document = json.loads(Path(path).read_text())
        except OSError as error:
            raise UserError(f"cannot read the schedule {path!r}: {error.strerror}") from error
        except ValueError as error:
            raise UserError(f"{path!r} is not a schedule of `lanai explore`: {error}") from error
        try:
            return cls._of_document(document)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"{path!r} is not a schedule of `lanai explore` of format {FORMAT}: {error}") from error

    @classmethod
    def _of_document(cls, document: dict[str, Any]) -> Self:
        if document.pop("format") != FORMAT:
            raise ValueError("it has another format")
        choices = tuple(Choice(*one) for one in document.pop("choices"))
        for one in choices:
            if one.kind not in KINDS or not all(type(part) is int for part in (one.rank, one.number, one.value)):
                raise ValueError(f"{list(one)} is not a choice")
        program = tuple(map(str, document.pop("program")))
        found = cls(program=program, choices=choices, **document)
        if type(found.ranks) is not int or found.ranks < 1:
            raise ValueError(f"ranks = {found.ranks!r} is not a count")
        if found.max_wall is not None and not (isinstance(found.max_wall, int | float) and found.max_wall > 0):
            raise ValueError(f"max_wall = {found.max_wall!r} is not a number of seconds")
        return found

    def write(self, path: str) -> None:
        """Write the file. Raises UserError."""
        document = {"format": FORMAT, **dataclasses.asdict(self)}
        choices = ",\n    ".join(json.dumps(one) for one in document.pop("choices"))
        head = json.dumps(document, indent=2).removesuffix("\n}")
        text = f'{head},\n  "choices": [\n    {choices}\n  ]\n}}\n'
        output_file.write(path, text, "the schedule")

    def check(self, program: Sequence[str]) -> None:
        """Raise UserError if this is not a schedule of the program."""
        if tuple(program) != self.program:
            raise UserError(
                f"the schedule is one of another program: {' '.join(self.program)}, and not {' '.join(program)}"
            )
        if program_digest(program) != self.digest:
            raise UserError("the program has changed since the schedule was written; run `lanai explore` again")

    def departure(self, made: Sequence[Made]) -> str:
        """Return where a run that was to follow this schedule has not; empty if it did."""
        run = tuple(one.choice for one in made if one.scheduled)
        missed = next((one for one in made if one.missed is not None), None)
        if missed is not None:
            return f"{missed.words()}; the schedule says {missed.missed}"
        for ours, theirs in zip(self.choices, run, strict=False):
            if ours != theirs:
                return f"the schedule says {_brief(ours)}, the program has made {_brief(theirs)}"
        if len(self.choices) != len(run):
            more = self.choices[len(run) :] or run[len(self.choices) :]
            who = "schedule" if len(self.choices) > len(run) else "program"
            return f"only the {who} has {_brief(more[0])}"
        return ""


def _brief(choice: Choice) -> str:
    if choice.kind in SELDOM:
        return f"that {choice.kind} {choice.number + 1} of rank {choice.rank} waits"
    what = "the sender" if choice.kind == MATCH else "the request"
    return f"{what} {choice.value} for {choice.kind} {choice.number + 1} of rank {choice.rank}"


# A schedule run again.


DEPARTED = 11  # exit code of a run that has not followed its schedule


def job_of_schedule(schedule: Schedule, program: Sequence[str], job: Job, given: Sequence[str]) -> Job:
    """Return a job that follows a schedule. `given`: flags that the user has set. Raises UserError."""
    schedule.check(program)
    if "ranks" in given and job.ranks != schedule.ranks:
        raise UserError(f"the schedule is one of {counted(schedule.ranks, 'rank')}, not of {job.ranks}; leave -n out")
    if "device" in given and job.device != DEVICE:
        raise UserError(f"a schedule is repeated on the device {DEVICE}, not on {job.device}; leave --device out")
    if job.max_wall == NO_LIMIT and schedule.max_wall is not None:
        job = job.but(max_wall=float(schedule.max_wall))
    return job.but(program=tuple(program), ranks=schedule.ranks, device=DEVICE, options=OPTIONS)


def replay(schedule: Schedule, job: Job) -> int:
    """Run a job by a schedule, and say whether it has followed. Return the exit code."""
    runner = Runner()
    try:
        outcome = runner.run(job, schedule.choices)
    finally:
        runner.close()
    launcher.print_report(outcome.result)
    sys.stdout.flush()
    if job.programs:  # a debugger may end a rank as it likes
        return outcome.result.code
    departure = schedule.departure(outcome.made)
    if not departure and (str(outcome.result.ending), outcome.result.code) != (schedule.ending, schedule.code):
        departure = f"it has ended by {outcome.result.ending}, and by {schedule.ending} when the schedule was written"
    if departure:
        print(
            f"lanai: the program departs from the schedule: {departure}; so it is not deterministic by itself "
            "(clock, random numbers, threads, files?)",
            file=sys.stderr,
        )
        return DEPARTED
    print(f"lanai: the run has followed the schedule: {counted(len(schedule.choices), 'choice')}", file=sys.stderr)
    return outcome.result.code


# A rank of a replayed run under a debugger: pdb for Python, gdb for other programs, on the user's terminal.


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
