"""The source line of an instruction of a running process, from its memory map and its files'
debugging information."""

import os
from functools import cache
from pathlib import Path
from typing import Any

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


def mapped(pid: int, address: int) -> tuple[str, int] | None:
    """The file that lies at an address of a process, and the offset in it."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        span, mode, offset, _, _, *path = line.split(maxsplit=5)
        first, end = (int(part, 16) for part in span.split("-"))
        if first <= address < end and mode[EXECUTABLE] == "x" and path and path[0].startswith("/"):
            return path[0], address - first + int(offset, 16)
    return None


@cache
def symbolized(path: str, offset: int) -> str:
    """The source line, or the function, of the instruction at an offset of an ELF file."""
    from elftools.common.exceptions import DWARFError, ELFError  # imported by what ends badly, not by every run
    from elftools.elf.elffile import ELFFile

    try:
        with open(path, "rb") as file:
            elf = ELFFile(file)
            address = _virtual(elf, offset)
            return _line(elf, address) or _function(elf, address, Path(path).name)
    except (OSError, ELFError, DWARFError):
        return Path(path).name


def _virtual(elf: Any, offset: int) -> int:
    for segment in elf.iter_segments("PT_LOAD"):
        first = segment["p_offset"]
        if first <= offset < first + segment["p_filesz"]:
            return int(offset - first + segment["p_vaddr"])
    return offset


def _line(elf: Any, address: int) -> str:
    if not elf.has_dwarf_info():
        return ""
    dwarf = elf.get_dwarf_info()
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
                return f"{_file(program, before.file)}:{before.line}"
            before = None if state.end_sequence else state
    return ""


def _file(program: Any, number: int) -> str:
    names = program["file_entry"]
    entry = names[number if program["version"] >= 5 else number - 1]
    return Path(entry.name.decode(errors="replace")).name


def _function(elf: Any, address: int, file: str) -> str:
    from elftools.elf.sections import SymbolTableSection

    for section in elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            for symbol in section.iter_symbols():
                first = symbol["st_value"]
                if symbol["st_info"]["type"] == "STT_FUNC" and first <= address < first + symbol["st_size"]:
                    return f"{symbol.name} in {file}"
    return file
