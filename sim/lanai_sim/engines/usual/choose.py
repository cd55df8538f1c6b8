"""Find the registers that usually have one value, in recorded inputs of NICs.

What optional blocks bring is looked for in NICs that have them: with the inputs of NICs without,
where the blocks do nothing, and with inputs of their own. So what a block keeps for long, as its
settings, is not taken for usual.
"""

import ctypes
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanai_hdl.config import NicConfig
from lanai_hdl.numbers import values
from lanai_host.compilers import for_models

from .. import designs
from ..designs import NIC_TOP, Design
from ..elaboration import elaborate
from ..replay import Inputs
from ..rtl import SAVABLE, nic_header, number_words, unit
from ..verilated import Model, verilate
from ..verilator import library
from .rewrite import members, plain, read
from .slot import slot_of

STEP = 7  # one slot in so many is looked at
SHARE = 0.98  # of the slots in which the NIC is quiet
# Verilator's own names, and numbers of the NIC's own wires: they mean something else in the next model.
UNSTABLE = re.compile(r"__|\$")
IDLE = "idle"  # of every block of the NIC: 1 in a slot that should be quick
AWAKE = "awake_"  # how outputs begin that say which blocks are awake: 0 then
# All 0 in a slot that should be quick: nothing but the processor works.
QUIET = (
    "host_dma.fsm_state", "host_dma.queue.level", "host_bus.master.fsm_state", "host_bus.master.level",
    "host_bus.target.to_registers", "host_bus.target._to_block$next", "send_dma.fsm_state", "send_dma.level",
    "receive_dma.fsm_state", "receiver.level", "deframer.fsm_state", "registers.access__cpu_write",
    "registers.access__host_write",
)  # fmt: skip


@dataclass(frozen=True)
class Samples:
    """`rows`: slots; `columns`: registers, by `names`. `lasting`: names of those that keep what they
    hold when nothing happens any more, as counters do. `read`: of those whose value of the slot before
    matters."""

    names: tuple[str, ...]
    rows: NDArray[np.uint64]
    lasting: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()

    def places(self, name: str) -> list[int]:
        """The columns of all registers of this name."""
        return [at for at, other in enumerate(self.names) if other == name]

    def columns(self, name: str) -> NDArray[np.uint64]:
        return self.rows[:, self.places(name)]

    def quiet(self) -> NDArray[np.uint64]:
        """The slots that should be quick."""
        at = [place for name in QUIET for place in self.places(name)]
        at += [place for place, name in enumerate(self.names) if name.startswith(AWAKE)]
        wanted: NDArray[np.bool_] = np.all(self.rows[:, at] == 0, axis=1) & np.all(self.columns(IDLE) == 1, axis=1)
        return self.rows[wanted]

    def share(self, usual: dict[str, int]) -> float:
        """Return the share of slots in which all these registers have these values. Registers that the
        NIC does not have do not count."""
        same = np.ones(len(self.rows), bool)
        for name in usual:
            same &= np.all(self.columns(name) == usual[name], axis=1)
        return float(same.mean())


def sampled(inputs: Inputs, nic: NicConfig | None = None) -> Samples:
    """Return the values that the registers of the NIC held while it got these inputs; or those that the
    registers of `nic`, another one, would have held."""
    nic = nic or inputs.nic
    loaded, sizes, needed = _sampler(Design(nic).general)
    rows = np.zeros((-(-len(inputs.slots) // STEP), len(sizes)), np.uint64)
    loaded.usual_sample(
        np.ascontiguousarray(inputs.slots).ctypes.data_as(ctypes.c_void_p),
        ctypes.c_uint64(len(inputs.slots)), ctypes.c_uint64(STEP), number_words(nic, False),
        rows.ctypes.data_as(ctypes.c_void_p),
    )  # fmt: skip
    names = tuple(map(plain, sizes))
    counters = {
        name.lower() for counter in nic.machine.counters for name in (counter.name, f"counters.{counter.name}$next")
    }
    seen = {name for block in nic.blocks for name in names if re.fullmatch(rf"{block.name}\.\w*\$\d+", name)}
    # `seen`: a block's inputs as it saw them when it rested.
    return Samples(names, rows, frozenset(counters | seen), needed)


@cache
def _sampler(design: Design) -> tuple[ctypes.CDLL, tuple[str, ...], frozenset[str]]:
    """Return the library that samples this NIC with any numbers, the members that it samples, and the
    registers whose value of the slot before matters."""
    assert isinstance(design.config, NicConfig)
    (texts,) = elaborate([design], designs.key([design]))
    model = Model(NIC_TOP, texts, options=SAVABLE)
    with tempfile.TemporaryDirectory() as work:
        verilate(model, False, Path(work))
        root = Path(work) / f"{model.class_name}___024root.h"
        slot = slot_of(root.with_name(f"{root.stem}__0.cpp").read_text())
        mentioned = set(re.findall(r"\w+", "".join(slot.own)))
        sizes = tuple(name for name in members(root.read_text()) if name in mentioned)
    extra = dict(unit("nic.cc", NIC_TOP, nic_header(design.config)).headers) | {
        "members.h": "".join(f"{{offsetof(Root, {name}), sizeof(Root::{name})}},\n" for name in sizes),
    }
    wrapper = files(__package__).joinpath("sample.cc").read_text()
    loaded = ctypes.CDLL(str(library([model], wrapper, extra=extra, tool=for_models())))
    return loaded, sizes, frozenset(map(plain, read(slot)))


def chosen(recordings: Sequence[Samples]) -> dict[str, int]:
    """The registers with one value in nearly all quiet slots of every recording, and that value.
    Those first that differ most often in all slots."""
    quiet = [one.quiet() for one in recordings]
    differs: dict[str, tuple[float, int]] = {}
    for name in dict.fromkeys(recordings[0].names):
        at = [one.places(name) for one in recordings]
        held, counts = np.unique(
            np.concatenate([rows[:, where].ravel() for rows, where in zip(quiet, at, strict=True)]), return_counts=True
        )
        value = held[counts.argmax()]
        share = min((rows[:, where] == value).mean(0).min() for rows, where in zip(quiet, at, strict=True))
        if share >= SHARE and not UNSTABLE.match(name) and name not in recordings[0].lasting:
            differs[name] = (float(np.mean([(one.columns(name) != value).mean() for one in recordings])), int(value))
    return {name: differs[name][1] for name in sorted(differs, key=lambda name: (-differs[name][0], name))}


def found(files: Sequence[Inputs]) -> dict[str, int]:
    """Return the usual values of NICs without optional blocks, then further ones of NICs with some. There
    must be inputs of a NIC without any.

    A register must be usual at all rates and times that the NICs have. Inputs are given only to NICs
    with the rates and times that they were recorded at, as what comes in depends on them."""
    without = [one for one in files if not one.nic.blocks]
    base = [sampled(one) for one in without]
    usual = chosen(base)
    for blocks in dict.fromkeys(one.nic.blocks for one in files if one.nic.blocks):
        having = [one for one in files if one.nic.blocks == blocks]
        nics = dict.fromkeys(one.nic for one in having)
        others = [sampled(one, nic) for nic in nics for one in without if values(one.nic) == values(nic)]
        others += map(sampled, having)
        more = chosen(others)
        usual |= {name: more[name] for name in more if name not in base[0].names and name in others[0].read}
    return usual
