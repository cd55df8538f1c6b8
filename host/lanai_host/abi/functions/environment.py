"""Start and end, inquiry, clocks, memory, error classes and codes."""

import ctypes
import mmap
from typing import Any

from ...bus.base import PAGE_SIZE
from ...errors import say
from ...mpi import buffered
from ...mpi.attributes import Info
from ...mpi.errors import ErrorClass, MpiError
from .. import in_c, runtime
from ..binding import always, anywhere, bind, binding
from ..context import Phase, abi
from ..failures import ERRORS

# Beginning and end


def _init(call: str, required: int) -> int:
    if abi.initialized or abi.phase is Phase.AFTER:
        raise MpiError(ErrorClass.OTHER, f"{call}: MPI was initialized before")
    level = runtime.begin(required)
    abi.initialized = True
    return level


@always
def MPI_Init(argc: int, argv: int) -> None:
    _init("MPI_Init", 0)


@always
def MPI_Init_thread(argc: int, argv: int, required: int) -> int:
    return _init("MPI_Init_thread", required)


@binding
def MPI_Finalize() -> None:
    if not abi.initialized:
        raise MpiError(
            ErrorClass.OTHER, "MPI_Finalize: MPI_Init was not called; sessions end with MPI_Session_finalize"
        )
    if abi.finalized:
        raise MpiError(ErrorClass.OTHER, "MPI_Finalize: called twice; sessions end with MPI_Session_finalize")
    runtime.process.finalize()
    abi.finalized = True


@always
def MPI_Initialized() -> bool:
    return abi.initialized


@always
def MPI_Finalized() -> bool:
    return abi.finalized


@anywhere
def MPI_Query_thread() -> int:
    return abi.world.thread_level


@anywhere
def MPI_Is_thread_main() -> bool:
    return abi.world.is_main_thread()


@anywhere
def MPI_Abort(comm: Any, errorcode: int) -> None:
    text = f"{abi.world.label}: MPI_Abort on {comm.label} with code {errorcode}"
    say(text)
    abi.world.abort(errorcode, text)


# Inquiry


@always
def MPI_Get_version() -> tuple[int, int]:
    return abi.constants["MPI_VERSION"], abi.constants["MPI_SUBVERSION"]


@always
def MPI_Get_library_version() -> str:
    """Programs choose a binary interface by this text (mpi4py's get_vendor(), NGSolve): with MPICH's
    interface it begins as that MPICH's text does."""
    own = "openlanai: MPI in Python over simulated network interfaces"
    if "MPICH_NUMVERSION" not in abi.constants:
        return own
    major, rest = divmod(abi.constants["MPICH_NUMVERSION"], 10_000_000)
    minor, rest = divmod(rest, 100_000)
    return f"MPICH Version:      {major}.{minor}.{rest // 1000}\nMPICH ABI of {own}"


@binding
def MPI_Get_processor_name() -> str:
    return abi.world.processor_name()


@always
def MPI_Get_hw_resource_info() -> Info:
    return Info()


@anywhere
def MPI_Wtime() -> float:
    return abi.world.wtime()


@always
def MPI_Wtick() -> float:
    return runtime.SLOT if abi.phase is Phase.BEFORE else abi.world.wtick()


bind("MPI_Get_address", lambda location: location, always=True)
bind("MPI_Address", lambda location: location, always=True)

# Memory

ALIGNMENT = "mpi_minimum_memory_alignment"  # an info key of MPI_Alloc_mem
_allocated: dict[int, Any] = {}


