"""The source line of an instruction of a running process, from its memory map and its files'
debugging information."""

import contextlib
import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, NamedTuple

from .operation import Wait

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # of an ELF file of 64 bits: identification to the section of names
SEGMENT = struct.Struct("<IIQQQQQQ")  # type, flags, offset, address, physical, size in the file, in memory, alignment
SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, alignment, each
LOADED = 1  # a segment's type
SYMBOL_TABLES = (2, 11)  # sections' types
DEBUGGING = b".debug_line"
SYMBOL = struct.Struct("<IBBHQQ")  # name, type and binding, other, section, value, size
FUNCTION = 2  # a symbol's type
_SYSTEM, _ZIG = ("/usr/include", "/usr/lib"), "/ziglang/lib/"  # where C++'s library has its headers
EXECUTABLE = 2  # of a map's permissions, "r-xp"


def place_of(pid: int, site: str) -> str:
    """A call site as `Wait.site` has it, in words: "app.py:12", "app.c:40", "main in a.out" without
    debugging information."""
    if not site.startswith("@"):
        return site.removeprefix(os.getcwd() + os.sep)
    address = int(site[1:], 16) - 1  # inside the call, whose return address it is
    found = mapped(pid, address)
    if found is None:
        return ""
    path, offset = found
    return symbolized(path, offset)


def in_system_header(pid: int, site: str) -> bool:
    """Return if a call site lies in a header of the system."""
    found = mapped(pid, int(site[1:], 16) - 1) if site.startswith("@") else None
    folder = "" if found is None else _source(*found)[0]
    return folder.startswith(_SYSTEM) or _ZIG in folder


def mapped(pid: int, address: int) -> tuple[str, int] | None:
    """The file that lies at an address of a process, and the offset in it."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    for line in lines:
        span, mode, offset, _, _, *path = line.split(maxsplit=5)
        first, end = (int(part, 16) for part in span.split("-"))
        if first <= address < end and mode[EXECUTABLE] == "x" and path and path[0].startswith("/"):
            return path[0], address - first + int(offset, 16)
    return None


def symbolized(path: str, offset: int) -> str:
    """The source line, or the function, of the instruction at an offset of an ELF file."""
    return _source(path, offset)[1]


@cache
def linked(path: str, offset: int) -> int | None:
    """Return the address for which the byte at an offset of an ELF file was linked; None if it is not one."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Headers(data).virtual(offset)
    except (OSError, ValueError, struct.error):
        return None


def source_file(path: str, offset: int) -> tuple[str, str]:
    """Return the folder of the source file of an instruction, relative to that in which the compiler ran, and
    "file:line"."""
    return _source(path, offset)


@cache
def _source(path: str, offset: int) -> tuple[str, str]:
    """Return the folder of the source file, if it is known, and what `symbolized` does."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            headers = _Headers(data)
            address = headers.virtual(offset)
            line = _line(file, address) if data.find(DEBUGGING) >= 0 else None
            return line or ("", headers.function(address, Path(path).name))
    except (OSError, ValueError, struct.error):
        return "", Path(path).name


class _Headers:
    """Segments and symbols of an ELF file of 64 bits. Reading these takes a thousandth of a second, and
    importing what reads all of ELF a tenth: a rank does this as it ends by an error."""

    def __init__(self, data: mmap.mmap) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not an ELF file of 64 bits, little endian")
        self._data = data
        (*_, segments, sections, _, _, segment_size, segment_count, section_size, section_count, _) = (
            HEADER.unpack_from(data)
        )
        self._segments = [
            SEGMENT.unpack_from(data, segments + segment_size * number) for number in range(segment_count)
        ]
        self._sections = [
            SECTION.unpack_from(data, sections + section_size * number) for number in range(section_count)
        ]

    def virtual(self, offset: int) -> int:
        """The address for which the file was linked."""
        for kind, _, first, address, _, size, _, _ in self._segments:
            if kind == LOADED and first <= offset < first + size:
                return int(offset - first + address)
        return offset

    def function(self, address: int, file: str) -> str:
        """The function at an address, with the file's name, which is all if there is none."""
        for _, kind, _, _, first, size, link, _, _, each in self._sections:
            if kind not in SYMBOL_TABLES or each != SYMBOL.size:
                continue
            names = self._sections[link][4]
            for name, info, _, _, begin, length in SYMBOL.iter_unpack(self._data[first : first + size]):
                if info & 0xF == FUNCTION and begin <= address < begin + length:
                    end = self._data.find(b"\0", names + name)
                    return f"{self._data[names + name : end].decode(errors='surrogateescape')} in {file}"
        return file


