"""Values of a NIC's registers at each moment of an evaluation, from recorded inputs."""

import ctypes
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanai_hdl.config import NicConfig
from lanai_host.compilers import for_models

from .. import designs
from ..designs import NIC_TOP, Design
from ..elaboration import elaborate
from ..replay import Inputs
from ..rtl import SAVABLE, number_words
from ..units import nic_header, unit
from ..verilated import Model, verilate
from ..verilator import library
from .case import Moment
from .reads import Evaluations
from .rewrite import members, plain
from .slot import slot_of

STORED = re.compile(r"(.*\.)?\w+_stored(\$next)?")  # registers that hold what software wrote to them
LOOKED_AT = 6000  # evaluations of a moment in one recording, about


@dataclass(frozen=True)
class Samples:
    """Values of registers before the evaluations of one moment. `rows`: evaluations; `columns`: registers, by
    `names`. `lasting`: names of those that keep what they hold when nothing happens any more, as counters and
    settings do. `read`: of those whose values the evaluation needs."""

    names: tuple[str, ...]
    rows: NDArray[np.uint64]
    lasting: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()

    def places(self, name: str) -> list[int]:
        """The columns of all registers of this name."""
        return [at for at, other in enumerate(self.names) if other == name]

    def columns(self, name: str) -> NDArray[np.uint64]:
        return self.rows[:, self.places(name)]

    def fits(self, case: Mapping[str, int]) -> NDArray[np.bool_]:
        """The rows in which all these registers have these values. Registers that the NIC does not have do not
        count, nor those whose values the evaluation does not need."""
        same = np.ones(len(self.rows), bool)
        for name, value in case.items():
            if name in self.read:
                same &= np.all(self.columns(name) == value, axis=1)
        return same


def sampled(inputs: Inputs, nic: NicConfig | None = None, first: int = 0) -> dict[Moment, Samples]:
    """Return the values that the registers of the NIC held while it got these inputs, from the slot `first` on;
    or those that the registers of `nic`, another one, would have held."""
    nic = nic or inputs.nic
    loaded, sizes, read = _sampler(Design(nic).general)
    loaded.samples_take(
        np.ascontiguousarray(inputs.slots).ctypes.data_as(ctypes.c_void_p),
        *map(ctypes.c_uint64, (len(inputs.slots), first, _step(len(inputs.slots) - first))), number_words(nic, False),
    )  # fmt: skip
    names = tuple(map(plain, sizes))
    counters = {
        name.lower() for counter in nic.machine.counters for name in (counter.name, f"counters.{counter.name}$next")
    }
    stored = {name for name in names if STORED.fullmatch(name)}
    seen = {name for block in nic.blocks for name in names if re.fullmatch(rf"{block.name}\.\w*\$\d+", name)}
    # `seen`: a block's inputs as it saw them when it rested.
    found = {}
    for number, moment in enumerate(Moment):
        where = ctypes.POINTER(ctypes.c_uint64)()
        count = loaded.samples_of(number, ctypes.byref(where))
        rows = np.zeros((0, len(sizes)), np.uint64)
        if count:
            rows = np.ctypeslib.as_array(where, (count, len(sizes))).copy()
        lasting = frozenset(counters | stored | (seen if moment == Moment.ALONE else set()))
        found[moment] = Samples(names, rows, lasting, read[moment])
    return found


def traffic_from(inputs: Inputs) -> int:
    """Return the slot in which the first flit comes in, by which the NIC has booted; 0 if none does."""
    return int(np.argmax(inputs.slots["rx_kind"] != 0))


def _step(slots: int) -> int:
    """An odd number, as a cycle has two slots."""
    return max(7, slots // LOOKED_AT) | 1


@cache
def _sampler(design: Design) -> tuple[ctypes.CDLL, tuple[str, ...], Mapping[Moment, frozenset[str]]]:
    """Return the library that samples this NIC with any numbers, the members that it samples, and the
    registers whose values the evaluation of each moment needs."""
    assert isinstance(design.config, NicConfig)
    (texts,) = elaborate([design], designs.key([design]))
    model = Model(NIC_TOP, texts, options=SAVABLE, together=design.together)
    with tempfile.TemporaryDirectory() as work:
        verilate(model, False, Path(work))
        root = Path(work) / f"{model.class_name}___024root.h"
        source = root.with_name(f"{root.stem}__0.cpp").read_text()
        evaluations = Evaluations.of(source, slot_of(source), design.together)
        mentioned = {name for moment in Moment for name in evaluations.reads(moment)}
        sizes = tuple(name for name in members(root.read_text()) if name in mentioned)
    extra = dict(unit("nic.cc", NIC_TOP, nic_header(design.config, specialized=True)).headers) | {
        "members.h": "".join(f"{{offsetof(Root, {name}), sizeof(Root::{name})}},\n" for name in sizes),
    }
    wrapper = files(__package__).joinpath("sample.cc").read_text()
    loaded = ctypes.CDLL(str(library([model], wrapper, extra=extra, tool=for_models())))
    loaded.samples_of.restype = ctypes.c_uint64
    reads = {moment: evaluations.reads(moment).items() for moment in Moment}
    return loaded, sizes, {m: frozenset(plain(name) for name, read in reads[m] if read) for m in Moment}
