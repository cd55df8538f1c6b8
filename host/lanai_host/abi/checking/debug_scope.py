"""The variables that are in scope at an instruction of a program, from its debugging information."""

import os
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.descriptions import describe_form_class
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.elf.elffile import ELFFile

# Types of a program's variables, from its debugging information: what lies at each byte.


_TRANSPARENT = (
    "DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type", "DW_TAG_atomic_type",
)  # fmt: skip
_KINDS = {4: "f", 5: "i", 7: "u", 3: "c"}  # encodings of DWARF, by numpy's letters; of others nothing is said
_COMPOUND = ("DW_TAG_structure_type", "DW_TAG_class_type")
_POINTERS = ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type")
MOST_NESTED = 32


class Scalar(NamedTuple):
    """A number: "i" signed, "u" unsigned, "f" floating, "c" complex; its bytes and its name."""

    kind: str
    size: int
    name: str


class Shape:
    """The layout of a type: which number lies at each byte. `text` names the type as C does. This base class knows no
    numbers."""

    def __init__(self, size: int, text: str) -> None:
        self.size = size
        self.text = text

    def at(self, offset: int) -> tuple[Scalar, int] | None:
        """Return the number that holds this byte, and which byte of it that is; None if nothing can be said."""
        return None


class _Number(Shape):
    def __init__(self, scalar: Scalar) -> None:
        super().__init__(scalar.size, scalar.name)
        self._scalar = scalar

    def at(self, offset: int) -> tuple[Scalar, int] | None:
        return self._scalar, offset


class _Array(Shape):
    def __init__(self, element: Shape, counts: list[int]) -> None:
        size = element.size
        for count in counts:
            size *= count
        super().__init__(size, element.text + "".join(f"[{count}]" for count in counts))
        self._element = element

    def at(self, offset: int) -> tuple[Scalar, int] | None:
        return self._element.at(offset % self._element.size) if self._element.size else None


class _Struct(Shape):
    def __init__(self, size: int, text: str, members: list[tuple[int, Shape]]) -> None:
        super().__init__(size, text)
        self._members = members

    def at(self, offset: int) -> tuple[Scalar, int] | None:
        for first, member in self._members:
            if first <= offset < first + member.size:
                return member.at(offset - first)
        return None


def shape_of(entry: Any, depth: int = 0) -> Shape | None:
    """Return the shape of the type that a debugging entry has; None if its size is not known."""
    kind = _type_of(entry)
    if kind is None or depth > MOST_NESTED:
        return None
    if kind.tag == "DW_TAG_array_type":
        return _array(kind, depth)
    size = _number(kind, "DW_AT_byte_size")
    if kind.tag in _POINTERS:
        return Shape(size or 8, "a pointer")
    if size is None:
        return None
    name = _name(kind)
    if kind.tag == "DW_TAG_base_type":
        letter = _KINDS.get(_number(kind, "DW_AT_encoding") or 0)
        return _Number(Scalar(letter, size, name)) if letter else Shape(size, name)
    if kind.tag in _COMPOUND:
        return _Struct(size, f"struct {name}" if name else "a struct", list(_members(kind, depth)))
    return Shape(size, name or "a variable")


def pointed_at(entry: Any) -> Shape | None:
    """Return the shape of what a variable points at; None if it is not a pointer, or to nothing known."""
    kind = _type_of(entry)
    return shape_of(kind) if kind is not None and kind.tag == "DW_TAG_pointer_type" else None


def _type_of(entry: Any) -> Any:
    """Return the entry of a type without its names and qualifiers."""
    for _ in range(MOST_NESTED):
        if "DW_AT_type" not in entry.attributes:
            return None
        entry = entry.get_DIE_from_attribute("DW_AT_type")
        if entry.tag not in _TRANSPARENT:
            return entry
    return None


def _array(kind: Any, depth: int) -> Shape | None:
    element = shape_of(kind, depth + 1)
    counts = []
    for child in kind.iter_children():
        if child.tag == "DW_TAG_subrange_type":
            count, last = _number(child, "DW_AT_count"), _number(child, "DW_AT_upper_bound")
            if count is None and last is None:
                return None  # of variable length
            low = _number(child, "DW_AT_lower_bound") or 0
            counts.append(count if count is not None else (last or 0) + 1 - low)
    return _Array(element, counts) if element is not None and counts else None


def _members(kind: Any, depth: int) -> Any:
    for child in kind.iter_children():
        if child.tag not in ("DW_TAG_member", "DW_TAG_inheritance") or "DW_AT_bit_size" in child.attributes:
            continue
        first, member = _number(child, "DW_AT_data_member_location"), shape_of(child, depth + 1)
        if first is not None and member is not None:
            yield first, member


def _number(entry: Any, attribute: str) -> int | None:
    """Return an attribute that is a constant."""
    value = entry.attributes[attribute].value if attribute in entry.attributes else None
    return value if isinstance(value, int) else None


def _name(entry: Any) -> str:
    found = entry.attributes.get("DW_AT_name")
    return found.value.decode(errors="replace") if found is not None else ""


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
