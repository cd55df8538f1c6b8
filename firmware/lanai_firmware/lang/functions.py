"""`@firmware` and `@inline`: functions of the firmware, still callable as Python."""

import builtins
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import rules
from .integers import i32, operand, place, u32
from .machine import current
from .rules import FirmwareError
from .types import ArrayType, PtrType, align_up, alignof, is_integer, is_struct, name_of, resolve, sizeof
from .views import Pointer, bind_globals, load

DEFAULT_DEPTH = 1  # calls of one function that may be open at once; more must be declared, so that the stack is bounded


class Function:
    """A firmware function. Calling it runs the Python; the compiler reads `python`, `depth` and
    `inline`."""

    def __init__(self, python: Callable[..., Any], depth: int, inline: bool | None) -> None:
        functools.update_wrapper(self, python)
        self.python: Any = python
        self.depth = depth
        self.inline = inline
        self.open = 0
        python.__globals__.setdefault("range", typed_range)
        bind_globals(python.__globals__)

    @functools.cached_property
    def signature(self) -> tuple[dict[str, Any], Any]:
        """Parameter kinds by name, and the result's kind (None, bool or a kind)."""
        code = self.python.__code__
        names = code.co_varnames[: code.co_argcount]
        annotations = self.python.__annotations__
        kinds = {}
        for name in (*names, "return"):
            where = f"{self.python.__name__}: {name!r}"
            if name not in annotations:
                raise FirmwareError(f"{where} has no type; annotate it, `-> None` if nothing is returned")
            kinds[name] = value_kind(annotations[name], self.python.__globals__, where)
        result = kinds.pop("return")
        return kinds, result

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        """Return the default values of parameters that a call may leave out."""
        kinds, _ = self.signature
        values = self.python.__defaults__ or ()
        found = dict(zip(list(kinds)[len(kinds) - len(values) :], values, strict=True))
        for name, value in found.items():
            what = f"the default of {name!r} of {self.python.__name__}"
            if not isinstance(value, int):
                raise FirmwareError(f"{what} is {value!r}; a default is an integer constant")
            coerce(kinds[name], value, what)
        return found

    def bind(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of each parameter in a call with these arguments."""
        return rules.bind_arguments(self.python.__name__, list(self.signature[0]), self.defaults, given, named)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if "signature" not in self.__dict__:
            bind_globals(self.python.__globals__)
        kinds, result = self.signature
        if named or len(arguments) != len(kinds):
            arguments = tuple(self.bind(arguments, named).values())
        own = self.python.__name__
        values = [
            coerce(kind, value, f"{name!r} of {own}")
            for (name, kind), value in zip(kinds.items(), arguments, strict=True)
        ]
        if self.open >= self.depth:
            raise FirmwareError(
                f"{self.python.__name__} calls itself deeper than the {self.depth} declared; "
                f"write @firmware(depth={2 * self.depth}) or a loop"
            )
        self.open += 1
        machine = current()
        stack = machine.stack
        try:
            value = self.python(*values)
        finally:
            self.open -= 1
            machine.stack = stack
        return coerce(result, value, f"the result of {own}")


def value_kind(annotation: Any, namespace: dict[str, Any], where: str) -> Any:
    """Return the kind of a parameter or result: a scalar kind, bool, or None for no result."""
    if annotation in (None, type(None), "None"):
        return None
    if annotation in (bool, "bool"):
        return bool
    kind = resolve(annotation, namespace, where)
    if is_struct(kind) or isinstance(kind, ArrayType):
        raise FirmwareError(f"{where}: a whole {name_of(kind)} is not passed; pass Ptr[...] and address_of(x)")
    return kind


def coerce(kind: Any, value: Any, what: str) -> Any:
    """`value` as a `kind`, as passing an argument does: literals take the type, other types must
    match."""
    if kind is None:
        if value is not None:
            raise FirmwareError(f"{value!r} is returned where `-> None` was declared")
        return None
    if kind is bool:
        if not isinstance(value, bool):
            raise FirmwareError(f"{value!r} given for {what}, which is bool; write x != 0")
        return value
    if isinstance(kind, PtrType):
        if not isinstance(value, Pointer) or value._type != kind:
            raise FirmwareError(
                f"{value!r} given for {what}, which is {kind}; convert it: cast({name_of(kind.target)}, x)"
            )
        return value
    return kind(place(kind, value, what))


def firmware(
    python: Callable[..., Any] | None = None, *, depth: int = DEFAULT_DEPTH, inline: bool | None = None
) -> Any:
    """Mark a function as firmware. `depth`: how many calls of it may be open at once.
    `inline=False`: never inlined."""
    if python is None:
        return functools.partial(firmware, depth=depth, inline=inline)
    return Function(python, depth, inline)


def inline(python: Callable[..., Any]) -> Any:
    """Mark a function as firmware that is always inlined into its callers."""
    return Function(python, DEFAULT_DEPTH, True)


def typed_range(*bounds: int) -> Iterator[Any]:
    """`range` in firmware modules: its numbers are u32 or i32, as `rules.range_kind` says."""
    if not 1 <= len(bounds) <= 3:
        raise FirmwareError("range takes a stop, or a start and a stop, or both and a constant step")
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    kind = rules.range_kind(operand(start, "range"), operand(stop, "range"), int(step), u32, i32)
    return (kind(value) for value in builtins.range(int(start), int(stop), int(step)))


def local(kind: Any, *, align: int = 4) -> Any:
    """A zeroed struct or array on the stack, gone when the function returns. `align` is a power of
    two."""
    if is_integer(kind) or isinstance(kind, PtrType):
        raise FirmwareError(f"local({name_of(kind)}): a plain variable does; local() is for structs and arrays")
    machine = current()
    align = max(4, alignof(kind), align)
    address = (machine.stack - align_up(sizeof(kind), 4)) & -align
    if address < machine.stack_bottom:
        raise FirmwareError(f"local {name_of(kind)} of {sizeof(kind)} bytes does not fit on the stack")
    machine.stack = address
    machine.sram[address : address + sizeof(kind)] = bytes(sizeof(kind))
    return load(kind, address)
