"""Objects in SRAM as firmware sees them under CPython: pointers, structs, arrays, globals.

A view holds an address, never data: every access reads or writes the current machine's SRAM,
big-endian, so that firmware in Python lays out and shares memory with DMA engines and the host
exactly as compiled firmware does.
"""

import sys
from collections.abc import Iterator
from typing import Any

from .integers import place, u32
from .machine import current
from .rules import FirmwareError
from .types import (
    ArrayType,
    GlobalType,
    PtrType,
    annotations_of,
    field_of,
    is_integer,
    is_struct,
    name_of,
    resolve,
    sizeof,
)


def load(kind: Any, address: int) -> Any:
    """The value of a `kind` at `address`: an integer, a pointer, or a view of a struct or array."""
    if is_integer(kind):
        return kind(current().load(address, kind.size))
    if isinstance(kind, PtrType):
        return Pointer(kind, current().load(address, 4))
    if isinstance(kind, ArrayType):
        return ArrayView(kind, address)
    return view_struct(kind, address)


def store(kind: Any, address: int, value: Any) -> None:
    if is_integer(kind):
        current().store(address, kind.size, place(kind, value, "a member or element"))
    elif isinstance(kind, PtrType):
        if not isinstance(value, Pointer) or value._type != kind:
            raise FirmwareError(f"{value!r} stored where {kind} is; convert it: cast({name_of(kind.target)}, x)")
        current().store(address, 4, value._address)
    else:
        raise FirmwareError(f"a whole {name_of(kind)} is not assigned; write copy(target, source, sizeof(...))")


class Pointer:
    """A `Ptr[T]` value. `p.member` reads through it, `p[i]` and `p + i` count elements, `u32(p)` is
    the address."""

    __slots__ = ("_address", "_type")
    _type: PtrType
    _address: int

    def __init__(self, kind: PtrType, address: int) -> None:
        object.__setattr__(self, "_type", kind)
        object.__setattr__(self, "_address", int(address) & 0xFFFFFFFF)

    def __getattr__(self, name: str) -> Any:
        field = field_of(self._struct(name), name)
        return load(field.kind, self._address + field.offset)

    def __setattr__(self, name: str, value: Any) -> None:
        field = field_of(self._struct(name), name)
        store(field.kind, self._address + field.offset, value)

    def _struct(self, name: str) -> type:
        target = self._type.target
        if not is_struct(target) or name.startswith("__"):
            raise AttributeError(f"{self._type} has no member {name!r}; only pointers to structs have members")
        if self._address == 0:
            raise FirmwareError(f"member {name!r} through a null {self._type}")
        return target  # type: ignore[no-any-return]

    def __getitem__(self, index: int) -> Any:
        return load(self._type.target, (self + index)._address)

    def __setitem__(self, index: int, value: Any) -> None:
        store(self._type.target, (self + index)._address, value)

    def __add__(self, count: int) -> "Pointer":
        return Pointer(self._type, self._address + int(count) * sizeof(self._type.target))

    def __sub__(self, count: int) -> "Pointer":
        if isinstance(count, Pointer):
            raise FirmwareError("pointers are not subtracted; write (u32(p) - u32(q)) // sizeof(T)")
        return self + -int(count)

    def __int__(self) -> int:
        return self._address

    def __bool__(self) -> bool:
        return self._address != 0

    def _same(self, other: Any) -> bool:
        if not isinstance(other, Pointer) or other._type != self._type:
            raise FirmwareError(f"{self._type} compared with {other!r}; convert it: cast(T, x), or null(T)")
        return other._address == self._address

    def __eq__(self, other: Any) -> bool:
        return self._same(other)

    def __ne__(self, other: Any) -> bool:
        return not self._same(other)

    def __hash__(self) -> int:
        return hash(self._address)

    def __repr__(self) -> str:
        return f"{self._type}({self._address:#x})"


