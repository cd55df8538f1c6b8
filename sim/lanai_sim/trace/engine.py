"""The rtl engine of a traced run: it passes the events of its NICs to the writer."""

import ctypes
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lanai_firmware.image import Image
from lanai_firmware.vocabulary import Table, Touch, Vocabulary

from ..engines.base import Event, Layout
from ..engines.declared import ROWS, TOUCH_RANGE
from ..engines.rtl import POINTER, RtlEngine
from .schema import STORED
from .writer import Writer

TABLES = tuple(ROWS)  # as engine_trace_rows numbers them
ENOUGH = 1 << 20  # bytes to collect before they are written: what a killed run loses
BARE = {tag: np.dtype(list(ROWS[tag].columns)) for tag in TABLES}  # without the node


class TracingEngine(RtlEngine):
    """Same slots, same results as the plain one. `close` writes what is left."""

    def __init__(self, layout: Layout, writer: Writer, *, skip: bool = True, threads: int = 1) -> None:
        super().__init__(layout, skip=skip, threads=threads, probes=True)
        self.writer = writer
        self._ends: list[int] = []

    def know(self, nic: int, image: Image | None, vocabulary: Vocabulary, plan: Mapping[str, Any]) -> None:
        """Set the image that the NIC's processor will run, if any, and the places of its tables."""
        tables = vocabulary.tables(plan)
        ranges = [
            (table.begin, table.end, table.stride, table.first, table.last, int(table.kind), number)
            for table, number in zip(tables, first_numbers(tables), strict=True)
        ]
        lines = line_numbers(image)
        packed = b"".join(TOUCH_RANGE.struct.pack(*entry) for entry in ranges)
        self._native.engine_trace_begin(self._engine, nic, packed, len(ranges), lines.tobytes(), len(lines))

    def run(self, limit: int) -> tuple[bool, Sequence[Event]]:
        answer = super().run(limit)
        if not self._ends and self._native.engine_trace_bytes(self._engine) > ENOUGH:
            self.drain()
        return answer

    def drain(self) -> None:
        """Write what has been collected."""
        rows = POINTER()
        for nic in range(self.layout.nics):
            for number, tag in enumerate(TABLES):
                count = self._native.engine_trace_rows(self._engine, nic, number, ctypes.byref(rows))
                if count:
                    raw = ctypes.string_at(rows.value or 0, count * BARE[tag].itemsize)
                    self.writer.rows(tag, with_node(tag, nic, np.frombuffer(raw, BARE[tag])))
            self._native.engine_trace_clear(self._engine, nic)

    def finish(self) -> list[int]:
        """All that is left; the slot at which each NIC stopped."""
        if not self._ends:
            self._ends = [self.slot(nic) for nic in range(self.layout.nics)]
            for nic in range(self.layout.nics):
                self._native.engine_trace_finish(self._engine, nic)
            self.drain()
        return self._ends


def first_numbers(tables: Sequence[Table]) -> list[int]:
    """The number of each table's first entry. Tables of one kind are numbered through."""
    counted: Counter[Touch] = Counter()
    numbers = []
    for table in tables:
        numbers.append(counted[table.kind])
        counted[table.kind] += table.count
    return numbers


def with_node(tag: bytes, nic: int, bare: Any) -> Any:
    """Native rows with their first column."""
    table = np.zeros(len(bare), STORED[tag])
    table["node"] = nic
    for name in bare.dtype.names:
        table[name] = bare[name]
    return table


def line_numbers(image: Image | None) -> Any:
    """For each instruction word a number that changes with the source line."""
    if image is None:
        return np.zeros(0, np.uint16)
    end = max((symbol.address + symbol.size for symbol in image.code), default=0)
    known: dict[Any, int] = {}
    return np.array([known.setdefault(image.where(pc), len(known)) for pc in range(0, end, 4)], np.uint16)