def _line(file: BinaryIO, address: int) -> tuple[str, str] | None:
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.elf.elffile import ELFFile

    with contextlib.suppress(DWARFError, ELFError):
        elf = ELFFile(file)
        if elf.has_dwarf_info():
            return _line_of(elf.get_dwarf_info(), address)
    return None


def _line_of(dwarf: Any, address: int) -> tuple[str, str] | None:
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        before = None
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if before is not None and before.address <= address < state.address:
                folder, name = _file(program, before.file)
                return folder, f"{name}:{before.line}"
            before = None if state.end_sequence else state
    return None


def _file(program: Any, number: int) -> tuple[str, str]:
    """Return folder and name of a source file; the folder is empty for that in which the compiler ran."""
    names, folders = program["file_entry"], program["include_directory"]
    new = program["version"] >= 5
    entry = names[number if new else number - 1]
    path = Path(os.fsdecode(entry.name))
    folder = os.fsdecode(folders[entry.dir_index if new else entry.dir_index - 1]) if entry.dir_index else ""
    return str(Path(folder) / path.parent), path.name


# The place where the program made the MPI call that this thread is in: for reports of a stopped run, looked
# for when a rank is about to wait.

BINDING = "<binding of "  # begins the file name of the Python text that C calls for an MPI function
_OWN = os.path.dirname(__file__) + os.sep
_IMPORTS = "<frozen importlib."  # begins the file names of the code that imports modules: a program's `import`
_OUTSIDE = "-"  # what `_Calls` says of a file that is the program's; no name of a function
_native: Callable[[], int] | None = None
_native_frame: Callable[..., int] | None = None


class CallFrame(NamedTuple):
    """The program's own frame at a call: the return address, the stack pointer and the frame pointer."""

    address: int
    stack: int
    base: int


def use_native(library: ctypes.CDLL) -> None:
    """Ask this libmpi for the address from which C or Fortran called it."""
    global _native, _native_frame
    _native = library.lanai_call_site
    _native.restype = ctypes.c_size_t
    _native_frame = library.lanai_call_frame


def call_frame() -> CallFrame | None:
    """Return the frame of compiled code from which this thread's call came; None if it is not known."""
    if _native is None or _native_frame is None:
        return None
    stack, base = ctypes.c_size_t(), ctypes.c_size_t()
    if not _native_frame(ctypes.byref(stack), ctypes.byref(base)):
        return None
    return CallFrame(_native(), stack.value, base.value)


def located(why: Wait) -> Wait:
    """`why` with the program's own call, and the place of it."""
    call, frame = _outside(sys._getframe(1))
    if frame is not None:
        site = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    else:
        address = _native() if _native is not None and call else 0
        site = f"@{address:#x}" if address else ""
    if not call or call == why.call:
        return Wait(*why[:-1], site)  # each wait comes here, and `_replace` takes three times as long
    part = f"for {why.call}" if why.call.startswith("MPI_") else why.call
    note = why.note if why.call in why.note else ", ".join(filter(None, [part, why.note]))
    return why._replace(call=call, site=site, note=note)


def _outside(frame: FrameType | None) -> tuple[str, FrameType | None]:
    """The MPI function that the program called last, and the frame of the program that did, if it
    is Python's."""
    call = ""
    while frame is not None:
        found = _calls[frame.f_code.co_filename]
        if found == _OUTSIDE:
            if call:
                return call, frame
        elif found:
            call = found
        frame = frame.f_back
    return call, None


def here() -> str:
    """The place of the program's call that this thread is in, as `Wait.site` has it; empty outside of
    MPI's functions."""
    return located(Wait("")).site


def caller(frame: FrameType | None) -> str:
    """Return the place of the program's call that leads to `frame`, as `Wait.site` has it; empty if it
    is not known."""
    while frame is not None:
        if _calls[frame.f_code.co_filename] == _OUTSIDE:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    address = _native() if _native is not None else 0
    return f"@{address:#x}" if address else ""


def is_program(file: str) -> bool:
    """Python code of this file is the program's, and not this library's."""
    return _calls[file] == _OUTSIDE


class _Calls(dict[str, str]):
    """By file name: the MPI function whose binding it is, `_OUTSIDE`, or nothing for this
    library's own files and for Python's import. Each wait asks for the same few names."""

    def __missing__(self, name: str) -> str:
        if name.startswith(BINDING):
            found = name[len(BINDING) : -1].removesuffix("_c")
        else:
            found = "" if name.startswith((_OWN, _IMPORTS)) else _OUTSIDE
        self[name] = found
        return found


_calls = _Calls()
