"""Making windows, on memory of the device's or of the program's (SC-19), and giving them back."""

import ctypes
import mmap

import numpy as np

from ...bus.base import BusError
from ...remote import Segment
from ..arguments import check_intra
from ..collectives import allgather, barrier
from ..collectives.calls import run_for
from ..collectives.parts import Part
from ..communicator import Communicator
from ..constants import WindowFlavor
from ..creation import private_copy
from ..datatypes import BYTE
from ..errors import ErrorClass, MpiError
from ..info import Info
from ..memory import Scratch, address_of, zeros
from .connecting import connect
from .memory import Memory
from .messages import Messages
from .races import Watch
from .service import service_of
from .shared import map_shared
from .target import Target
from .window import BY_MESSAGES, Window
from .written import connect_writes

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