class Struct:
    """Base of structs: annotate members in the subclass. Instances are views of SRAM; firmware
    never constructs one."""

    __firmware_struct__ = True
    _address: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__mro__[1] is not Struct and cls.__mro__[1] is not cls and not hasattr(cls, "__firmware_view__"):
            raise FirmwareError(f"struct {cls.__name__} derives from {cls.__mro__[1].__name__}; nest it as a member")

    def __init__(self) -> None:
        raise FirmwareError(
            f"{type(self).__name__}() makes no object; declare `name: Global[{type(self).__name__}]` or use at()"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        field = field_of(kind_of(self), name)
        return load(field.kind, self._address + field.offset)

    def __setattr__(self, name: str, value: Any) -> None:
        field = field_of(kind_of(self), name)
        store(field.kind, self._address + field.offset, value)

    def __repr__(self) -> str:
        return f"<{kind_of(self).__name__} at {self._address:#x}>"


def kind_of(view: Struct) -> type:
    return getattr(type(view), "__firmware_view__", type(view))


def view_struct(kind: type, address: int) -> Any:
    view: Any = object.__new__(kind)
    object.__setattr__(view, "_address", address)
    return view


class ArrayView:
    """An array in SRAM: `a[i]` reads and writes, `len(a)` is constant."""

    def __init__(self, kind: ArrayType, address: int) -> None:
        self._kind = kind
        self._address = address

    def _place(self, index: int) -> int:
        if not 0 <= int(index) < self._kind.count:
            raise FirmwareError(f"index {int(index)} is outside {self._kind}")
        return self._address + int(index) * sizeof(self._kind.element)

    def __getitem__(self, index: int) -> Any:
        return load(self._kind.element, self._place(index))

    def __setitem__(self, index: int, value: Any) -> None:
        store(self._kind.element, self._place(index), value)

    def __len__(self) -> int:
        return int(self._kind.count)

    def __iter__(self) -> Iterator[Any]:
        raise FirmwareError("arrays are not iterated; write `for i in range(len(a))`")

    def __repr__(self) -> str:
        return f"<{self._kind} at {self._address:#x}>"


class GlobalArray(ArrayView):
    """A module-level array; its address is what the current machine says."""

    def __init__(self, symbol: str, kind: ArrayType) -> None:
        self._symbol = symbol
        self._kind = kind

    @property
    def _address(self) -> int:  # type: ignore[override]
        return current().place(self._symbol, self._kind)


def view_global(symbol: str, kind: Any) -> Any:
    if isinstance(kind, ArrayType):
        return GlobalArray(symbol, kind)
    if not is_struct(kind):
        raise FirmwareError(f"Global[{name_of(kind)}] {symbol}: globals are structs or arrays; put it in a struct")
    place = property(lambda self: current().place(symbol, kind))
    members = {"__firmware_view__": kind, "_address": place, "_symbol": symbol}
    return object.__new__(type(kind.__name__, (kind,), members))


def symbol_of(view: Any) -> tuple[str, Any] | None:
    """Name and kind of a global; None for a view of some machine's memory."""
    if isinstance(view, GlobalArray):
        return view._symbol, view._kind
    symbol = vars(type(view)).get("_symbol")
    return (symbol, kind_of(view)) if symbol is not None else None


class Global:
    """`name: Global[T]` in a module: a zeroed struct or array in SRAM.

    A bare annotation binds no name in Python, so writing one leaves a `__getattr__` in its module
    that makes the object when another module imports it, and `@firmware` binds those of its own
    module.
    """

    def __class_getitem__(cls, kind: Any) -> GlobalType:
        namespace = sys._getframe(1).f_globals
        name = namespace.get("__name__", "")
        if name not in ("__main__", __name__):
            namespace.setdefault("__getattr__", lambda wanted: find_global(namespace, wanted))
        return GlobalType(kind)


def find_global(namespace: dict[str, Any], name: str) -> Any:
    bind_globals(namespace)
    if name in namespace:
        return namespace[name]
    raise AttributeError(f"module {namespace.get('__name__')!r} has no attribute {name!r}")


def bind_globals(namespace: dict[str, Any]) -> None:
    """Make the objects of all `name: Global[T]` annotations of a module that are not there yet."""
    module = sys.modules.get(namespace.get("__name__", ""))
    own = module if module is not None and vars(module) is namespace else None
    declared = annotations_of(own) if own is not None else namespace.get("__annotations__", {})
    for name, annotation in list(declared.items()):
        if name in namespace:
            continue
        if isinstance(annotation, str) and annotation.startswith("Global["):
            annotation = eval(annotation, namespace)
        if isinstance(annotation, GlobalType):
            symbol = f"{namespace['__name__']}.{name}"
            namespace[name] = view_global(symbol, resolve(annotation.kind, namespace, symbol))


def address_of(thing: Any) -> Pointer:
    """The address of a struct or an array, as a pointer to the struct or to the first element."""
    if isinstance(thing, ArrayView):
        return Pointer(PtrType(thing._kind.element), thing._address)
    if isinstance(thing, Struct):
        return Pointer(PtrType(kind_of(thing)), thing._address)
    raise FirmwareError(
        f"address_of({thing!r}): a value has no address; write address_of(array) + i, or at(Ptr[T], u32(p) + "
        "offset_of(...))"
    )


def at(kind: Any, address: int) -> Pointer:
    """The pointer of type `kind` (`Ptr[T]`, or T for short) to `address`."""
    return Pointer(kind if isinstance(kind, PtrType) else PtrType(kind), int(place(u32, address, "the address")))


def cast(kind: Any, pointer: Pointer) -> Pointer:
    """The same address as a pointer of type `kind` (`Ptr[T]`, or T for short)."""
    if not isinstance(pointer, Pointer):
        raise FirmwareError(f"cast of {pointer!r}, which is not a pointer; write at(Ptr[T], address)")
    return at(kind, pointer._address)


def null(kind: Any) -> Pointer:
    """The null pointer to a T."""
    return at(kind, 0)
