"""Links between parts on any machines: messages of MPI."""

import ctypes
import os
import time
from collections.abc import Sequence
from typing import Any

from lanai_host.errors import UserError

from .links import EXCHANGE, Ended, PartLinks
from .native import ROOM

TAG = 1
SPINS = 100  # looks at a message that is not there yet, before the processor is left to others
NAP = 0.0002  # seconds
NAP_AFTER = 0.02  # seconds of waiting


class Messages(PartLinks):
    """Each round is one MPI message to each other part. Native code calls Python for it."""

    def __init__(self, world: Any, mpi: Any) -> None:
        super().__init__()
        self._mpi = mpi
        self._comm = world.Dup()
        self._buffers = {other: bytearray(ROOM) for other in range(world.size) if other != world.rank}
        memory = [ctypes.c_char.from_buffer(buffer) for buffer in self._buffers.values()]
        self.others = [ctypes.addressof(one) for one in memory]
        self._callback = EXCHANGE(self._exchange)  # kept: native code calls it
        self.exchange = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self.argument = 0
        self._sizes = [0] * len(self._buffers)
        self._pending: list[Any] = []
        self._waited = 0.0

    @property
    def waited(self) -> float:
        return self._waited

    def sizes(self) -> Sequence[int]:
        return self._sizes

    def leave(self) -> None:
        for request in self._pending:
            request.Cancel()
            request.Wait()
        self._pending = []
        for request in [self._comm.Isend(bytearray(), other, TAG) for other in self._buffers]:
            request.Wait()

    def _exchange(self, _: int | None, address: int, size: int, __: int | None) -> int:
        """Do a round. The error, which cannot pass native code, is kept for `fail`."""
        try:
            self._swap(self._mpi.memory.fromaddress(address, size))
        except BaseException as error:
            self._error = error
            return 1
        return 0

    def _swap(self, message: Any) -> None:
        if len(message) > ROOM:
            raise too_long(len(message))
        receives = [self._comm.Irecv(buffer, other, TAG) for other, buffer in self._buffers.items()]
        sends = [self._comm.Isend(message, other, TAG) for other in self._buffers]
        self._pending = receives
        began = time.perf_counter()
        statuses = [self._mpi.Status() for _ in receives]
        self._wait([*receives, *sends], began, [*statuses, *(self._mpi.Status() for _ in sends)])
        self._pending = []
        self._waited += time.perf_counter() - began
        self._sizes = [status.Get_count() for status in statuses]
        for other, size in zip(self._buffers, self._sizes, strict=True):
            if not size:
                raise ended(other)

    def _wait(self, requests: list[Any], began: float, statuses: list[Any]) -> None:
        test = self._mpi.Request.Testall
        for _ in range(SPINS):
            if test(requests, statuses):
                return
        while not test(requests, statuses):
            self.check()
            os.sched_yield()
            if time.perf_counter() - began > NAP_AFTER:
                time.sleep(NAP)


def too_long(size: int) -> UserError:
    return UserError(f"{size} bytes of a round on the links between parts are more than {ROOM}")


def ended(part: int) -> Ended:
    return Ended(f"part {part} has ended")
