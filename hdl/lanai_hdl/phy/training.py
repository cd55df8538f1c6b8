"""Training as the pins of a cable have it, and what it tells of a cable whose wires are not where they should be."""

import itertools
from collections.abc import Iterator
from functools import cache

from .symbols import CONTROL, Control

PERIOD = 3  # symbols of training: TRAIN, MARK or HEARD, THIRD
SYMBOL_BITS = 10
WIRES = ("control", *(f"data {n}" for n in range(4)))
Halves = tuple[tuple[int, int], ...]  # of a wire: both halves of each symbol


def halves(symbols: tuple[int, ...]) -> tuple[Halves, ...]:
    """Return what each of WIRES has while these symbols pass, of SYMBOL_BITS each."""
    controls = tuple((one >> 8 & 1, one >> 9 & 1) for one in symbols)
    return controls, *(tuple((one >> n & 1, one >> (n + 4) & 1) for one in symbols) for n in range(4))


def symbols_of(window: int) -> tuple[int, ...]:
    """Return the symbols of a window, the oldest one first."""
    return tuple(window >> SYMBOL_BITS * n & (1 << SYMBOL_BITS) - 1 for n in reversed(range(PERIOD)))


def _trainings() -> Iterator[tuple[Halves, ...]]:
    """Training as it leaves the other side, from each of its symbols on."""
    for second in (Control.MARK, Control.HEARD):
        whole = [CONTROL << 8 | one.value for one in (Control.TRAIN, second, Control.THIRD)]
        for first in range(PERIOD):
            yield halves((*whole[first:], *whole[:first]))


@cache
def _explained(pins: tuple[Halves, ...]) -> list[tuple[tuple[int, ...], tuple[bool, ...]]]:
    """The ways in which training comes so: the wire that each pin has, and whether it is inverted. Those with the
    fewest wrong pins."""
    found: dict[tuple[tuple[int, ...], tuple[bool, ...]], int] = {}
    for sent in _trainings():
        for wires in itertools.permutations(range(len(WIRES))):
            inverted = []
            for pin, wire in zip(pins, wires, strict=True):
                if pin == sent[wire]:
                    inverted.append(False)
                elif all(a != c and b != d for (a, b), (c, d) in zip(pin, sent[wire], strict=True)):
                    inverted.append(True)
                else:
                    break
            else:
                moved = sum(pin != wire for pin, wire in enumerate(wires))
                found[wires, tuple(inverted)] = moved + sum(inverted)
    return [one for one, wrong in found.items() if wrong == min(found.values())]


def faults(window: int) -> list[str]:
    """Return what is wrong with the wires into a phy, a phrase each, by three symbols in a row that came while it was
    not locked. Empty if they are training, as it should be."""
    pins = halves(symbols_of(window))
    dead = [name for name, pin in zip(WIRES, pins, strict=True) if len({half for both in pin for half in both}) == 1]
    explained = _explained(pins)
    if not explained:
        if dead == list(WIRES):
            return ["nothing comes on any wire but the clock"]
        return [f"nothing comes on {name}" for name in dead if name != "control"] or ["what comes is no training"]
    told = [_told(one) for one in explained]
    return told[0] if len(told) == 1 else [" or ".join(" and ".join(texts) for texts in told)]


def _told(one: tuple[tuple[int, ...], tuple[bool, ...]]) -> list[str]:
    wires, inverted = one
    found = []
    for pin, wire in enumerate(wires):
        if wires[wire] == pin and pin < wire:
            found.append(f"{WIRES[pin]} and {WIRES[wire]} are swapped")
        elif wires[wire] != pin:
            found.append(f"{WIRES[pin]} has the wire of {WIRES[wire]}")
    # A pin without a wire is low, and control is high all along.
    texts = ("control is inverted or has no wire", *(f"{name} is inverted" for name in WIRES[1:]))
    return [*found, *(text for text, wrong in zip(texts, inverted, strict=True) if wrong)]
