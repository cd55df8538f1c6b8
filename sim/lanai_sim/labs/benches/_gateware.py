"""Helpers for the benches of a student's gateware: loading it, its ports, waits with a limit."""

import importlib
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from amaranth import Shape
from amaranth.hdl import UnusedElaboratable
from amaranth.lib import wiring

from ..task import Wrong

PERCENT = 100
ENDLESS = "combinational logic that depends on itself never settles"


def loaded(folder: Path, file: str, name: str) -> Any:
    """Return what the student's file calls `name`."""
    warnings.simplefilter("ignore", UnusedElaboratable)  # a design that is refused leaves a half-made one behind
    module = importlib.import_module(Path(file).stem)
    if Path(str(module.__file__)).parent != folder:
        raise Wrong(f"{file} has the name of a module of Python; keep the file's name")
    found = getattr(module, name, None)
    if found is None:
        raise Wrong(f"{file} defines no {name}; keep the names of the starting code")
    return found


def check_ports(component: Any, needed: Mapping[str, Any]) -> None:
    """Raise `Wrong` unless a component has these ports."""
    name = type(component).__name__
    if not isinstance(component, wiring.Component):
        raise Wrong(f"{name} is not a wiring.Component; keep the base class of the starting code")
    try:
        members = component.signature.members
    except AttributeError:
        raise Wrong(f"{name} has no ports; call super().__init__() as the starting code does") from None
    for port, member in needed.items():
        if port not in members:
            raise Wrong(f"{name} has no port {port!r}; keep the ports of the starting code")
        if _described(members[port]) != _described(member):
            raise Wrong(f"port {port!r} of {name} has another direction or shape than in the starting code")


def _described(member: Any) -> Any:
    """Return the direction and shape of a port, or of each of its members."""
    if member.is_port:
        return member.flow, Shape.cast(member.shape), member.dimensions
    inner = {name: _described(one) for name, one in member.signature.members.items()}
    return member.flow, inner, member.dimensions


def addresses(sizes: Iterable[int], first: int, gap: int) -> list[int]:
    """Return where pieces of these sizes are, each `gap` bytes behind the end of the one before."""
    found = []
    for size in sizes:
        found.append(first)
        first += (size + 3 & ~3) + gap
    return found
