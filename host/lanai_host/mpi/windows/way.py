"""The ways in which a window reaches its targets: by messages (`messages`), or by a device's own remote memory.
Chosen when the window is made.

Nothing here blocks but through the `Waitable` that is returned, and nothing checks arguments or
epochs.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import NamedTuple

from ...body import Body
from ...operation import Operation
from ...wait import Wait
from ..constants import LockType
from ..datatypes import Datatype
from ..errors import MpiError
from ..op import Op
from .wire import BYTES, EPOCHS


class Buffer(NamedTuple):
    """Memory of the origin's."""

    address: int
    elements: int
    datatype: Datatype

    @property
    def size(self) -> int:
        """Bytes of data."""
        return self.elements * self.datatype.size

    def body(self) -> Body:
        return self.datatype.body(self.address, self.elements)


class Place(NamedTuple):
    """Memory of a target's: its rank, bytes from the beginning of what it exposes, elements.
    `basic` is the number of the predefined datatype that they consist of, where elements are
    combined."""

    rank: int
    offset: int
    elements: int
    datatype: Datatype
    basic: int = BYTES

    @property
    def size(self) -> int:
        return self.elements * self.datatype.size


class Pending:
    """Something that other processes, or this process's device, have yet to do: a `Waitable`. Done
    if there is nothing."""

    def __init__(self, why: Wait, operations: Iterable[Operation] = ()) -> None:
        self._why = why
        self._operations = [operation for operation in operations if not operation.done]

    def why(self) -> Wait:
        return self._why

    @property
    def done(self) -> bool:
        remaining = self._operations
        while remaining and remaining[-1].done:
            remaining.pop()
        return not remaining

    def operations(self) -> list[Operation]:
        return [operation for operation in self._operations if not operation.done]


class Transfer(Pending):
    """One operation of the program's: done when its local buffers are the program's again, and what
    it fetches is there."""

    def error(self, call: str) -> MpiError | None:
        """Return why it failed, once it is done."""
        return None


class Way(ABC):
    """Ranks are those of the window's communicator. `call` is the MPI function that reports name,
    `name` what they call the window."""

    name: str
    epoch = 0  # fences passed, of wire.EPOCHS

    def rename(self, name: str) -> None:
        """The program has named the window."""
        self.name = name

    @abstractmethod
    def put(self, call: str, origin: Buffer, target: Place) -> Transfer: ...

    @abstractmethod
    def get(self, call: str, origin: Buffer, target: Place) -> Transfer: ...

    @abstractmethod
    def accumulate(self, call: str, origin: Buffer, target: Place, op: Op) -> Transfer: ...

    @abstractmethod
    def get_accumulate(self, call: str, origin: Buffer, result: Buffer, target: Place, op: Op) -> Transfer: ...

    @abstractmethod
    def compare_and_swap(self, call: str, origin: Buffer, compare: Buffer, result: Buffer, target: Place) -> Transfer:
        """One element each."""

    @abstractmethod
    def flush_local(self, call: str, ranks: Iterable[int]) -> None:
        """Block until what was started to these targets is done locally. Raises the first error."""

    @abstractmethod
    def flush(self, call: str, ranks: Iterable[int], fence: bool = False) -> None:
        """Block until it is done at the targets too. Raises the first error. `fence`: all processes
        do, and then meet."""

    @abstractmethod
    def lock(self, call: str, rank: int, kind: LockType) -> None:
        """Block until a lock is granted."""

    @abstractmethod
    def unlock(self, call: str, ranks: Iterable[int]) -> None:
        """Complete all operations as `flush` does, and give locks back."""

    def pass_fence(self) -> None:
        """All ranks have come to the fence."""
        self.epoch = (self.epoch + 1) % EPOCHS

    @abstractmethod
    def post(self, ranks: Iterable[int]) -> None:
        """Tell these origins that the exposure epoch is open."""

    @abstractmethod
    def await_post(self, call: str, rank: int) -> None:
        """Block until the target's exposure epoch that matches the access epoch is open."""

    @abstractmethod
    def complete(self, call: str, ranks: Iterable[int]) -> None:
        """End an access epoch: as `flush_local`, and each target learns of it after all that was
        done to it."""

    @abstractmethod
    def exposed(self, call: str, ranks: Iterable[int]) -> Pending:
        """Done when these origins have ended their access epochs."""

    @abstractmethod
    def end_exposure(self, ranks: Iterable[int]) -> None:
        """They have; the next exposure epoch waits for their next end."""

    @abstractmethod
    def confirm(self, call: str) -> None:
        """Block until nothing that this process has sent is on its way any more."""

    @abstractmethod
    def close(self) -> None:
        """The window goes."""
