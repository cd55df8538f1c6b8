"""One MPI call as the recorder sees it: arguments by their C names, handles as objects."""

from typing import Any

from ...mpi.communicator import Communicator
from ...mpi.constants import BOTTOM, IN_PLACE
from ...mpi.datatypes import Datatype
from ...mpi.windows import Window
from ..context import abi
from .regions import Regions, regions_of


class Call:
    """`number` counts the rank's calls; `place` is where the program makes this one."""

    def __init__(self, number: int, name: str, place: str, names: list[str], arguments: list[Any]) -> None:
        self.number = number
        self.name = name
        self.place = place
        self.arguments = arguments
        self.index = {name: index for index, name in enumerate(names)}

    def raw(self, name: str) -> Any:
        return self.arguments[self.index[name]]

    def has(self, name: str) -> bool:
        return name in self.index

    def number_of(self, name: str) -> Any:
        """Return an argument as the library numbers it."""
        value = self.raw(name)
        numbers = abi.numbers.of(self.name, name) if abi.numbers else None
        return value if numbers is None else numbers.inward(value)

    def comm(self, name: str = "comm") -> Communicator:
        found: Communicator = abi.comms[self.raw(name)]
        return found

    def window(self) -> Window:
        found: Window = abi.wins[self.raw("win")]
        return found

    def datatype(self, name: str) -> Datatype:
        found: Datatype = abi.types[self.raw(name)]
        return found

    def in_place(self, name: str) -> bool:
        return bool(self.number_of(name) == IN_PLACE)

    def regions(self, address: str, count: str, datatype: str) -> Regions:
        """Return where the elements of a buffer lie."""
        at = self.number_of(address)
        return regions_of(self.datatype(datatype), 0 if at == BOTTOM else at, self.raw(count))

    def blocks(self, address: str, counts: list[int], displacements: list[int], types: list[Datatype]) -> Regions:
        """Return where the blocks of a call with a count for each rank lie; displacements in bytes."""
        at = self.number_of(address)
        found: list[tuple[int, int]] = []
        for count, displacement, datatype in zip(counts, displacements, types, strict=True):
            found += regions_of(datatype, at + displacement, count)
        return tuple(found)

    def ints(self, name: str, count: int) -> list[int]:
        return abi.ints(self.raw(name), count)
