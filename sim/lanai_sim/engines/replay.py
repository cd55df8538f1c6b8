"""Recorded inputs of whole NICs, replayed through any model of the NIC: all outputs of all slots
must be as they were.

A file holds the inputs of each slot that one NIC evaluated in a real run, and the digest of the
outputs that the gateware gave, built as it is synthesized. The engine's models leave out or move
work; this is what shows that they are the same hardware."""

import ctypes
import json
import lzma
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
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
from .gates.table import tables
from .rtl import native
from .witness import as_synthesized

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
    digits; none until the witness has given it."""

    nic: NicConfig
    slots: NDArray[np.void]  # of INPUTS
    digest: str

    def witnessed(self) -> "Inputs":
        """The same with the digest of the NIC as it is synthesized."""
        return replace(self, digest=as_synthesized(self.nic, self.slots))

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
                f"{str(path)!r} holds no recorded inputs of a NIC; `lanai dev replay record` writes some"
            ) from error
        if recorded != described(nic):
            raise UserError(f"{str(path)!r} was recorded on NICs of another configuration: {recorded}")
        return cls(nic, slots, digest)


def record(engine: Engine, nic: int) -> Callable[[], Inputs]:
    """Keep the inputs of a NIC from now on; what comes back gives them."""
    engine.record(nic)

    def finish() -> Inputs:
        return Inputs(engine.layout.nic, np.frombuffer(engine.recorded(nic), INPUTS), "")

    return finish


def digest(nic: NicConfig, slots: NDArray[np.void], *, probes: bool = False) -> str:
    """Return a digest of all outputs of all slots, from the engine's model."""
    return replayed(nic, slots, probes=probes).digest


class Replayed(NamedTuple):
    """The digest of all outputs of all slots, and how many of these the NIC spent outside its model."""

    digest: str
    outside: int


def replayed(nic: NicConfig, slots: NDArray[np.void], *, whole: bool = False, probes: bool = False) -> Replayed:
    """Replay these inputs through the engine's model. `whole`: evaluate all slots."""
    [table], outside = tables([(Design(nic, probes), False)]), ctypes.c_uint64()
    inputs = np.ascontiguousarray(slots).tobytes()
    found = native().engine_replay(inputs, len(slots), table.address, whole, ctypes.byref(outside))
    return Replayed(f"{found:016x}", outside.value)
