"""The numbers of a configuration that only scale time, such as rates and latencies.

They decide constants and widths, and no structure. So one model serves all values of them: it is
built with the widths of the greatest values (`widest`), and gets the values when it runs
(`lanai_hdl.run_time`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

Configuration = TypeVar("Configuration", bound="Scaled")


class Scaled:
    """A configuration, a frozen dataclass, that may have such numbers. So may those in its fields."""

    @property
    def fixed(self) -> bool:
        """All its numbers, and those in its fields, are built in: another value is other hardware."""
        return False

    def greatest(self) -> Mapping[str, int]:
        """The greatest value of each field that only scales time."""
        return {}

    def derived(self) -> Mapping[str, int]:
        """The greatest value of each property that gateware takes as a number of its own, because it
        does not compute it from the fields."""
        return {}


def values(config: Scaled) -> dict[str, int]:
    """The numbers that only scale time by name, those in the fields included."""
    return {name: getattr(part, name) for part in _parts(config) for name in (*part.greatest(), *part.derived())}


def greatest(config: Scaled) -> dict[str, int]:
    """The greatest value of each of `values`."""
    return {name: most for part in _parts(config) for name, most in {**part.greatest(), **part.derived()}.items()}


def widest(config: Configuration) -> Configuration:
    """The configuration with the greatest value of each such number: the same for all
    configurations that differ in these numbers alone."""
    if config.fixed:
        return config
    changes: dict[str, Any] = {name: widest(part) for name, part in _inner(config)}
    return replace(config, **changes, **config.greatest())  # type: ignore[type-var]  # all are dataclasses


def _parts(config: Scaled) -> Iterator[Scaled]:
    if not config.fixed:
        yield config
        for _, part in _inner(config):
            yield from _parts(part)


def _inner(config: Scaled) -> Iterator[tuple[str, Scaled]]:
    for field in fields(config):  # type: ignore[arg-type]
        part = getattr(config, field.name)
        if isinstance(part, Scaled):
            yield field.name, part
