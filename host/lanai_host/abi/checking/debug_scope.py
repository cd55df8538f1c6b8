"""The variables that are in scope at an instruction of a program, from its debugging information."""

import os
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.descriptions import describe_form_class
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.elf.elffile import ELFFile

from .debug_types import Shape, pointed_at, shape_of

MOST_BYTES = 1 << 26  # of debugging information; of a larger program nothing is read
BASE_POINTER, STACK_POINTER = 6, 7  # x86-64's registers, as DWARF numbers them
_VARIABLES = ("DW_TAG_variable", "DW_TAG_formal_parameter")
_SCOPES = ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine", "DW_TAG_try_block", "DW_TAG_catch_block")
_OUTER = ("DW_TAG_namespace", *_SCOPES)


class Place(NamedTuple):
    """The place of a variable: a linked address, or a distance from the frame's base."""

    fixed: bool
    value: int


class Variable(NamedTuple):
    """A variable of the program. `target` is the shape of what it points at, if it is a pointer."""

    name: str
    place: Place
    shape: Shape
    target: Shape | None


class Scope(NamedTuple):
    """The variables at an instruction. The frame's base is `offset` bytes from `register`."""

    variables: tuple[Variable, ...]
    register: int
    offset: int
    folder: str  # in which the compiler ran


@cache
def scope_at(path: str, address: int) -> Scope | None:
    """Return the scope at a linked address; None if the file does not tell."""
    try:
        with open(path, "rb") as file:
            elf = ELFFile(file)
            section = elf.get_section_by_name(".debug_info")
            if section is None or section.data_size > MOST_BYTES or elf["e_machine"] != "EM_X86_64":
                return None
            return _scope(elf.get_dwarf_info(), address)
    except (OSError, DWARFError, ELFError, KeyError, ValueError):
        return None


def _scope(dwarf: Any, address: int) -> Scope | None:
    unit = next((one for one in _units(dwarf, address) if _holds(dwarf, one.get_top_DIE(), address)), None)
    if unit is None:
        return None
    top = unit.get_top_DIE()
    function = _function(dwarf, top, address)
    base = _base(dwarf, unit, function, address) if function is not None else None
    if base is None:
        return None
    entries = [*_inner(dwarf, function, address), *(one for one in top.iter_children() if one.tag == "DW_TAG_variable")]
    folder = top.attributes.get("DW_AT_comp_dir")
    found = tuple(one for one in (_variable(unit, entry) for entry in entries) if one is not None)
    return Scope(found, *base, os.fsdecode(folder.value) if folder is not None else "")


def _units(dwarf: Any, address: int) -> Iterator[Any]:
    ranges = dwarf.get_aranges()
    offset = ranges.cu_offset_at_addr(address) if ranges is not None else None
    if offset is not None:
        yield dwarf.get_CU_at(offset)
    else:
        yield from dwarf.iter_CUs()


def _holds(dwarf: Any, entry: Any, address: int) -> bool:
    """Return if an instruction belongs to an entry."""
    low, high, ranges = (entry.attributes.get(f"DW_AT_{name}") for name in ("low_pc", "high_pc", "ranges"))
    if ranges is not None:
        return _in_ranges(dwarf, entry.cu, ranges.value, low.value if low is not None else 0, address)
    if low is None or high is None:
        return False
    end = high.value if describe_form_class(high.form) == "address" else low.value + high.value
    return bool(low.value <= address < end)


def _in_ranges(dwarf: Any, unit: Any, offset: int, base: int, address: int) -> bool:
    top = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    base = top.value if top is not None else base
    for one in dwarf.range_lists().get_range_list_at_offset(offset, unit):
        if hasattr(one, "base_address"):
            base = one.base_address
            continue
        add = 0 if getattr(one, "is_absolute", False) else base
        if one.begin_offset + add <= address < one.end_offset + add:
            return True
    return False


def _function(dwarf: Any, outer: Any, address: int) -> Any:
    for entry in outer.iter_children():
        if entry.tag == "DW_TAG_subprogram" and _holds(dwarf, entry, address):
            return entry
        if entry.tag in _OUTER:
            found = _function(dwarf, entry, address)
            if found is not None:
                return found
    return None


def _inner(dwarf: Any, scope: Any, address: int) -> Iterator[Any]:
    """Give the entries of variables in a scope and in those inside that hold the instruction."""
    for entry in scope.iter_children():
        if entry.tag in _VARIABLES:
            yield entry
        elif entry.tag in _SCOPES and _holds(dwarf, entry, address):
            yield from _inner(dwarf, entry, address)


def _variable(unit: Any, entry: Any) -> Variable | None:
    location = entry.attributes.get("DW_AT_location")
    place = _place(unit, location) if location is not None else None
    if place is None:
        return None
    for attribute in ("DW_AT_abstract_origin", "DW_AT_specification"):
        if attribute in entry.attributes:
            entry = entry.get_DIE_from_attribute(attribute)
    shape, name = shape_of(entry), entry.attributes.get("DW_AT_name")
    if shape is None or name is None:
        return None
    return Variable(name.value.decode(errors="replace"), place, shape, pointed_at(entry))


def _place(unit: Any, location: Any) -> Place | None:
    """Return where an expression of one step says; None if it has more, or changes in the function."""
    step = _single(unit, location)
    if step is None or step.op_name not in ("DW_OP_fbreg", "DW_OP_addr"):
        return None
    return Place(step.op_name == "DW_OP_addr", step.args[0])


def _single(unit: Any, attribute: Any) -> Any:
    if describe_form_class(attribute.form) not in ("exprloc", "block"):
        return None
    steps = DWARFExprParser(unit.structs).parse_expr(attribute.value)
    return steps[0] if len(steps) == 1 else None


def _base(dwarf: Any, unit: Any, function: Any, address: int) -> tuple[int, int] | None:
    """Return register and distance of the frame's base."""
    base = function.attributes.get("DW_AT_frame_base")
    step = _single(unit, base) if base is not None else None
    if step is None:
        return None
    if step.op_name == "DW_OP_call_frame_cfa":
        return _call_frame(dwarf, address)
    if step.op_name in ("DW_OP_reg6", "DW_OP_reg7"):
        return int(step.op_name.removeprefix("DW_OP_reg")), 0
    return None


def _call_frame(dwarf: Any, address: int) -> tuple[int, int] | None:
    entries = dwarf.CFI_entries() if dwarf.has_CFI() else dwarf.EH_CFI_entries() if dwarf.has_EH_CFI() else ()
    for entry in entries:
        header = entry.header
        first = header.get("initial_location")
        if first is None or not first <= address < first + header["address_range"]:
            continue
        rows = [row for row in entry.get_decoded().table if row["pc"] <= address]
        rule: Any = rows[-1]["cfa"] if rows else None
        if rule is None or rule.expr is not None or rule.reg not in (BASE_POINTER, STACK_POINTER):
            return None
        return rule.reg, rule.offset
    return None
