"""The independent witness: the gateware as it is built into hardware, by Yosys and Verilator. It gives the digest of
recorded inputs that the engine's models, made by LLVM, are compared with."""

import ctypes
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from lanai_hdl.config import NicConfig

from . import declared, designs
from .designs import NIC_TOP, Design
from .elaboration import elaborate
from .verilated import Model
from .verilator import Source, library


@cache
def _replay(nic: NicConfig) -> "ctypes._NamedFuncPointer":
    wanted = [Design(nic, as_synthesized=True)]
    key = designs.key(wanted)
    source = Source(key, lambda: [Model(NIC_TOP, text) for text in elaborate(wanted, key)])
    text = files(__package__).joinpath("witness.cc").read_text()
    path = library(source, text, extra={"declared.h": declared.header()}, title="the witness of the NICs")
    replay = ctypes.CDLL(str(path)).witness_replay
    replay.restype, replay.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_uint64)
    return replay


def build(nic: NicConfig) -> None:
    """Make the witness of such NICs, unless it is there."""
    _replay(nic)


def as_synthesized(nic: NicConfig, slots: NDArray[np.void]) -> str:
    """Return the digest of all outputs of all slots, of the gateware with the hardware's own reset."""
    return f"{_replay(nic)(np.ascontiguousarray(slots).tobytes(), len(slots)):016x}"
