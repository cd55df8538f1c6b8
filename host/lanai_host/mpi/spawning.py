"""Starting processes: MPI_Comm_spawn and what a started process does in its MPI_Init.

The process manager starts them and tells the root how many; the two groups then become connected as at a port.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import NamedTuple

from ..process_manager import Command, Manager, Question
from .collectives.link import Link
from .communicator import Communicator
from .connecting import Connected, Finding, NotConnected, Other, ask, at_once, connect_groups
from .errors import ErrorClass, MpiError
from .info import Info

_TAG = 1 << 30  # of what parents and children tell each other, beyond the tags of ports
_TRIPLET = re.compile(r"(\d+)(?::(\d+)(?::(\d+))?)?")


class Program(NamedTuple):
    """A program to start, with its arguments, its number of processes and its hints."""

    command: str
    arguments: Sequence[str]
    most: int  # processes: maxprocs
    info: Info | None


class Spawner:
    """Starts processes for one process. `everyone` has all processes of the run."""

    def __init__(self, everyone: Communicator, manager: Manager) -> None:
        self._everyone = everyone
        self._manager = manager

    def spawn(self, comm: Communicator, call: str, root: int, programs: Callable[[], Sequence[Program]]) -> Connected:
        """MPI_Comm_spawn, MPI_Comm_spawn_multiple. `programs()` is asked at the root. The codes are
        those of each process that was asked for, program by program. Raises `NotConnected` if the
        processes could not be started."""

        def begin(link: Link) -> Finding:
            return self._start(call, list(programs()))

        return connect_groups(comm, self._everyone, call, root, begin)

    def _start(self, call: str, programs: Sequence[Program]) -> Finding:
        commands = [_command(call, program) for program in programs]
        asked = [program.most for program in programs]
        try:
            first, started = ask(self._manager, self._everyone, call, Question.SPAWN, [asdict(one) for one in commands])
        except MpiError as error:
            raise NotConnected(error, [int(error.error_class)] * sum(asked)) from None
        codes: list[int] = []
        for most, count in zip(asked, started, strict=True):
            codes += [int(ErrorClass.SUCCESS)] * count + [int(ErrorClass.SPAWN)] * (most - count)
        return at_once(Other(first, _TAG, codes))

    def meet_parent(self, comm: Communicator, parent: int) -> Communicator:
        """The other half, in MPI_Init of those that were started: `comm` is their MPI_COMM_WORLD."""
        return connect_groups(
            comm, self._everyone, "MPI_Init", 0, lambda link: at_once(Other(parent, _TAG))
        ).communicator


def _command(call: str, program: Program) -> Command:
    if program.most < 1:
        raise MpiError(ErrorClass.ARG, f"{call}: maxprocs is {program.most}; it must be at least 1")
    if not program.command:
        raise MpiError(ErrorClass.ARG, f"{call}: command is empty; name a program")
    info = dict(program.info.pairs()) if program.info is not None else {}
    return Command(
        program.command,
        tuple(program.arguments),
        _counts(call, program.most, info.get("soft")),
        info.get("wdir", ""),
        info.get("path", ""),
    )


def _counts(call: str, most: int, soft: str | None) -> tuple[int, ...]:
    """Return the numbers of processes that will do, the most first. `soft` has numbers and ranges first:last:step,
    with commas between them."""
    if soft is None:
        return (most,)
    allowed: set[int] = set()
    for part in soft.split(","):
        found = _TRIPLET.fullmatch(part.strip())
        step = 0 if found is None else int(found[3] or 1)
        if found is None or step == 0:
            raise MpiError(
                ErrorClass.INFO_VALUE,
                f"{call}: soft is {soft!r}; write numbers, first:last or first:last:step, with commas between them",
            )
        allowed |= set(range(int(found[1]), int(found[2] or found[1]) + 1, step))
    counts = tuple(sorted((count for count in allowed if 0 < count <= most), reverse=True))
    if not counts:
        raise MpiError(ErrorClass.SPAWN, f"{call}: soft is {soft!r}, which has no count from 1 to maxprocs, {most}")
    return counts
