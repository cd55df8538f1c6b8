"""The way of messages between the parts of a simulation."""

import ctypes
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cache
from typing import Any, NoReturn

from lanai_host.c_module import enums, load
from lanai_host.errors import UserError

from ..engines.cut import Links

# The native code of the links between parts on one machine, mailboxes.c.

ROOM = 1 << 20  # bytes of a message: more than the flits of a round on all cables of a cut


class Failure(IntEnum):
    """The reason for which a round failed."""

    HAS_LEFT = 1
    CHECK_FAILED = 2
    TOO_LONG = 3


DECLARED = """
struct mailbox;
struct mailboxes {
    struct mailbox **boxes;
    uint32_t (*check)(void);
    uint32_t number, count;
    uint64_t sent, waited_ns, detail;
    uint32_t failure;
};
uint64_t mailbox_size(void);
void mailbox_begin(struct mailbox *box);
uint32_t mailboxes_exchange(void *links, const uint8_t *bytes, uint64_t size, const uint8_t **others);
uint64_t mailboxes_size(struct mailboxes *all, uint32_t number);
void mailboxes_leave(struct mailboxes *all);
typedef uint32_t (*exchange)(void *links, const uint8_t *bytes, uint64_t size, const uint8_t **others);
uint64_t exchange_often(exchange function, void *links, const uint8_t *bytes, uint64_t size, const uint8_t **others,
                        uint64_t rounds);
"""


def header(room: int = ROOM) -> str:
    """Return what the code takes from Python."""
    return f"{enums(Failure)}#define MAILBOX_ROOM {room}\n"


@cache
def native() -> Any:
    """Return the module with the code, compiled."""
    return load(__package__, "mailboxes", DECLARED, header=header())


EXCHANGE = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)


class Ended(Exception):
    """Another part has ended its part of the run. It says why."""


class PartLinks(Links):
    """Messages to all other parts, and a check while they are waited for.

    Attributes:
        check: called while others are waited for. It may raise to end the run.
    """

    def __init__(self) -> None:
        self.check: Callable[[], None] = lambda: None
        self._error: BaseException | None = None

    @property
    @abstractmethod
    def waited(self) -> float:
        """Seconds spent in waiting for others."""

    @abstractmethod
    def leave(self) -> None:
        """Tell the others that no more comes from here. In place of the next message they get `Ended`."""

    @abstractmethod
    def sizes(self) -> Sequence[int]:
        """Return the size of what each other part sent in the last round."""

    def fail(self) -> NoReturn:
        error, self._error = self._error, None
        raise error or KeyboardInterrupt  # a signal has come before the check could keep its exception

    def swap(self, message: bytes, rounds: int = 1) -> list[bytes]:
        """Send a message to all others, in so many rounds. Return what they sent in the last, in order of their
        numbers."""
        code = native()
        others = code.ffi.new("uint8_t *[]", [code.ffi.cast("uint8_t *", at) for at in self.others])
        exchange = code.ffi.cast("exchange", self.exchange)
        argument = code.ffi.cast("void *", self.argument)
        if code.lib.exchange_often(exchange, argument, message, len(message), others, rounds) < rounds:
            self.fail()
        return [bytes(code.ffi.buffer(at, size)) for at, size in zip(others, self.sizes(), strict=True)]


# Links between parts on any machines: messages of MPI.

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


# Links between parts on one machine: memory that they share, and native code without Python.


def apart(world: Any, mpi: Any) -> bool:
    """Return True if the processes are on several machines."""
    here = world.Split_type(mpi.COMM_TYPE_SHARED)
    found = here.size < world.size
    here.Free()
    return bool(world.allreduce(found, mpi.LOR))


class Mailboxes(PartLinks):
    """A box of each part, in a window of MPI that all parts share."""

    def __init__(self, world: Any, mpi: Any) -> None:
        super().__init__()
        native_ = native()
        self._lib, self._ffi = native_.lib, native_.ffi
        info = mpi.Info.Create()
        info["alloc_shared_noncontig"] = "true"  # each box is aligned to pages
        self._window = mpi.Win.Allocate_shared(self._lib.mailbox_size(), 1, info, world)
        info.Free()
        addresses = [self._window.Shared_query(part)[0].address for part in range(world.size)]
        self._boxes = self._ffi.new("struct mailbox *[]", [self._ffi.cast("struct mailbox *", at) for at in addresses])
        self._lib.mailbox_begin(self._boxes[world.rank])
        self._check = ctypes.CFUNCTYPE(ctypes.c_uint32)(self._checked)  # kept: native code calls it
        all_ = self._all = self._ffi.new("struct mailboxes *")
        all_.boxes, all_.number, all_.count = self._boxes, world.rank, world.size
        all_.check = self._ffi.cast("uint32_t (*)(void)", ctypes.cast(self._check, ctypes.c_void_p).value)
        address = self._ffi.addressof(self._lib, "mailboxes_exchange")
        self.exchange = int(self._ffi.cast("uintptr_t", address))
        self.argument = int(self._ffi.cast("uintptr_t", all_))
        self.others = [0] * (world.size - 1)
        world.Barrier()  # all boxes have begun

    @property
    def waited(self) -> float:
        return float(self._all.waited_ns) / 1e9

    def sizes(self) -> Sequence[int]:
        numbers = [part for part in range(self._all.count) if part != self._all.number]
        return [self._lib.mailboxes_size(self._all, part) for part in numbers]

    def leave(self) -> None:
        self._lib.mailboxes_leave(self._all)

    def fail(self) -> NoReturn:
        if self._all.failure == Failure.HAS_LEFT:
            raise ended(self._all.detail)
        if self._all.failure == Failure.TOO_LONG:
            raise too_long(self._all.detail)
        super().fail()

    def _checked(self) -> int:
        try:
            self.check()
        except BaseException as error:
            self._error = error
            return 1
        return 0
