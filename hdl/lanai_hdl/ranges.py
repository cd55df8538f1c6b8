"""Numeric settings and the range of each, declared beside their dataclass and checked when one is
made."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .errors import UserError

Range = tuple[float, float]


def check_within(settings: Any, name: str, low: int, high: int, what: str = "a whole number") -> None:
    """Refuse a dataclass whose field `name` is not a whole number from `low` to `high`.

    Raises:
        UserError: quotes the value and the range.
    """
    value = getattr(settings, name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"{name}={value!r} must be {what} from {low} to {high}")


def check_power_of_two(settings: Any, name: str, low: int, high: int) -> None:
    """Refuse a dataclass whose field `name` is not a power of two from `low` to `high`.

    Raises:
        UserError: quotes the value.
    """
    check_within(settings, name, low, high)
    value = getattr(settings, name)
    if value & (value - 1):
        raise UserError(f"{name}={value!r} must be a power of two")


def check(settings: Any, ranges: Mapping[str, Range]) -> None:
    """Refuse a dataclass whose numbers are not in their ranges. Each number must have one. An integer field takes whole
    numbers only, a switch True and False.

    Raises:
        UserError: quotes the value and the range.
    """
    owner = type(settings).__name__
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(field.default, bool):
            if not isinstance(value, bool):
                raise UserError(f"{owner}.{field.name}={value!r} must be True or False")
            continue
        if field.name not in ranges:
            if isinstance(field.default, int | float):
                raise TypeError(f"{owner}.{field.name} has no range")
            continue
        low, high = ranges[field.name]
        whole = not isinstance(field.default, float)
        kinds = int if whole else int | float
        if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
            what = "a whole number" if whole else "a number"
            raise UserError(f"{owner}.{field.name}={value!r} must be {what} from {low:,} to {high:,}")
