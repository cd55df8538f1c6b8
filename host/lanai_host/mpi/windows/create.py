"""Making windows, on memory of the device's or of the program's (SC-19), and giving them back."""

import ctypes
import mmap
import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...bus.base import BusError
from ...errors import UserError
from ...process_memory import memory_file
from ...remote import TOKEN_BYTES, Access, Exposure, Reach, Remote, Segment
from ..arguments import check_intra
from ..attributes import Info
from ..collectives import allgather, barrier, bcast
from ..collectives.checks import Part
from ..collectives.schedule import run_for
from ..communicator import Communicator
from ..constants import WindowFlavor
from ..creation import private_copy
from ..datatypes import BYTE
from ..errors import ErrorClass, MpiError
from ..memory import Scratch, address_of, zeros
from .by_device import ByDevice
from .memory import Memory, Watch
from .messages import Messages
from .sender import Service, service_of
from .target import Target
from .window import BY_MESSAGES, Window
from .written import connect_writes

# Windows whose processes reach each other's memory by their device: how they learn where it is.

ALL = Access.READ | Access.WRITE | Access.ATOMIC
FIELD = 1 + TOKEN_BYTES  # a token behind its length
ROW = 2 * FIELD  # the token of the window's memory, that of the words of its lock; empty where there is none


def connect(
    communicator: Communicator,
    call: str,
    target: Target,
    memory: Memory,
    service: Service,
    name: str,
    remote: Remote,
    *,
    allocated: bool,
) -> ByDevice | None:
    """The way of a new window by the device. All processes of the window call it.

    None if one of them has no room for the words that the others write. `allocated`: the memory is
    the library's own.
    """
    way = ByDevice(communicator, target, service, name, remote)
    with communicator.progress.lock:
        locks = _exposed(way.words.expose)
        wanted = memory.size and locks and (allocated or remote.private)
        data = _exposed(lambda: remote.expose(memory.base, memory.size, ALL)) if wanted else None
    exposures = [exposure for exposure in (data, locks) if exposure is not None]
    rows = _exchange(communicator, call, [b"" if one is None else one.token for one in (data, locks)])
    way.connect(exposures, [], [])
    if not all(token for _, token in rows):
        way.withdraw()
        return None
    way.connect(exposures, *_reaches(communicator, remote, rows))
    return way


def _exposed(expose: Callable[[], Exposure]) -> Exposure | None:
    try:
        return expose()
    except BusError:  # no room, or memory that cannot be pinned: others reach it by messages
        return None


def _reaches(
    communicator: Communicator, remote: Remote, rows: list[tuple[bytes, bytes]]
) -> tuple[list[Reach | None], list[Reach]]:
    memory = [
        remote.reach(world, token) if token else None
        for world, (token, _) in zip(communicator.route, rows, strict=True)
    ]
    locks = [remote.reach(world, token) for world, (_, token) in zip(communicator.route, rows, strict=True)]
    return memory, locks


def _exchange(communicator: Communicator, call: str, tokens: list[bytes]) -> list[tuple[bytes, bytes]]:
    """The tokens of all processes."""
    row = Scratch(ROW)
    data = b"".join(bytes([len(token)]) + token.ljust(TOKEN_BYTES, b"\0") for token in tokens)
    row.data[:] = np.frombuffer(data, np.uint8)
    table = Scratch(ROW * communicator.size)
    run_for(communicator, call, allgather, Part(row.address, ROW, BYTE), Part(table.address, ROW, BYTE))
    fields = table.data.reshape(communicator.size, 2, FIELD)
    return [(_token(first), _token(second)) for first, second in fields]


def _token(field: "np.ndarray[tuple[int], np.dtype[np.uint8]]") -> bytes:
    return field[1 : 1 + int(field[0])].tobytes()


# Memory that the ranks of one node share: one file in memory, mapped by all of them.

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


_COLUMNS = 4  # of the table that the members exchange: size, displacement unit, flavor, node


def create(comm: Communicator, address: int, size: int, unit: int, info: Info | None) -> Window:
    """MPI_Win_create: a window on memory of the program's."""
    call = "MPI_Win_create"
    _check(comm, call, size, unit)
    if size and not address:
        raise MpiError(ErrorClass.BASE, f"{call}: base is a null pointer, but the size is {size}")
    return _make(comm, call, WindowFlavor.CREATE, Memory(address, size, False), unit, info)


def allocate(comm: Communicator, size: int, unit: int, info: Info | None) -> Window:
    """MPI_Win_allocate: a window on memory of the library's."""
    call = "MPI_Win_allocate"
    _check(comm, call, size, unit)
    try:
        held, address = _allocated(comm, max(size, 1))
    except (OSError, OverflowError, ValueError, BusError):
        raise MpiError(ErrorClass.NO_MEM, f"{call}: no memory for {size} bytes") from None
    memory = Memory(address, size, False)
    window = _make(comm, call, WindowFlavor.ALLOCATE, memory, unit, info, held if isinstance(held, Segment) else None)
    window.held = held
    return window


