"""The memory that a program attaches for buffered sends, and which messages occupy it (NP-G8)."""

from ..operation import Operation, Wait
from .constants import BSEND_OVERHEAD
from .errors import ErrorClass, MpiError
from .memory import Scratch
from .progress import Progress


class SendBuffer:
    """Memory of the program's that buffered sends copy into. Each message takes its size plus
    BSEND_OVERHEAD, first fit, and gives it back when the device has sent it. `address` None is
    MPI_BUFFER_AUTOMATIC: memory of the library's own."""

    def __init__(self, address: int | None, size: int, progress: Progress) -> None:
        self.address = address
        self.size = size
        self._progress = progress
        self._used: list[tuple[int, int, Operation]] = []  # (offset, bytes, send), by offset

    def place(self, call: str, size: int) -> tuple[int, int, object]:
        """Room for a message of `size` bytes: its offset, its address, and what keeps the memory
        alive."""
        self._reclaim()
        if self.address is None:
            scratch = Scratch(size)
            return 0, scratch.address, scratch
        offset = self._find(size + BSEND_OVERHEAD)
        if offset is None:  # some sends may have ended without anyone having looked
            self._progress.poll()
            self._reclaim()
            offset = self._find(size + BSEND_OVERHEAD)
        if offset is None:
            raise MpiError(
                ErrorClass.BUFFER,
                f"{call}: a message of {size} bytes needs {size + BSEND_OVERHEAD} bytes in one piece of the attached "
                f"buffer, which has {self.size} bytes and holds {len(self._used)} messages",
            )
        return offset, self.address + offset, None

    def occupy(self, offset: int, size: int, operation: Operation) -> None:
        """The message at `offset` stays there until its send is done."""
        self._used.append((offset, size + BSEND_OVERHEAD, operation))
        self._used.sort(key=lambda used: used[0])

    def _reclaim(self) -> None:
        self._used = [used for used in self._used if not used[2].done]

    def _find(self, needed: int) -> int | None:
        free = 0
        for offset, size, _ in self._used:
            if offset - free >= needed:
                return free
            free = offset + size
        return free if self.size - free >= needed else None

    # What flushing waits for.

    @property
    def done(self) -> bool:
        return all(operation.done for _, _, operation in self._used)

    def operations(self) -> list[Operation]:
        return [operation for _, _, operation in self._used if not operation.done]

    def why(self) -> Wait:
        return Wait("MPI_Buffer_flush", note=f"{len(self.operations())} buffered sends not yet taken")

    def flush(self) -> None:
        """Wait until every message has left."""
        self._progress.wait(self)
        self._used.clear()
