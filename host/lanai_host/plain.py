"""Objects of plain numbers that another process gets as JSON: `dataclasses.asdict` there, `restored`
here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache, partial
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

KIND = TypeVar("KIND")
Reader = Callable[[Any], Any]  # makes of a value of JSON what it was


def restored(kind: type[KIND], values: Mapping[str, Any]) -> KIND:
    """The object of the dataclass `kind` that `asdict` made `values` of, after JSON, which has lists
    for tuples and dictionaries for dataclasses. TypeError if a field is missing or unknown."""
    readers = _readers(cast(Any, kind))
    return kind(**{name: readers[name](one) if name in readers else one for name, one in values.items()})


@cache  # the tables of a large job hold thousands of objects of one kind
def _readers(kind: type) -> dict[str, Reader]:
    """By field."""
    hints = get_type_hints(kind)
    return {field.name: _reader(hints[field.name]) for field in fields(kind)}


@cache
def _reader(kind: Any) -> Reader:
    if is_dataclass(kind) and isinstance(kind, type):
        return partial(restored, kind)
    if get_origin(kind) is UnionType:
        inner, none = get_args(kind)
        assert none is type(None), f"{kind} must be one kind or None"
        read = _reader(inner)
        return lambda value: None if value is None else read(value)
    if get_origin(kind) is tuple or get_origin(kind) is Sequence:
        inner, *rest = get_args(kind)
        assert rest in ([...], []), f"{kind} must have any number of elements"
        return _reader_of_many(_reader(inner))
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind
    if isinstance(kind, type) and issubclass(kind, tuple):  # a NamedTuple
        return _reader_of_named(kind)
    return _as_it_is


def _reader_of_many(read: Reader) -> Reader:
    return tuple if read is _as_it_is else lambda value: tuple(map(read, value))


def _reader_of_named(kind: Any) -> Reader:
    readers = [_reader(hint) for hint in get_type_hints(kind).values()]
    if all(read is _as_it_is for read in readers):
        return cast(Reader, kind._make)
    return lambda value: kind(*(read(one) for read, one in zip(readers, value, strict=True)))


def _as_it_is(value: Any) -> Any:
    return value
