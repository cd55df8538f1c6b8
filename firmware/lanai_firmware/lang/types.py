"""Types as objects: pointers, arrays, and the layout of structs.

A *kind* is what an annotation names: an integer type, a `Struct` subclass, a `PtrType` or an
`ArrayType`. Layout is the natural one of the Lanai: each member aligned to its size, structs to
their widest member, everything big-endian.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

from .integers import Word
from .rules import FirmwareError

POINTER_SIZE = 4


@dataclass(frozen=True)
class PtrType:
    """Pointer to `target`: a kind, or the name of one that is resolved where it was written."""

    target: Any

    def __str__(self) -> str:
        return f"Ptr[{name_of(self.target)}]"


@dataclass(frozen=True)
class ArrayType:
    """`count`: elements, or the name of a constant that tells, which is resolved where it was written."""

    element: Any
    count: Any

    def __str__(self) -> str:
        return f"Array[{name_of(self.element)}, {self.count}]"


@dataclass(frozen=True)
class GlobalType:
    """The annotation `Global[kind]` of a module-level name."""

    kind: Any


@dataclass(frozen=True)
class ConstType:
    """The annotation `Const[kind]` of a module-level name."""

    kind: Any


class Ptr:
    """`Ptr[T]`: the address of a T in SRAM. T may be named by a string if it is defined later."""

    def __class_getitem__(cls, target: Any) -> PtrType:
        return PtrType(target)


class Array:
    """`Array[T, n]`: n elements, one after the other. n may be the name of a constant, as a string: a build may then
    set it."""

    def __class_getitem__(cls, parameters: Any) -> ArrayType:
        if not (isinstance(parameters, tuple) and len(parameters) == 2):
            raise FirmwareError(f"Array[{parameters}] lacks its size; write Array[u32, 8]")
        element, count = parameters
        if isinstance(count, str):
            return ArrayType(element, count)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise FirmwareError(f"Array[{name_of(element)}, {count!r}]: the size must be a constant of at least 1")
        return ArrayType(element, int(count))


class Const:
    """`NAME: Const[u32] = u32(64)`: a compile-time constant of a module."""

    def __class_getitem__(cls, kind: Any) -> ConstType:
        return ConstType(kind)


@dataclass(frozen=True)
class Field:
    name: str
    kind: Any
    offset: int


@dataclass(frozen=True)
class Layout:
    """`named`: the constants by whose names array sizes were given, here or in a member."""

    fields: dict[str, Field]
    size: int
    align: int
    named: frozenset[str]


def is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "__firmware_struct__")


def is_integer(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Word)


def name_of(kind: Any) -> str:
    if kind is None or kind is type(None):
        return "None"
    return kind if isinstance(kind, str) else kind.__name__ if isinstance(kind, type) else str(kind)


def resolve(kind: Any, namespace: dict[str, Any], where: str) -> Any:
    """`kind` with every name in it looked up. `where` says in an error what was being declared."""
    if isinstance(kind, str):
        try:
            kind = eval(kind, namespace)
        except Exception as error:
            raise FirmwareError(f"{where}: type {kind!r} is not known here ({error}); import or define it") from error
        return resolve(kind, namespace, where)
    if isinstance(kind, PtrType):
        return PtrType(resolve(kind.target, namespace, where))
    if isinstance(kind, ArrayType):
        return ArrayType(resolve(kind.element, namespace, where), _count(kind.count, namespace, where))
    if isinstance(kind, GlobalType | ConstType):
        return type(kind)(resolve(kind.kind, namespace, where))
    if is_integer(kind) or is_struct(kind):
        return kind
    raise FirmwareError(
        f"{where}: {name_of(kind)} is not a firmware type; use u8, u16, u32, i32, a Struct, Ptr[T] or Array[T, n]"
    )


_set: ContextVar[tuple[tuple[str, int], ...]] = ContextVar("_set", default=())  # constants that a build sets, by name


@contextmanager
def constants_set(constants: Mapping[str, int]) -> Iterator[None]:
    """Lay structs out as a build with these values of constants has them."""
    token = _set.set(tuple(sorted(constants.items())))
    try:
        yield
    finally:
        _set.reset(token)


def _count(count: Any, namespace: dict[str, Any], where: str) -> int:
    """Return the number of elements, which a constant's name may stand for."""
    if not isinstance(count, str):
        return int(count)
    if count not in namespace:
        raise FirmwareError(f"{where}: the size {count!r} is not known here; import or define the constant")
    found = Array.__class_getitem__(("?", dict(_set.get()).get(count, namespace[count])))
    return int(found.count)


def align_up(value: int, align: int) -> int:
    return (value + align - 1) & -align


def sizeof(kind: Any) -> int:
    """Bytes that a `kind` occupies."""
    if isinstance(kind, PtrType):
        return POINTER_SIZE
    if isinstance(kind, ArrayType):
        return int(kind.count) * sizeof(kind.element)
    return layout(kind).size if is_struct(kind) else int(kind.size)


def alignof(kind: Any) -> int:
    if isinstance(kind, ArrayType):
        return alignof(kind.element)
    return layout(kind).align if is_struct(kind) else sizeof(kind)


def annotations_of(owner: Any) -> dict[str, Any]:
    return dict(getattr(owner, "__annotations__", {}))


def layout(struct: type) -> Layout:
    """Offsets of the struct's members, in the order written. A struct that contains itself is
    refused."""
    return _layout(struct, _set.get())


def names_in(kind: Any) -> frozenset[str]:
    """Return the constants by whose names array sizes inside a struct or an array of them were given."""
    while isinstance(kind, ArrayType):
        kind = kind.element
    return layout(kind).named if is_struct(kind) else frozenset()


@cache
def _layout(struct: type, constants: tuple[tuple[str, int], ...]) -> Layout:
    """`layout` with these constants, which `_set` has."""
    namespace = {**vars(sys.modules[struct.__module__]), struct.__name__: struct}
    fields: dict[str, Field] = {}
    offset, align = 0, 1
    named: set[str] = set()
    for name, annotation in annotations_of(struct).items():
        where = f"{struct.__name__}.{name}"
        kind = resolve(annotation, namespace, where)
        inner, written = kind, annotation
        while isinstance(inner, ArrayType):
            inner = inner.element
        while isinstance(written, ArrayType):
            named |= {written.count} if isinstance(written.count, str) else set()
            written = written.element
        if inner is struct:
            raise FirmwareError(f"{where}: a struct does not contain itself; write Ptr[{struct.__name__}]")
        if hasattr(struct, name):
            raise FirmwareError(f"{where} has a default; members of a struct have types only, and start as zero")
        named |= names_in(kind)
        offset = align_up(offset, alignof(kind))
        fields[name] = Field(name, kind, offset)
        offset += sizeof(kind)
        align = max(align, alignof(kind))
    if not fields:
        raise FirmwareError(f"struct {struct.__name__} has no members; give it at least one")
    return Layout(fields, align_up(offset, align), align, frozenset(named))


def field_of(struct: type, name: str) -> Field:
    fields = layout(struct).fields
    if name not in fields:
        raise FirmwareError(f"{struct.__name__} has no member {name!r}; it has {', '.join(fields)}")
    return fields[name]


def offset_of(struct: type, name: str) -> int:
    """Return the offset of the struct member `name`, in bytes."""
    return field_of(struct, name).offset
