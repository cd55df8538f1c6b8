"""An engine that writes down what the host does: `rtl` underneath, and a line in $JOURNAL for each
access to a NIC.

slot 3665 nic 0: write 0x50 = 0x1
slot 3670 nic 1: read 0x60
"""

import os
from collections.abc import Sequence
from pathlib import Path

from lanai_host.errors import UserError

from ..base import Access, Engine, Event, FaultKind, Layout, Planned
from . import kind
from .base import Capability, EngineKind, EngineOptions


class Journal(Engine):
    """All that is not written down here goes to the engine `below`."""

    def __init__(self, layout: Layout, below: Engine, file: str) -> None:
        super().__init__(layout)
        self.below = below
        self.file = Path(file)
        self.lines: list[str] = []
        try:
            self.file.touch()  # a complaint comes before the run, not after it
        except OSError as error:
            raise UserError(f"cannot write JOURNAL={file!r}: {error.strerror}") from error

    def pio(self, nic: int, accesses: Sequence[Access]) -> None:
        for access in accesses:
            what = f"write {access.address:#x} = {access.data:#x}" if access.write else f"read {access.address:#x}"
            self.lines.append(f"slot {access.slot} nic {nic}: {what}\n")
        self.below.pio(nic, accesses)

    def run(self, limit: int) -> tuple[bool, Sequence[Event]]:
        answer = self.below.run(limit)
        self.cut_short = self.below.cut_short
        return answer

    def slot(self, unit: int) -> int:
        return self.below.slot(unit)

    def evaluated(self, unit: int) -> int:
        return self.below.evaluated(unit)

    def map_local(self, nic: int, page: int, address: int, writable: bool) -> None:
        self.below.map_local(nic, page, address, writable)

    def map_remote(self, nic: int, page: int, pid: int, address: int, writable: bool) -> None:
        self.below.map_remote(nic, page, pid, address, writable)

    def unmap(self, nic: int, page: int) -> None:
        self.below.unmap(nic, page)

    def watch(self, nic: int, address: int, seen: int, tag: int) -> None:
        self.below.watch(nic, address, seen, tag)

    def unwatch(self, nic: int, tag: int) -> None:
        self.below.unwatch(nic, tag)

    def sram(self, nic: int, addresses: Sequence[int]) -> list[int]:
        return self.below.sram(nic, addresses)

    def refused(self, nic: int) -> int:
        return self.below.refused(nic)

    def faults(self, wire: int, plan: Sequence[Planned]) -> None:
        self.below.faults(wire, plan)

    def fault_count(self, wire: int, kind: FaultKind) -> int:
        return self.below.fault_count(wire, kind)

    def close(self) -> None:
        self.below.close()
        self.file.write_text("".join(self.lines))


class JournalKind(EngineKind):
    name = "journal"
    help = "rtl, with a line in $JOURNAL for each access of the host"
    capabilities = Capability.RANKS | Capability.FAULTS | Capability.THREADS | Capability.SKIP

    def make(self, layout: Layout, options: EngineOptions) -> Engine:
        file = os.environ.get("JOURNAL", "journal.txt")
        return Journal(layout, kind("rtl").make(layout, options), file)


KIND = JournalKind()
