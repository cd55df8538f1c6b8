"""Find cases in recorded inputs of NICs: fields that often have the same values together.

A candidate is for the slots in which some parts of the NIC do nothing. The one with the greatest gain is taken: slots
that it fits and none before it does, and the more fields it knows, the better. Then the next."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..designs import Design
from ..replay import Inputs
from .cases import Case, blocks_of
from .code import BYTES, container
from .compiled import Model, Simulation, model
from .ports import NIC_INPUTS

PARTS = {  # fields that are 0 while a part of the NIC does nothing
    "host": ("host_dma.fsm_state", "host_bus.master.fsm_state"),
    "send": ("send_dma.fsm_state",),
    "receive": ("receive_dma.fsm_state", "deframer.fsm_state", "receiver.fifo.level"),
}
EVERY = 5  # slots, of which one is looked at: an odd number, as what happens in even and odd slots differs
ROWS = 6000  # of one recording at most: a long one counts no more than others
BOOT = 0.25  # of a recording, which is left out
KEEPS = (0.95, 0.8, 0.6, 0.4)  # shares of a candidate's slots in which all its fields have their values
SHARE = 0.8  # a field has its value at least so often
LEAST = 0.01  # of all slots has a candidate
POWER = 3  # of the number of fields, in the gain

Fields = dict[str, NDArray[np.uint64]]


def chosen(recordings: Sequence[Inputs], wanted: int = 4) -> list[Case]:
    """Return at most as many cases of NICs with the same blocks."""
    model_of = model(Design(recordings[0].nic))
    rows = np.concatenate([_states(one, model_of) for one in recordings])
    return list(_best(_fields(rows, model_of), wanted, blocks_of(recordings[0].nic)))


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
        if size <= 8:
            column = np.ascontiguousarray(rows[:, at : at + size]).view(f"<u{size}")
            found[name] = column[:, 0].astype(np.uint64)
    return found


def _best(fields: Fields, wanted: int, blocks: str) -> Iterator[Case]:
    still = {
        part: np.all([fields[f"lanai_nic.nic.{name}"] == 0 for name in names], axis=0) for part, names in PARTS.items()
    }
    left = np.ones(len(next(iter(fields.values()))), bool)
    for _ in range(wanted):
        found = [one for idle in _idle() for one in _candidates(fields, still, idle, left)]
        if not found:
            return
        _, name, values, fits = max(found, key=lambda one: one[0])
        yield Case(name, blocks, values)
        left &= ~fits


def _idle() -> Iterator[tuple[str, ...]]:
    for count in range(len(PARTS) + 1):
        yield from combinations(PARTS, count)


def _candidates(
    fields: Fields, still: Mapping[str, NDArray[np.bool_]], idle: Sequence[str], left: NDArray[np.bool_]
) -> Iterator[tuple[float, str, dict[str, int], NDArray[np.bool_]]]:
    """Each with its gain, its name, its values and the slots that it fits."""
    rows = np.all([left, *(still[part] for part in idle)], axis=0)
    if rows.sum() < len(left) * LEAST:
        return
    usual = {name: _usual(values[rows]) for name, values in fields.items()}
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


def _usual(values: NDArray[np.uint64]) -> tuple[int, float]:
    """Return the most frequent value, and its share."""
    found, counts = np.unique(values, return_counts=True)
    at = counts.argmax()
    return int(found[at]), float(counts[at] / len(values))
