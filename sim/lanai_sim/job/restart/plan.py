"""The user's plan for a run: ranks to kill, and how often to take snapshots.

kill rank2 at=3ms       rank 2's process is killed (SIGKILL) at this simulated time every=2ms               each rank
takes a snapshot of itself this often
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lanai_host.errors import UserError

from ...units import duration, exact_time, format_time

VERB = "kill"
RANK = "rank"


@dataclass(frozen=True)
class Kill:
    """`at` in picoseconds."""

    rank: int
    at: int

    def __str__(self) -> str:
        return f"{VERB} {RANK}{self.rank} at {format_time(self.at)}"

    @property
    def text(self) -> str:
        """The kill as `parse_kill` reads it."""
        return f"{VERB} {RANK}{self.rank} at={exact_time(self.at)}"


@dataclass(frozen=True)
class Checkpoint:
    """`every`: picoseconds from one snapshot of a rank to its next."""

    every: int

    @property
    def text(self) -> str:
        """Return the plan as `parse_checkpoint` reads it."""
        return f"every={exact_time(self.every)}"

    def first(self, started: int, rank: int, ranks: int) -> int:
        """Return when a rank's first snapshot after that of its start is due. No two ranks' are due
        together, as none asks the others."""
        return started + self.every * (rank + 1) // ranks


def is_kill(text: str) -> bool:
    """Is this fault one of a rank, not of the fabric?"""
    return text.split()[:1] == [VERB]


def parse_kill(text: str) -> Kill:
    """Return the kill that a text of the command line asks for. Raises UserError."""
    words = text.split()
    number = words[1].removeprefix(RANK) if len(words) == 3 and words[1].startswith(RANK) else ""
    key, _, time = words[-1].partition("=")
    if not number.isdecimal() or key != "at":
        raise UserError(f"fault {text!r} is not understood; write, for example: kill rank2 at=3ms")
    try:
        return Kill(int(number), duration(time))
    except UserError as error:
        raise UserError(f"fault {text!r}: {error}") from error


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the plan that a text of the command line asks for. Raises UserError."""
    key, _, time = text.partition("=")
    if key != "every":
        raise UserError(f"checkpoint {text!r} is not understood; write, for example: every=2ms")
    try:
        every = duration(time)
    except UserError as error:
        raise UserError(f"checkpoint {text!r}: {error}") from error
    if not every:
        raise UserError(f"checkpoint {text!r} leaves no time between two snapshots; write, for example: every=2ms")
    return Checkpoint(every)


def check_kills(kills: Sequence[Kill], ranks: int, limit: int) -> None:
    """Raise UserError for one that cannot be."""
    for kill in kills:
        if kill.rank >= ranks:
            raise UserError(f"fault '{kill}': there are ranks 0 to {ranks - 1}")
        if kill.at > limit:
            raise UserError(f"fault '{kill}': the run ends at {format_time(limit)}, as --max-sim-time says")