def _allocated(comm: Communicator, size: int) -> tuple[object, int]:
    """Memory for a window, and its address: such that others reach it sooner, if the device has
    that."""
    remote = comm.device.remote
    if remote is not None:
        with comm.progress.lock:
            segment = remote.allocate(size)
        return segment, segment.address
    writes = comm.device.writes
    if writes is not None:
        with comm.progress.lock:
            written = writes.allocate(size)
        if written is not None:
            return written, written.address
    held = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return held, ctypes.addressof(ctypes.c_char.from_buffer(held))


def allocate_shared(comm: Communicator, size: int, unit: int, info: Info | None) -> Window:
    """MPI_Win_allocate_shared: memory that all ranks, which sit on one node, can read and write
    directly."""
    call = "MPI_Win_allocate_shared"
    _check(comm, call, size, unit)
    memory = Memory(0, size, False)
    window = _make(comm, call, WindowFlavor.SHARED, memory, unit, info)
    apart = window.info.get("alloc_shared_noncontig") == "true"
    mapped = map_shared(window.communicator, call, window.sizes, apart)
    window.held = mapped.memory
    window.addresses = [mapped.address + offset for offset in mapped.offsets]
    memory.base = window.addresses[window.rank]
    run_for(window.communicator, call, barrier)  # no rank writes to memory that is not there yet
    return window


def create_dynamic(comm: Communicator, info: Info | None) -> Window:
    """MPI_Win_create_dynamic: displacements are addresses of what will be attached."""
    return _make(comm, "MPI_Win_create_dynamic", WindowFlavor.DYNAMIC, Memory(0, 0, True), 1, info)


def _check(comm: Communicator, call: str, size: int, unit: int) -> None:
    check_intra(comm, call)
    if size < 0:
        raise MpiError(ErrorClass.SIZE, f"{call}: size is {size}; it must not be negative")
    if unit <= 0:
        raise MpiError(ErrorClass.DISP, f"{call}: disp_unit is {unit}; it must be positive")


def _make(
    comm: Communicator,
    call: str,
    flavor: WindowFlavor,
    memory: Memory,
    unit: int,
    info: Info | None,
    segment: Segment | None = None,
) -> Window:
    """`segment`: the memory, if the device has allocated it."""
    check_intra(comm, call)
    own = private_copy(comm, call)
    window = Window(own, flavor, memory, unit)
    if info is not None:
        window.set_info(info)
    window.epochs.name = window.label
    # Others may use the window as soon as they have this process's row.
    watch = comm.process.races if isinstance(comm.process.races, Watch) else None
    service = service_of(comm.process)
    target = Target(own, memory, service)
    window.way = Messages(own, target, service, window.label, watch)
    if flavor is WindowFlavor.SHARED and target.races is not None:
        target.races.stores = None  # its bytes are changed by stores of other ranks too
    table = zeros((own.size, _COLUMNS), np.int64)
    row = Scratch(8 * _COLUMNS)
    row.data.view(np.int64)[:] = memory.size, unit, flavor, comm.process.node
    part = Part(address_of(table), 8 * _COLUMNS, BYTE)
    run_for(own, call, allgather, Part(row.address, 8 * _COLUMNS, BYTE), part)
    window.sizes, window.units = table[:, 0].tolist(), table[:, 1].tolist()
    remote = window.device.remote
    if remote is not None and watch is None and flavor in (WindowFlavor.CREATE, WindowFlavor.ALLOCATE):
        allocated = flavor is WindowFlavor.ALLOCATE
        by_device = connect(own, call, target, memory, service, window.label, remote, allocated=allocated)
        window.way = by_device or window.way
        reached = by_device.reached if by_device is not None else frozenset()
        missing = [rank for rank, size in enumerate(window.sizes) if size and rank not in reached]
        window.info.set(BY_MESSAGES, str(len(missing)))
    elif window.device.writes is not None and watch is None and flavor is WindowFlavor.ALLOCATE:
        window.way = connect_writes(own, call, target, service, window.label, window.device.writes, segment)
    if flavor is WindowFlavor.SHARED and len(set(table[:, 3].tolist())) > 1:
        window.way.close()
        nodes = ", ".join(map(str, sorted(set(table[:, 3].tolist()))))
        raise MpiError(ErrorClass.RMA_SHARED, f"{call}: the ranks of comm sit on nodes {nodes}, which share no memory")
    return window


def free(window: Window) -> None:
    """MPI_Win_free."""
    call = "MPI_Win_free"
    window.epochs.free(call)
    window.attributes.clear(window)
    window.way.confirm(call)
    run_for(window.communicator, call, barrier)
    window.way.close()
    owner = window.device.remote or window.device.writes
    if isinstance(window.held, Segment) and owner is not None:
        with window.progress.lock:
            owner.release(window.held)
    window.freed = True
    window.held = None
