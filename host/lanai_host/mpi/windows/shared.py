"""Memory that the ranks of one node share: one file in memory, mapped by all of them."""

import ctypes
import mmap
import os
from typing import NamedTuple

import numpy as np

from ...errors import UserError
from ...process_memory import memory_file
from ..collectives import barrier, bcast
from ..collectives.calls import run_for
from ..communicator import Communicator
from ..datatypes import BYTE
from ..errors import ErrorClass, MpiError
from ..memory import Scratch

PAGE = mmap.PAGESIZE


class Mapped(NamedTuple):
    """`offsets`: where each rank's part begins, from `address`."""

    memory: mmap.mmap | None
    address: int
    offsets: list[int]


def map_shared(communicator: Communicator, call: str, sizes: list[int], apart: bool) -> Mapped:
    """Collective. `apart`: parts need not follow each other directly, so each begins with a
    page."""
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end += -(-size // PAGE) * PAGE if apart else size
    leader = communicator.rank == 0
    said = Scratch(16)
    where = said.data.view(np.int64)
    file = -1
    if leader:
        try:
            file = memory_file("openlanai window")
            os.ftruncate(file, max(end, 1))
        except (OSError, OverflowError, UserError):
            file = -1
        where[:] = os.getpid(), file
    run_for(communicator, call, bcast, said.address, 16, BYTE, 0)
    memory = _map(call, int(where[0]), int(where[1]), max(end, 1))
    run_for(communicator, call, barrier)
    if leader:
        os.close(file)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return Mapped(memory, address, offsets)


def _map(call: str, process: int, file: int, size: int) -> mmap.mmap:
    if file < 0:
        raise MpiError(ErrorClass.NO_MEM, f"{call}: no memory for {size} bytes that ranks share")
    try:
        own = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR)
    except OSError as error:
        text = f"{call}: the memory of process {process} cannot be shared: {error.strerror}"
        raise MpiError(ErrorClass.RMA_SHARED, text) from None
    try:
        return mmap.mmap(own, size)
    except (OSError, OverflowError, ValueError):
        raise MpiError(ErrorClass.NO_MEM, f"{call}: no memory for {size} bytes that ranks share") from None
    finally:
        os.close(own)
