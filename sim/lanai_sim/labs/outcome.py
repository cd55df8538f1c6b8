"""The outcomes of cases, which the process that runs a student's work tells the one that grades it."""

import json
from dataclasses import asdict, dataclass


class Wrong(Exception):
    """The student's work fails a case. The text says how, in the words of the lab."""


class TooLong(BaseException):
    """A case has taken its real time. It is raised within whatever the student's work does."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of case `number`, or of loading the work if that is -1. `wrong` is empty if it passed."""

    number: int
    cycles: int = 0
    wrong: str = ""
    over: bool = False  # no further case is run

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> "Outcome":
        return cls(**json.loads(line))
