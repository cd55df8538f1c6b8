"""A run as a file that can be repeated: the program and the choices of its ranks."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from lanai_firmware import output_file
from lanai_host.errors import UserError
from lanai_host.orders import MATCH, Choice

from ..job.data import NO_LIMIT
from ..job.job import Job
from ..job.result import Result
from ..sources import program_digest
from .records import KINDS, SELDOM, Made

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
        kept = tuple(one.choice for one in made if one.told)
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
        run = tuple(one.choice for one in made if one.told)
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
