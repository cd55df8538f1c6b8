"""The place where independent runs are executed, as the command line says it."""

import argparse
import math
from dataclasses import dataclass
from typing import Self

from lanai_host.errors import UserError
from lanai_host.simulator.spin import processors

LOCAL, MPI = "local", "mpi"
FORMS = f"{LOCAL}, {MPI}, or MODULE:CALLABLE"
NO_LIMIT = math.inf  # seconds


@dataclass(frozen=True)
class Place:
    """The place where runs are executed, and how many at a time.

    Attributes:
        on: "local", "mpi", or "MODULE:CALLABLE".
        jobs: runs at a time; 0: one a core of this machine, or as many as the others have workers.
        limit: seconds of real time that one run may take.
        journal: the file that keeps what has ended, for messages; empty: there is none.
    """

    on: str = LOCAL
    jobs: int = 0
    limit: float = NO_LIMIT
    journal: str = ""

    def __post_init__(self) -> None:
        if self.jobs < 0:
            raise UserError(f"--jobs must be at least 1 (0: one a core), got {self.jobs}")
        if not self.limit > 0:
            raise UserError(f"--limit must be a positive number of seconds, got {self.limit:g}")
        if self.on not in (LOCAL, MPI) and not all(self.on.partition(":")):
            raise UserError(f"--on {self.on!r} is not understood; write {FORMS}")

    @classmethod
    def of(cls, args: argparse.Namespace, journal: str = "") -> Self:
        """Return what the flags of `add_arguments` say."""
        return cls(args.on, args.jobs, getattr(args, "limit", NO_LIMIT), journal)

    def here(self, count: int) -> bool:
        """Return whether so many runs are executed in this process."""
        return self.on == LOCAL and (self.count == 1 or count == 1)

    @property
    def count(self) -> int:
        """Runs at a time on this machine."""
        return self.jobs or processors()


def add_arguments(parser: argparse.ArgumentParser, what: str, limit: bool = True) -> None:
    """Add the flags. `what`: the word for one run, such as "points". `limit`: a run has one."""
    add = parser.add_argument_group("where it runs").add_argument
    add("--on", default=LOCAL, metavar="WHERE", help=f"{FORMS}, a function that returns an executor (default: {LOCAL})")
    add("--jobs", type=int, default=0, metavar="N", help=f"number of {what} at a time (default: one a core)")
    if limit:
        add("--limit", type=float, default=NO_LIMIT, metavar="SECONDS", help=f"end {what} that take longer than this")
