"""Collectives that the adapter carries on (`lanai_hdl.remote.groups`): a process's groups, and their lanes."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from lanai_hdl.remote.groups import NAME_BITS, Combine, StartWord, doubling, ended, result_at, start_at, step_at
from lanai_hdl.remote.packets import Status, word
from lanai_hdl.remote.tables import FLAG_AT, FlagWord

from ..bus.base import Bus, HostBuffer, Watched
from ..config import HostCost
from ..host_model.meter import Meter
from .matching import Await, Source

START = struct.Struct(">III")
RESULT = struct.Struct(">QI")
NONE_YET = bytes(4)  # the last word of a receipt that has not come
WORD = (1 << 32) - 1
CLEARED = (1 << NAME_BITS) - 1  # a name that no collective has


class Result(NamedTuple):
    """The end of a collective: what was combined, or the step that has failed."""

    status: Status
    value: int


class Groups:
    """The groups of a process.

    Args:
        flags: the page that entry 0 of the process's page table names.
        wait: waits for an answer, which comes soon.
    """

    def __init__(self, bus: Bus, process: int, flags: HostBuffer, meter: Meter, wait: Await) -> None:
        self._bus = bus
        self._process = process
        self._flags = flags
        self._meter = meter
        self._wait = wait

    def join(self, group: int, members: Sequence[Source], rank: int) -> None:
        """Forget what a group had, and give it the program for these members, of which this process has a rank."""
        self.start(group, 0, word(StartWord, combine=Combine.CLEAR, name=CLEARED))
        while self.result(group, 0, CLEARED) is None:
            if not self._wait([self.watched(group, 0)], "the NIC's answer to CLEAR"):
                return
        self._meter.spend(HostCost.POLL)
        steps = doubling(members, rank)
        self._meter.spend(HostCost.POST)
        self._bus.write_block(step_at(self._process, group, 0), struct.pack(f">{len(steps)}I", *steps))

    def start(self, group: int, lane: int, how: int, value: int = 0) -> None:
        """Start a collective, as the `StartWord` says. The one before in this lane must have ended."""
        at = result_at(group, lane) + FLAG_AT
        self._flags.view[at : at + len(NONE_YET)] = NONE_YET
        self._meter.spend(HostCost.POST)
        self._bus.write_block(start_at(self._process, group, lane), START.pack(value & WORD, value >> 32, how))

    def result(self, group: int, lane: int, name: int) -> Result | None:
        """The end of the collective of this name, the last of its lane, if it has come."""
        value, last = RESULT.unpack_from(self._flags.view, result_at(group, lane))
        flag = FlagWord.from_bits(last)
        return Result(Status(flag.status), value) if flag.tag == ended(name) else None

    def watched(self, group: int, lane: int) -> Watched:
        """The word that changes when it comes."""
        return Watched(self._flags, result_at(group, lane) + FLAG_AT, NONE_YET)
