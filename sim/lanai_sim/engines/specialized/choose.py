"""Find the cases to specialize for, in recorded inputs of NICs.

The first case is the quiet one: nothing but the processor works. What optional blocks bring to it is
looked for in NICs that have them: with the inputs of NICs without, where the blocks do nothing, and with
inputs of their own. So what a block keeps for long, as its settings, is not taken for usual.

Further cases are found in the evaluations that no case fits yet. A boot does not count there: most runs
begin with the snapshot of one, and it would be most of a short recording. The quiet case is of all slots,
as firmware sets registers that keep their values ever after. Candidates are made of the evaluations in
which only some parts of the NIC work. The one with the greatest gain is taken, and so on: evaluations that
it fits, times registers that it knows. Of each recording at most `ROWS` evaluations count, taken evenly.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lanai_hdl.numbers import values

from ..replay import Inputs
from .case import Case, Moment
from .samples import Samples, sampled, traffic_from

SHARE = 0.98  # of the slots in which the NIC is quiet
# Verilator's own names, and numbers of the NIC's own wires: they mean something else in the next model.
UNSTABLE = re.compile(r"__|\$")
LEFT_OUT = "left_out"  # an input: any slot may follow some that were left out, and does the same then
IDLE = "idle"  # of every block of the NIC: 1 in a quiet slot
AWAKE = "awake_"  # how outputs begin that say which blocks are awake: 0 then
# Registers that are all 0 while a part of the NIC does nothing.
PARTS = {
    "host": (
        "host_dma.fsm_state", "host_dma.queue.level", "host_bus.master.fsm_state", "host_bus.master.level",
        "host_bus.target.to_registers", "host_bus.target._to_block$next", "registers.access__host_write",
    ),
    "send": ("send_dma.fsm_state", "send_dma.level"),
    "receive": ("receive_dma.fsm_state", "receiver.level", "deframer.fsm_state"),
    "registers": ("registers.access__cpu_write",),
}  # fmt: skip
QUIET = tuple(name for names in PARTS.values() for name in names)
MORE = {Moment.ALONE: 3, Moment.OWN: 2, Moment.STATE: 2, Moment.INPUTS: 2}  # cases beside the quiet one
CANDIDATE = 0.9  # of a candidate's evaluations have the value of a register, for a start
ROWS = 5000  # of one recording that are looked at for a further case


def quiet(one: Samples) -> NDArray[np.uint64]:
    """The slots in which nothing but the processor works."""
    at = [place for name in QUIET for place in one.places(name)]
    at += [place for place, name in enumerate(one.names) if name.startswith(AWAKE)]
    wanted: NDArray[np.bool_] = np.all(one.rows[:, at] == 0, axis=1) & np.all(one.columns(IDLE) == 1, axis=1)
    return one.rows[wanted]


def chosen(recordings: Sequence[Samples]) -> dict[str, int]:
    """The registers with one value in nearly all quiet slots of every recording, and that value.
    Those first that differ most often in all slots."""
    rows = [quiet(one) for one in recordings]
    differs: dict[str, tuple[float, int]] = {}
    for name in dict.fromkeys(recordings[0].names):
        at = [one.places(name) for one in recordings]
        value = _mode(np.concatenate([slots[:, where].ravel() for slots, where in zip(rows, at, strict=True)]))
        share = min((slots[:, where] == value).mean(0).min() for slots, where in zip(rows, at, strict=True))
        if share >= SHARE and _may_be_known(name) and name not in recordings[0].lasting:
            differs[name] = (float(np.mean([(one.columns(name) != value).mean() for one in recordings])), value)
    return {name: differs[name][1] for name in sorted(differs, key=lambda name: (-differs[name][0], name))}


def _may_be_known(name: str) -> bool:
    return not UNSTABLE.match(name) and name != LEFT_OUT


def _mode(held: NDArray[np.uint64]) -> int:
    found, counts = np.unique(held, return_counts=True)
    return int(found[counts.argmax()])


class Left:
    """Evaluations of one moment that no case fits yet, of all recordings: at most `ROWS` of each, so that a
    long recording counts no more than others."""

    def __init__(self, recordings: Sequence[Samples], cases: Sequence[Case]) -> None:
        self.recordings = []
        for one in recordings:
            rows = ~np.any([np.zeros(len(one.rows), bool), *(one.fits(case.values) for case in cases)], axis=0)
            found = one.rows[rows]
            every = max(1, -(-len(found) // ROWS))
            if len(found) >= len(one.rows) // 20:  # else this recording is done
                self.recordings.append(Samples(one.names, found[::every], one.lasting, one.read))
        lasting = {name for one in self.recordings for name in one.lasting}
        common = [set(one.names) & one.read for one in self.recordings]
        self.names = sorted(
            name for name in set().union(*common) - lasting if _may_be_known(name) and not name.startswith(AWAKE)
        )

    def best(self) -> tuple[str, dict[str, int]]:
        """The candidate with the greatest gain: the parts of the NIC that work in it, and its values."""
        if not self.recordings:
            return "", {}
        found = []
        for count in range(1, len(PARTS) + 1):
            for parts in combinations(PARTS, count):
                gain, case = self._candidate(parts)
                found.append((gain, "-".join(parts), case))
        gain, name, case = max(found, key=lambda one: one[0])
        return (name, case) if gain > 0 else ("", {})

    def _candidate(self, parts: Sequence[str]) -> tuple[float, dict[str, int]]:
        idle = [name for part in PARTS if part not in parts for name in PARTS[part]]
        rows = [
            one.rows[np.all(one.rows[:, [at for name in idle for at in one.places(name)]] == 0, axis=1)]
            for one in self.recordings
        ]
        known, wrong = [], []
        weights = np.concatenate([np.full(len(one), 1 / ROWS) for one in rows])
        if not len(weights):
            return 0, {}
        for name in self.names:
            columns = [one.places(name) for one in self.recordings]
            held = [slots[:, at] for slots, at in zip(rows, columns, strict=True)]
            value = _mode(np.concatenate([one.ravel() for one in held]))
            # A recording whose NIC lacks a register does not speak against it.
            differs = np.concatenate([np.any(one != value, axis=1) for one in held])
            if np.average(differs, weights=weights) <= 1 - CANDIDATE:
                known.append((name, value))
                wrong.append(differs)
        return _improved(known, np.array(wrong, bool).reshape(len(known), -1), weights)


def _improved(
    known: Sequence[tuple[str, int]], wrong: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[float, dict[str, int]]:
    """Leave out registers, those that gain most, as long as that gains. Return the gain and what is left.
    `wrong`: for each register the evaluations in which it has another value."""
    left = np.ones(len(known), bool)
    count = wrong.sum(0, dtype=np.int64)
    while left.any():
        fits = weights[count == 0].sum()
        once = wrong[:, count == 1] @ weights[count == 1] * left
        at = int(once.argmax())
        if (fits + once[at]) * (left.sum() - 1) <= fits * left.sum():
            break
        left[at] = False
        count -= wrong[at]
    often = wrong @ weights
    order = sorted((at for at in range(len(known)) if left[at]), key=lambda at: (-often[at], known[at][0]))
    return float(weights[count == 0].sum() * left.sum()), {known[at][0]: known[at][1] for at in order}


def found(files: Sequence[Inputs]) -> list[Case]:
    """Return the cases of NICs without optional blocks, then further ones of NICs with some. There
    must be inputs of a NIC without any.

    A register of the quiet case must have its value at all rates and times that the NICs have. Inputs are
    given only to NICs with the rates and times that they were recorded at, as what comes in depends on
    them."""
    without = [one for one in files if not one.nic.blocks]
    base = [sampled(one)[Moment.ALONE] for one in without]
    usual = chosen(base)
    blocks: list[dict[Moment, Samples]] = []
    for having in dict.fromkeys(one.nic.blocks for one in files if one.nic.blocks):
        these = [one for one in files if one.nic.blocks == having]
        nics = dict.fromkeys(one.nic for one in these)
        others = [sampled(one, nic)[Moment.ALONE] for nic in nics for one in without if values(one.nic) == values(nic)]
        blocks += [sampled(one) for one in these]
        others += [one[Moment.ALONE] for one in blocks[-len(these) :]]
        more = chosen(others)
        usual |= {name: more[name] for name in more if name not in base[0].names and name in others[0].read}
    cases = [Case("quiet", Moment.ALONE, usual)]
    booted = [sampled(one, first=traffic_from(one))[Moment.ALONE] for one in without]
    for moment, count in MORE.items():
        recordings = booted if moment == Moment.ALONE else [one[moment] for one in blocks]
        for _ in range(count):
            of_moment = [case for case in cases if case.moment == moment]
            name, known = Left(recordings, of_moment).best()
            if known:
                cases.append(Case(name, moment, known))
    return cases


def shares(one: Mapping[Moment, Samples], cases: Sequence[Case]) -> dict[Moment, list[float]]:
    """Return for each moment that there is the share of evaluations that each case fits, and no case before it."""
    found = {}
    for moment, samples in one.items():
        left, held = np.ones(len(samples.rows), bool), []
        for case in cases:
            if case.moment == moment:
                fits = samples.fits(case.values) & left
                held.append(float(fits.mean()) if len(fits) else 0.0)
                left &= ~fits
        if len(samples.rows):
            found[moment] = held
    return found
