"""The common parts of the collective calls on files: collecting values of all members, and failing together."""

from collections.abc import Callable, Generator, Iterable, Sequence
from types import TracebackType

import numpy as np

from ...operation import Operation
from ..collectives import allgather
from ..collectives.calls import launch
from ..collectives.link import Link
from ..collectives.parts import Part
from ..collectives.schedule import Steps
from ..collectives.tags import FILES, next_tag
from ..communicator import Communicator
from ..constants import IN_PLACE
from ..datatypes import BYTE
from ..errors import ErrorClass, MpiError
from ..memory import address_of, zeros
from .disk import FileError

_WORD = np.dtype(np.int64)

Rows = list[list[int]]
Hearing = Generator[Iterable[Operation], None, Rows]


def everyones(link: Link, values: Sequence[int]) -> Hearing:
    """The values of each member, by rank."""
    table = zeros((link.size, len(values)), _WORD)
    table[link.rank] = values
    address, size = address_of(table), _WORD.itemsize * len(values)
    yield from allgather.describe(link, Part(IN_PLACE, 0, BYTE), Part(address, size, BYTE))
    rows: Rows = table.tolist()
    return rows


def hear(comm: Communicator, call: str, values: Sequence[int]) -> Rows:
    """The same as a blocking call."""
    link = Link(comm, call, next_tag(comm, FILES, background=False))
    heard: list[Rows] = []

    def steps() -> Steps:
        heard.append((yield from everyones(link, values)))

    launch(link, steps()).wait()
    return heard[0]


def same_everywhere(comm: Communicator, call: str, values: dict[str, int]) -> None:
    """All members passed the same arguments, given by name."""
    rows = hear(comm, call, list(values.values()))
    for (name, value), column in zip(values.items(), zip(*rows, strict=True), strict=True):
        if len(set(column)) > 1:
            raise MpiError(
                ErrorClass.NOT_SAME,
                f"{call}: {name} is {value} here; it must be the same on all processes, and there are "
                f"{', '.join(map(str, sorted(set(column))))}",
            )


class Trouble:
    """Keeps the first error of this process's system calls until all processes have met: `with
    trouble: ...`."""

    def __init__(self) -> None:
        self.error: FileError | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        if not isinstance(error, FileError):
            return False
        self.error = self.error or error
        return True

    @property
    def number(self) -> int:
        """The number that the others receive: 0, or that of the error."""
        return 0 if self.error is None else self.error.number

    def settle(self, call: str, filename: str, numbers: Iterable[int]) -> None:
        """Raise the own error, or that of the first process that has one; `numbers` are what each
        said."""
        if self.error is not None:
            raise self.error
        number = next(filter(None, numbers), 0)
        if number:
            raise FileError(call, filename, number)


def together(comm: Communicator, call: str, filename: str, work: Callable[[], None] | None) -> None:
    """Each member does its `work`, if it has any. If one fails, all do."""
    trouble = Trouble()
    with trouble:
        if work is not None:
            work()
    trouble.settle(call, filename, (row[0] for row in hear(comm, call, [trouble.number])))
