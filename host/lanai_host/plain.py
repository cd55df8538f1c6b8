"""Objects of plain numbers that another process gets as JSON: `dataclasses.asdict` there, `restored`
here."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

KIND = TypeVar("KIND")


def restored(kind: type[KIND], values: Mapping[str, Any]) -> KIND:
    """The object of the dataclass `kind` that `asdict` made `values` of, after JSON, which has lists
    for tuples and dictionaries for dataclasses. TypeError if a field is missing or unknown."""
    hints = get_type_hints(kind)
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # a dataclass, as the caller promises
    return kind(**{name: _value(hints[name], one) if name in known else one for name, one in values.items()})


def _value(kind: Any, value: Any) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        return restored(kind, value)
    if get_origin(kind) is UnionType:
        inner, none = get_args(kind)
        assert none is type(None), f"{kind} must be one kind or None"
        return None if value is None else _value(inner, value)
    if get_origin(kind) is tuple or get_origin(kind) is Sequence:
        inner, *rest = get_args(kind)
        assert rest in ([...], []), f"{kind} must have any number of elements"
        return tuple(_value(inner, one) for one in value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(value)
    if isinstance(kind, type) and issubclass(kind, tuple):  # a NamedTuple
        return kind(*(_value(hint, one) for hint, one in zip(get_type_hints(kind).values(), value, strict=True)))
    return value