@binding
def MPI_Alloc_mem(size: int, info: Info | None, baseptr: int) -> None:
    if size < 0:
        raise MpiError(ErrorClass.ARG, f"MPI_Alloc_mem: size is {size}; it must not be negative")
    alignment = max(PAGE_SIZE, _alignment(info))
    try:
        # Begins with a page. Private: a snapshot of this process has a copy.
        memory = mmap.mmap(-1, max(size, 1) + alignment - PAGE_SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError, ValueError):
        raise MpiError(ErrorClass.NO_MEM, f"MPI_Alloc_mem: no memory for {size} bytes") from None
    address = -(-ctypes.addressof(ctypes.c_char.from_buffer(memory)) // alignment) * alignment
    _allocated[address] = memory
    ctypes.c_size_t.from_address(baseptr).value = address


def _alignment(info: Info | None) -> int:
    """The alignment that the program asks for, in bytes; 1 if it does not."""
    text = None if info is None else info.get(ALIGNMENT)
    if text is None:
        return 1
    value = int(text) if text.isascii() and text.isdecimal() else 0
    if value < 1 or value & value - 1:
        raise MpiError(ErrorClass.INFO_VALUE, f"MPI_Alloc_mem: {ALIGNMENT} is {text!r}; it must be a power of two")
    return value


@binding
def MPI_Free_mem(base: int) -> None:
    if base and _allocated.pop(base, None) is None:
        raise MpiError(ErrorClass.BASE, f"MPI_Free_mem: {base:#x} is not memory from MPI_Alloc_mem")


# Buffers of buffered sends

AUTOMATIC = "MPI_BUFFER_AUTOMATIC"


def _attached(buffer: int) -> int | None:
    return None if buffer == abi.constants[AUTOMATIC] else buffer


def _detached(pointer: int, address: int | None) -> None:
    value = abi.constants[AUTOMATIC] if address is None else address
    ctypes.c_ssize_t.from_address(pointer).value = value


@binding
def MPI_Buffer_attach(buffer: int, size: int) -> None:
    buffered.attach(abi.world.process, _attached(buffer), size)


@binding
def MPI_Buffer_detach(buffer_addr: int) -> int:
    address, size = buffered.detach(abi.world.process)
    _detached(buffer_addr, address)
    return size


@binding
def MPI_Comm_attach_buffer(comm: Any, buffer: int, size: int) -> None:
    buffered.attach(comm, _attached(buffer), size, "MPI_Comm_attach_buffer")


@binding
def MPI_Comm_detach_buffer(comm: Any, buffer_addr: int) -> int:
    address, size = buffered.detach(comm)
    _detached(buffer_addr, address)
    return size


@binding
def MPI_Session_attach_buffer(session: Any, buffer: int, size: int) -> None:
    buffered.attach(session, _attached(buffer), size, "MPI_Session_attach_buffer")


@binding
def MPI_Session_detach_buffer(session: Any, buffer_addr: int) -> int:
    address, size = buffered.detach(session)
    _detached(buffer_addr, address)
    return size


bind("MPI_Session_flush_buffer", buffered.flush, "session")
bind("MPI_Session_iflush_buffer", buffered.iflush, "session")
bind("MPI_Buffer_flush", lambda: buffered.flush(abi.world.process))
bind("MPI_Comm_flush_buffer", buffered.flush, "comm")
bind("MPI_Buffer_iflush", lambda: buffered.iflush(abi.world.process))
bind("MPI_Comm_iflush_buffer", buffered.iflush, "comm")

# Error classes and codes


bind("MPI_Error_class", ERRORS.error_class, "errorcode", always=True)
bind("MPI_Error_string", ERRORS.text, "errorcode", always=True)


@always
def MPI_Add_error_class() -> int:
    in_c.answer_codes(ERRORS.added)
    return ERRORS.add_class()


@always
def MPI_Add_error_code(errorclass: int) -> int:
    in_c.answer_codes(ERRORS.added)
    return ERRORS.add_code(errorclass)


bind("MPI_Add_error_string", ERRORS.add_string, "errorcode string", always=True)
bind("MPI_Remove_error_class", ERRORS.remove_class, "errorclass", always=True)
bind("MPI_Remove_error_code", ERRORS.remove_code, "errorcode", always=True)
bind("MPI_Remove_error_string", ERRORS.remove_string, "errorcode", always=True)


# Functions that MPICH has beside those of MPI, which programs ask what they may do.


def _no() -> int:
    """Return that MPI does not take buffers in the memory of a GPU of some kind."""
    return 0


for _kind in ("cuda", "hip", "ze"):
    bind(f"MPIX_Query_{_kind}_support", _no, always=True, answers=True)


@always
def MPIX_GPU_query_support(gpu_type: int) -> bool:
    known = [abi.constants[f"MPIX_GPU_SUPPORT_{kind}"] for kind in ("CUDA", "ZE", "HIP")]
    if gpu_type not in known:
        raise MpiError(ErrorClass.ARG, f"MPIX_GPU_query_support: gpu_type is {gpu_type}; it must be one of {known}")
    return False


def _is_complete(request: Any) -> bool:
    return request is None or request.get_status() is not None


bind("MPIX_Request_is_complete", _is_complete, answers=True)
