"""From pc to source: the DWARF line table that LLVM wrote, relocated by us, read with
pyelftools."""

import inspect
import io
from typing import Any

from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

from .linker import Linked, patch
from .objects import ObjectFile

DEBUG = (".debug_info", ".debug_abbrev", ".debug_str", ".debug_line")
Row = tuple[int, str, int]  # first address, file, line; holds up to the next row


def line_rows(linked: Linked) -> list[Row]:
    """Rows in the order of addresses; file "" where no source is known."""
    rows: list[Row] = []
    for item, places in zip(linked.objects, linked.addresses, strict=True):
        rows.extend(rows_of(dwarf_of(item, places, linked)))
    rows.sort(key=lambda row: (row[0], row[1] != ""))  # at one address, the end of a sequence comes first
    kept: list[Row] = []
    for row in rows:
        if kept and kept[-1][0] == row[0]:
            kept[-1] = row
        elif not kept or kept[-1][1:] != row[1:]:
            kept.append(row)
    return kept


def dwarf_of(item: ObjectFile, places: dict[int, int], linked: Linked) -> Any:
    """The object's DWARF with the final addresses in it."""
    given: dict[str, Any] = dict.fromkeys(inspect.signature(DWARFInfo.__init__).parameters)
    del given["self"]
    for section in item.sections.values():
        if section.name in DEBUG:
            data = patch(item, section, 0, places, linked.symbols)
            given[f"{section.name[1:]}_sec"] = DebugSectionDescriptor(io.BytesIO(data), section.name, 0, len(data), 0)
    given["config"] = DwarfConfig(little_endian=False, machine_arch="Lanai", default_address_size=4)
    return DWARFInfo(**given)


def rows_of(dwarf: Any) -> list[Row]:
    if dwarf.debug_line_sec is None or dwarf.debug_info_sec is None:
        return []
    rows: list[Row] = []
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        directories = ["", *(f"{name.decode()}/" for name in program["include_directory"])]
        names = [directories[entry.dir_index] + entry.name.decode() for entry in program["file_entry"]]
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if state.end_sequence:
                rows.append((state.address, "", 0))
            else:
                rows.append((state.address, names[state.file - 1], state.line))
    return rows
