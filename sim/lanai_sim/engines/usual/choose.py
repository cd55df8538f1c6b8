"""Find the registers that usually have one value, in recorded inputs of NICs."""

import ctypes
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanai_host.compilers import for_models

from .. import declared, designs
from ..designs import NIC_TOP, Design
from ..elaboration import elaborate
from ..replay import Inputs
from ..rtl import HEADERS, SAVABLE, models_header
from ..verilator import Model, library, verilate
from .rewrite import members, plain

STEP = 7  # one slot in so many is looked at
SHARE = 0.98  # of the slots in which the NIC is quiet
# Verilator's own names, and numbers of the NIC's own wires: they mean something else in the next model.
UNSTABLE = re.compile(r"__|\$")
# All 0 in a slot that should be quick: nothing but the processor works.
QUIET = (
    "host_dma.fsm_state", "host_dma.queue.level", "host_bus.master.fsm_state", "host_bus.master.level",
    "host_bus.target.to_registers", "send_dma.fsm_state", "send_dma.level", "receive_dma.fsm_state",
    "receiver.level", "deframer.fsm_state", "registers.access__cpu_write", "registers.access__host_write",
)  # fmt: skip


@dataclass(frozen=True)
class Samples:
    """`rows`: slots; `columns`: registers, by `names`."""

    names: tuple[str, ...]
    rows: NDArray[np.uint64]

    def places(self, name: str) -> list[int]:
        """The columns of all registers of this name."""
        return [at for at, other in enumerate(self.names) if other == name]

    def columns(self, name: str) -> NDArray[np.uint64]:
        return self.rows[:, self.places(name)]

    def share(self, usual: dict[str, int]) -> float:
        """Of slots in which all these registers have these values; those that the NIC does not
        have do not count."""
        same = np.ones(len(self.rows), bool)
        for name in usual:
            same &= np.all(self.columns(name) == usual[name], axis=1)
        return float(same.mean())


def sampled(inputs: Inputs) -> Samples:
    """What the registers of the NIC held while it got these inputs."""
    design = Design(inputs.nic)
    (texts,) = elaborate([design], designs.key([design]))
    model = Model(NIC_TOP, texts, options=SAVABLE)
    with tempfile.TemporaryDirectory() as work:
        verilate(model, False, Path(work))
        sizes = members((Path(work) / f"{model.class_name}___024root.h").read_text())
    native = files("lanai_sim.engines").joinpath("native")
    extra = {name: native.joinpath(name).read_text() for name in HEADERS} | {
        "declared.h": declared.header(),
        "models.h": models_header(inputs.nic, None),
        "members.h": "".join(f"{{offsetof(Root, {name}), sizeof(Root::{name})}},\n" for name in sizes),
    }
    wrapper = files(__package__).joinpath("sample.cc").read_text()
    loaded = ctypes.CDLL(str(library([model], wrapper, extra=extra, tool=for_models())))
    rows = np.zeros((-(-len(inputs.slots) // STEP), len(sizes)), np.uint64)
    loaded.usual_sample(
        np.ascontiguousarray(inputs.slots).ctypes.data_as(ctypes.c_void_p),
        ctypes.c_uint64(len(inputs.slots)), ctypes.c_uint64(STEP), rows.ctypes.data_as(ctypes.c_void_p),
    )  # fmt: skip
    return Samples(tuple(map(plain, sizes)), rows)


def chosen(recordings: Sequence[Samples]) -> dict[str, int]:
    """The registers with one value in nearly all quiet slots of every recording, and that value.
    Those first that differ most often in all slots."""
    quiet = [one.rows[np.all([one.columns(name) == 0 for name in QUIET], axis=(0, 2))] for one in recordings]
    differs: dict[str, tuple[float, int]] = {}
    for name in dict.fromkeys(recordings[0].names):
        at = [one.places(name) for one in recordings]
        values, counts = np.unique(
            np.concatenate([rows[:, where].ravel() for rows, where in zip(quiet, at, strict=True)]), return_counts=True
        )
        value = values[counts.argmax()]
        share = min((rows[:, where] == value).mean(0).min() for rows, where in zip(quiet, at, strict=True))
        if share >= SHARE and not UNSTABLE.match(name):
            differs[name] = (float(np.mean([(one.columns(name) != value).mean() for one in recordings])), int(value))
    return {name: differs[name][1] for name in sorted(differs, key=lambda name: (-differs[name][0], name))}
