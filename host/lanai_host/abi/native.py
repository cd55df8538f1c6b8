"""MPI_Put and flushes without Python, where the device has that (`Writes.native`).

Python does such a call first. If nothing but the device's work is left to be done for the next ones
like it, the front then asks native code before Python. Native code keeps the rank's time until it
comes to something that it cannot do, or the program calls any other function: then the front calls
`leave`, and all is as if Python had done the calls.
"""

import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any

from ..mpi.constants import ThreadLevel
from ..mpi.windows import Window, access
from ..mpi.windows.written import Written, bare_target
from ..mpi.world import World
from ..remote import NativePuts
from .context import abi

MOST_SKIPPED = 62  # chances to enter that are not taken in a row; even, as programs repeat pairs of calls
MOST_RANKS = 64  # of a window all of whose ranks are looked at, for flushes of all


def _single_threaded() -> ctypes.c_bool | None:
    """Whether this process has one thread, as the C library keeps it; None if it does not."""
    try:
        return ctypes.c_bool.in_dll(ctypes.CDLL(None), "__libc_single_threaded")
    except ValueError:
        return None


class Native:
    """`table` is the address of the front's table, which begins with a pointer to the functions of
    native code, NULL while Python has the device."""

    def __init__(self) -> None:
        self.puts: NativePuts | None = None
        self._pointer = ctypes.c_void_p()
        self._functions: Any = None
        self._leave = 0
        self._single: ctypes.c_bool | None = None  # None: the program has asked for one thread
        self._inside = False
        self._before = 0  # calls by native code before this time inside
        self._skip = self._patience = 0
        self._window: Window | None = None
        self._used: list[int] = []  # its targets, the last first

    def attach(self, table: int, leave: int) -> None:
        """`leave`: the address of the C function that enters `leave`."""
        self._pointer, self._leave = ctypes.c_void_p.from_address(table), leave

    def begin(self, world: World) -> None:
        """MPI_Init, unless all calls are watched."""
        writes = world.process.device.writes
        if writes is None or writes.native is None:
            return
        if world.thread_level > ThreadLevel.SINGLE:
            self._single = _single_threaded()
            if self._single is None:
                return
        self.puts = writes.native

    def enter(self, window: Window, rank: int | None) -> None:
        """Python has done one of the calls, for one target or (None) for all. Do the next ones without
        it, if that is possible, and worth while: not if other calls came next each time."""
        if self._skip:
            self._skip -= 1
            return
        puts = self.puts
        if puts is None or not isinstance(window.way, Written) or self._threads():
            return
        self._use(window, rank, puts.most)
        targets = [target for one in self._used if (target := bare_target(window, one)) is not None]
        ranks = {target.rank for target in targets}
        if not targets or not (rank is None or rank in ranks) or not window.progress.alone():
            return
        whole = window.size <= MOST_RANKS and window.way.still(ranks)
        single = 0 if self._single is None else ctypes.addressof(self._single)
        if puts.enter(abi.wins.handle_of(window), targets, whole, single):
            if self._functions is None:
                self._prepare(puts)
            self._inside, self._before = True, puts.calls
            self._pointer.value = ctypes.addressof(self._functions)

    def _prepare(self, puts: NativePuts) -> None:
        """What is needed once."""
        state, *functions = puts.functions
        self._functions = (ctypes.c_void_p * (2 + len(functions)))(state, self._leave, *functions)
        for handle, datatype in abi.types.items():
            if abi.types.is_predefined(datatype) and datatype.dense and datatype.size == datatype.extent:
                puts.know(handle, datatype.size)
        os.register_at_fork(after_in_child=self.leave)

    def _threads(self) -> bool:
        """Other threads may call MPI."""
        return self._single is not None and not self._single.value

    def _use(self, window: Window, rank: int | None, most: int) -> None:
        """Keep the targets of one window that were used last."""
        if window is not self._window:
            self._window, self._used = window, []
        if rank is not None:
            self._used = [rank, *(one for one in self._used if one != rank)][:most]

    def leave(self) -> None:
        """Something else is to be done."""
        if not self._inside or (self._single is None and threading.get_ident() != abi.world.main_thread):
            return
        assert self.puts is not None
        self._inside = False
        self._pointer.value = None
        self.puts.leave()
        useless = self.puts.calls == self._before and not self.puts.unfinished
        self._patience = min(2 * self._patience + 1, MOST_SKIPPED) if useless else 0
        self._skip = self._patience

    # The calls, as Python does them

    def put(self, win: Window, *arguments: Any) -> None:
        access.put(win, *arguments)
        if self._skip:  # as `enter` does, sooner
            self._skip -= 1
        else:
            self.enter(win, arguments[3])

    def flush(self, call: str, function: Callable[[Window, int], None]) -> Callable[[Window, int], None]:
        """A flush of one target."""

        def flush(win: Window, rank: int) -> None:
            if not self._went_on(call, win, rank):
                function(win, rank)
            self.enter(win, rank)

        return flush

    def flush_all(self, call: str, function: Callable[[Window], None]) -> Callable[[Window], None]:
        """A flush of all targets."""

        def flush_all(win: Window) -> None:
            if not self._went_on(call, win, None):
                function(win)
            self.enter(win, None)

        return flush_all

    def _went_on(self, call: str, window: Window, rank: int | None) -> bool:
        """Native code has begun this flush, which has now ended."""
        if self.puts is None or not self.puts.unfinished:
            return False
        assert isinstance(window.way, Written)
        window.way.go_on(call, rank, self.puts)
        return True


native = Native()
