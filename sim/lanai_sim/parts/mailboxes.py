"""Links between parts on one machine: memory that they share, and native code without Python."""

import ctypes
from collections.abc import Sequence
from typing import Any, NoReturn

from .links import PartLinks
from .messages import ended, too_long
from .native import Failure, native


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
