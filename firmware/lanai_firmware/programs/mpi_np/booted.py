"""NICs in plain Python are booted once for each plan. `boot` clears all tables, which takes longer
there than most of what is done with a NIC afterwards."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, fields
from hashlib import sha256
from types import ModuleType
from typing import Any

from lanai_firmware.lang.functions import Function
from lanai_firmware.nic.model import Nic

KEPT = 32  # boots, those used last
AROUND = ("memory", "turn_of", "config", "machine")  # of a NIC: what is not its own state


@dataclass(frozen=True)
class _Booted:
    """The state that a boot left."""

    sram: bytes  # without the zeros at its end
    state: dict[str, Any]
    placed: dict[str, int]
    heap: int


_booted: dict[tuple[object, ...], _Booted] = {}


def boot_once(nic: Nic, boot: Callable[[], bool]) -> bool:
    """Do to the NIC, whose machine has been entered, all that `boot()` does, and return its answer. The
    firmware runs only if it has not booted such a NIC yet, or not with the code that it has now."""
    key = (boot, nic.config, _digest(nic), _code(boot))
    known = _booted.pop(key, None)
    if known is None:
        if not boot():
            return False
        known = _taken(nic)
    else:
        _give(nic, known)
    _booted[key] = known
    while len(_booted) > KEPT:
        del _booted[next(iter(_booted))]
    return True


def _state(nic: Nic) -> dict[str, Any]:
    return {field.name: getattr(nic, field.name) for field in fields(nic) if field.name not in AROUND}


def _digest(nic: Nic) -> bytes:
    """Return the hash of all that the firmware can see."""
    machine = nic.machine
    seen = (sorted(machine.placed.items()), machine.heap, machine.stack, machine.limit, machine.fixed, _state(nic))
    return sha256(repr(seen).encode() + machine.sram).digest()


def _code(function: Callable[..., Any]) -> tuple[object, ...]:
    """The code of a firmware function and of all that it may call."""
    assert isinstance(function, Function)
    found = {function: function.python.__code__}
    left = [function]
    while left:
        one = left.pop()
        names = one.python.__code__.co_names
        known = [one.python.__globals__.get(name) for name in names]
        inside = [getattr(module, name, None) for module in known if isinstance(module, ModuleType) for name in names]
        for called in (*known, *inside):
            if isinstance(called, Function) and called not in found:
                found[called] = called.python.__code__
                left.append(called)
    return tuple(found.values())


def _taken(nic: Nic) -> _Booted:
    machine = nic.machine
    sram = bytes(machine.sram).rstrip(b"\0")
    return _Booted(sram, copy.deepcopy(_state(nic)), dict(machine.placed), machine.heap)


def _give(nic: Nic, booted: _Booted) -> None:
    machine = nic.machine
    machine.sram[:] = booted.sram.ljust(len(machine.sram), b"\0")
    machine.placed, machine.heap = dict(booted.placed), booted.heap
    for name, value in copy.deepcopy(booted.state).items():
        setattr(nic, name, value)
