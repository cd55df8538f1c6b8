"""Recorded inputs of whole NICs, replayed through any model of the NIC: all outputs of all slots
must be as they were.

A file holds the inputs of each slot that one NIC evaluated in a real run, and the digest of the
outputs that the gateware gave, built as it is synthesized. The engine's models leave out or move
work; this is what shows that they are the same hardware."""

import ctypes
import json
import lzma
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanai_firmware import output_file
from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError

from . import declared
from .base import Engine
from .designs import Design
from .rtl import native, number_words

MAGIC = b"lanai inputs 1\n"
SUFFIX = ".inputs"
INPUTS = np.dtype(list(declared.INPUTS.columns))


def described(nic: NicConfig) -> str:
    """The NIC's configuration in words; without optional parts that it does not have."""
    values = ((field.name, getattr(nic, field.name)) for field in fields(nic))
    return f"{type(nic).__name__}({', '.join(f'{name}={value!r}' for name, value in values if value != ())})"


@dataclass(frozen=True)
class Inputs:
    """The inputs of one NIC, slot by slot. `digest` is that of its outputs, 16 hexadecimal
    digits."""

    nic: NicConfig
    slots: NDArray[np.void]  # of INPUTS
    digest: str

    def save(self, path: Path) -> None:
        head = {"nic": described(self.nic), "slots": len(self.slots), "digest": self.digest}
        columns = b"".join(np.ascontiguousarray(self.slots[name]).tobytes() for name in INPUTS.names or ())
        packed = lzma.compress(columns, preset=9 | lzma.PRESET_EXTREME)
        output_file.write(path, MAGIC + json.dumps(head).encode() + b"\n" + packed, "the inputs")

    @classmethod
    def load(cls, path: Path, nic: NicConfig) -> "Inputs":
        """Raises UserError for a file that is damaged, or was recorded on other NICs than `nic`."""
        try:
            magic, head, packed = path.read_bytes().split(b"\n", 2)
            if magic + b"\n" != MAGIC:
                raise ValueError
            record = json.loads(head)
            count, columns = record["slots"], lzma.decompress(packed)
            slots = np.zeros(count, INPUTS)
            at = 0
            for name in INPUTS.names or ():
                size = INPUTS[name].itemsize * count
                slots[name] = np.frombuffer(columns[at : at + size], INPUTS[name])
                at += size
            digest, recorded = str(record["digest"]), record["nic"]
        except OSError as error:
            raise UserError(f"cannot read {str(path)!r}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, lzma.LZMAError) as error:
            raise UserError(
                f"{str(path)!r} holds no recorded inputs of a NIC; `lanai replay record` writes some"
            ) from error
        if recorded != described(nic):
            raise UserError(f"{str(path)!r} was recorded on NICs of another configuration: {recorded}")
        return cls(nic, slots, digest)


def record(engine: Engine, nic: int) -> Callable[[], Inputs]:
    """Keep the inputs of a NIC from now on; what comes back gives them, with the digest of the NIC
    as it is synthesized."""
    engine.record(nic)

    def finish() -> Inputs:
        slots = np.frombuffer(engine.recorded(nic), INPUTS)
        config = engine.layout.nic
        return Inputs(config, slots, digest(config, slots, as_synthesized=True))

    return finish


def digest(nic: NicConfig, slots: NDArray[np.void], *, probes: bool = False, as_synthesized: bool = False) -> str:
    """Return a digest of all outputs of all slots, from a model built in one of its ways."""
    return replayed(nic, slots, probes=probes, as_synthesized=as_synthesized).digest


class Replayed(NamedTuple):
    """The digest of all outputs of all slots, and how many of these the NIC spent outside its model."""

    digest: str
    outside: int


def replayed(
    nic: NicConfig, slots: NDArray[np.void], *, whole: bool = False, probes: bool = False, as_synthesized: bool = False
) -> Replayed:
    """Replay these inputs through a model built in one of its ways. `whole`: evaluate all slots."""
    library = native(nic, None, probes=probes, as_synthesized=as_synthesized)
    numbers, outside = number_words(nic, as_synthesized), ctypes.c_uint64()
    inputs = np.ascontiguousarray(slots).tobytes()
    found = library.engine_replay(inputs, len(slots), numbers, whole, ctypes.byref(outside))
    return Replayed(f"{found:016x}", outside.value)


PORTS = {  # of the NIC, by the columns of `INPUTS`
    "left_out": "left_out", "rx_data": "link_rx__data", "rx_kind": "link_rx__kind", "tx_stop": "link_tx__stop",
    "mem_rdata": "mem__rdata", "mem_ready": "mem__ready", "mem_rvalid": "mem__rvalid", "mem_rerror": "mem__rerror",
    "pio_addr": "pio__addr", "pio_wdata": "pio__wdata", "pio_valid": "pio__valid", "pio_write": "pio__write",
    "pio_be": "pio__be",
}  # fmt: skip
WORDS = (  # of a slot as in replay.h, in order: outputs, and the bit of the word from which on they stand
    {
        "link_tx__kind": 0, "link_rx__stop": 8, "irq": 9, "idle": 10, "wake_armed": 11, "pio__ready": 12,
        "pio__rvalid": 13, "mem__valid": 14, "mem__write": 15, "mem__be": 16, "mem__burst": 32,
    },
    {"link_tx__data": 32, "pio__rdata": 0},
    {"mem__addr": 32, "mem__wdata": 0},
    {"wake_cycle": 0},
)  # fmt: skip
SOME = 1 << 16  # slots at a time, so that their outputs stay small


def digest_by_llvm(nic: NicConfig, slots: NDArray[np.void], *, probes: bool = False) -> str:
    """Return the digest of all outputs of all slots, from the model that LLVM makes of the gateware."""
    from .gates.compiled import Simulation, model  # brings llvmlite along

    design = Design(nic, probes)
    simulation, value = Simulation(model(design), design.numbers), 0xCBF29CE484222325
    for first in range(0, len(slots), SOME):
        some = slots[first : first + SOME]
        inputs = np.zeros(len(some), simulation.inputs)
        for column, port in PORTS.items():
            inputs[port] = some[column]
        outputs = simulation.run(inputs)
        words = np.zeros((len(outputs), len(WORDS)), np.uint64)
        for index, parts in enumerate(WORDS):
            for name, at in parts.items():
                words[:, index] |= outputs[name].astype(np.uint64) << np.uint64(at)
        for word in words.ravel().tolist():
            value = (value ^ word) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
            value ^= value >> 29
    return f"{value:016x}"
