"""A model as the native engine takes it: `GatesTable`, with addresses of what it points to."""

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

from lanai_hdl.config import NicConfig
from lanai_hdl.machine import REGISTERS_SIZE

from ..declared import CORE_PIECE, GATES_TABLE, WAVE_SIGNAL
from ..designs import Design
from .code import BYTES, container
from .compiled import Model, models
from .layout import LINE, numbers_of
from .outside import constants


class Table:
    """The table of a design's model, with its run-time numbers. It keeps what it points to. `key` is equal for equal
    models. `signals`: the model has outputs for waveforms."""

    def __init__(self, design: Design, model: Model, signals: bool = False) -> None:
        self.model = model
        self.key = self.model.key
        self._kept: list[Any] = [self.model]
        layout = self.model.layout
        store = bytearray(self.model.store)
        numbers_of(layout, store, design.numbers)
        values = dict.fromkeys((name for name, *_ in GATES_TABLE.columns), 0)
        values |= self.model.functions
        values |= {"state": self._put(self.model.state), "store": self._put(bytes(store))}
        values |= {"state_bytes": layout.state.size, "store_bytes": layout.store_size, "sram_words": layout.sram_words}
        values |= {"inputs_bytes": layout.inputs.size, "outputs_bytes": layout.outputs.size}
        values |= {"probes": design.probes, "signals": signals}
        values |= self._of_nic(design.config) if isinstance(design.config, NicConfig) else self._of_switch()
        self.address = self._put(GATES_TABLE.struct.pack(*(values[name] for name, *_ in GATES_TABLE.columns)))

    def _of_nic(self, config: NicConfig) -> dict[str, int]:
        found, core = dict(constants(config)), self.model.core
        if core is None:
            return found
        readable = bytearray(REGISTERS_SIZE // 4)
        for offset in core.readable:
            readable[offset // 4] = 1
        return found | {
            "core": 1,
            "pieces": self._put(b"".join(CORE_PIECE.struct.pack(*piece) for piece in core.pieces)),
            "piece_count": len(core.pieces),
            "others": self._put(self._mask(core.others)),
            "quiet": self._put(self._mask(core.quiet)),
            "readable": self._put(bytes(readable)),
            "now": core.now,
            **core.banks,
        }

    def _of_switch(self) -> dict[str, int]:
        inputs, outputs = self.model.layout.inputs.places, self.model.layout.outputs.places
        found = {"ports": sum(name.endswith("__kind") for name in inputs), "idle": outputs["idle"][0]}
        if "barrier_members" not in inputs:
            return found
        (members, width), (parent, _) = inputs["barrier_members"], inputs["barrier_parent"]
        return found | {"cascaded": 1, "members": members, "parent": parent, "role_bytes": container(width) // BYTES}

    def wave(self) -> tuple[int, int, list[tuple[str, int]]]:
        """Return the address of the signals for waveforms, how many there are, and their names and widths."""
        places = {name: self.model.layout.outputs.places[name] for name in self.model.signals}
        packed = b"".join(
            WAVE_SIGNAL.struct.pack(at, container(width) // BYTES, width) for at, width in places.values()
        )
        return self._put(packed), len(places), [(name, width) for name, (_, width) in places.items()]

    def _mask(self, names: Iterable[str]) -> bytes:
        places, found = self.model.layout.state.places, bytearray(self.model.layout.state.size)
        for name in names:
            at, width = places[name]
            found[at : at + container(width) // BYTES] = b"\xff" * (container(width) // BYTES)
        return bytes(found)

    def _put(self, data: bytes) -> int:
        """Return the address of these bytes, at the beginning of a cache line."""
        buffer = ctypes.create_string_buffer(len(data) + LINE)
        at = -(-ctypes.addressof(buffer) // LINE) * LINE
        ctypes.memmove(at, data, len(data))
        self._kept.append(buffer)
        return at


def tables(wanted: Sequence[tuple[Design, bool]]) -> list[Table]:
    """The tables of these designs' models, with outputs for waveforms or without."""
    return [Table(design, model, signals) for (design, signals), model in zip(wanted, models(wanted), strict=True)]
