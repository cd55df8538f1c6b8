"""Types of a program's variables, from its debugging information: what lies at each byte."""

from typing import Any, NamedTuple

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
