"""Find cases in recorded inputs of NICs: fields that often have the same values together.

A candidate is for the slots in which some parts of the NIC do nothing. The one with the greatest gain is taken: slots
that it fits and none before it does, and the more fields it knows, the better. Then the next."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..designs import Design
from ..replay import Inputs
from .cases import Case, kind_of, known, stable_names
from .code import BYTES, container
from .compiled import Model, Simulation, model
from .ports import NIC_INPUTS

PARTS = {  # fields that are 0 while a part of the NIC does nothing
    "host": ("host_dma.fsm_state", "host_bus.master.fsm_state"),
    "send": ("send_dma.fsm_state",),
    "receive": ("receive_dma.fsm_state", "deframer.fsm_state", "receiver.fifo.level"),
}
EVERY = 5  # slots, of which one is looked at: an odd number, as what happens in even and odd slots differs
ROWS = 4000  # of one recording at most: a long one counts no more than others
BOOT = 0.25  # of a recording, which is left out
KEEPS = (0.95, 0.8, 0.6, 0.4)  # shares of a candidate's slots in which all its fields have their values
SHARE = 0.8  # a field has its value at least so often
LEAST = 0.01  # of all slots has a candidate
SELDOM = 0.02  # of a recording's slots: a value that a field has less often in one is that of a run, such as an address
LARGE = 1 << 16  # values from here on are addresses and times, which another run has otherwise
COUNTERS = "lanai_nic.nic.counters."  # they keep what happened once
POWER = 3  # of the number of fields, in the gain

Fields = dict[str, NDArray[np.uint64]]


def chosen(recordings: Sequence[Inputs], wanted: int = 4) -> list[Case]:
    """Return at most as many cases of NICs of one kind."""
    model_of = model(Design(recordings[0].nic))
    states = [_states(one, model_of) for one in recordings]
    of = np.repeat(np.arange(len(states)), [len(one) for one in states])
    return list(_best(_fields(np.concatenate(states), model_of), of, wanted, kind_of(recordings[0].nic)))


def share(recording: Inputs) -> float:
    """Return the share of the slots after the boot that fit a case of the NIC's model."""
    model_of = model(Design(recording.nic))
    fields = _fields(_states(recording, model_of), model_of)
    widths = {name: width for name, (_, width) in model_of.layout.state.places.items()}
    fits = [
        np.all([fields[name] == value for name, value in one.items()], axis=0) for one in known(widths, recording.nic)
    ]
    return float(np.any(fits, axis=0).mean())


def _states(recording: Inputs, model_of: Model) -> NDArray[np.uint8]:
    simulation = Simulation(model_of, Design(recording.nic).numbers)
    slots = np.zeros(len(recording.slots), simulation.inputs)
    for column, port in NIC_INPUTS.items():
        slots[port] = recording.slots[column]
    rows = []
    for first in range(0, len(slots), EVERY):
        simulation.run(slots[first : first + EVERY])
        rows.append(simulation.state)
    rows = rows[int(len(rows) * BOOT) :]
    return np.array(rows[:: -(-len(rows) // ROWS)])


def _fields(rows: NDArray[np.uint8], model_of: Model) -> Fields:
    found = {}
    for name, (at, width) in model_of.layout.state.places.items():
        size = container(width) // BYTES
        if size <= 8 and not name.startswith(COUNTERS):
            column = np.ascontiguousarray(rows[:, at : at + size]).view(f"<u{size}")
            found[name] = column[:, 0].astype(np.uint64)
    return found


def _best(fields: Fields, of: NDArray[np.intp], wanted: int, kind: str) -> Iterator[Case]:
    still = {
        part: np.all([fields[f"lanai_nic.nic.{name}"] == 0 for name in names], axis=0) for part, names in PARTS.items()
    }
    left = np.ones(len(next(iter(fields.values()))), bool)
    for _ in range(wanted):
        found = [one for idle in _idle() for one in _candidates(fields, of, still, idle, left)]
        if not found:
            return
        _, name, values, fits = max(found, key=lambda one: one[0])
        stable = stable_names(fields)
        yield Case(name, kind, {stable[name]: value for name, value in values.items()})
        left &= ~fits


def _idle() -> Iterator[tuple[str, ...]]:
    for count in range(len(PARTS) + 1):
        yield from combinations(PARTS, count)


def _candidates(
    fields: Fields,
    of: NDArray[np.intp],
    still: Mapping[str, NDArray[np.bool_]],
    idle: Sequence[str],
    left: NDArray[np.bool_],
) -> Iterator[tuple[float, str, dict[str, int], NDArray[np.bool_]]]:
    """Each with its gain, its name, its values and the slots that it fits. `of`: the recording of each slot."""
    rows = np.all([left, *(still[part] for part in idle)], axis=0)
    if rows.sum() < len(left) * LEAST:
        return
    usual = {name: _usual(values[rows], of[rows]) for name, values in fields.items()}
    for keep in KEEPS:
        fits, known = np.ones(len(rows), bool), dict[str, int]()
        for name in sorted(usual, key=lambda name: -usual[name][1]):
            value, share = usual[name]
            if share < SHARE:
                break
            now = fits & (fields[name] == value)
            if (now & rows).sum() >= keep * rows.sum():
                fits, known[name] = now, value
        works = "-".join(part for part in PARTS if part not in idle) or "quiet"
        yield float((fits & left).sum()) * float(len(known)) ** POWER, works, known, fits


def _usual(values: NDArray[np.uint64], of: NDArray[np.intp]) -> tuple[int, float]:
    """Return the most frequent value, and its share: none if it is a value of some recordings alone."""
    found, counts = np.unique(values, return_counts=True)
    at = counts.argmax()
    slots = np.bincount(of)
    there = np.bincount(of[values == found[at]], minlength=len(slots)) >= SELDOM * slots
    return int(found[at]), float(counts[at] / len(values)) if there.all() and found[at] < LARGE else 0.0
