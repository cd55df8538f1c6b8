"""One rank's access to the MCP: request slots, records, receive entries (NP-02, NP-53, NP-54).

Knows the form of requests and records, not their meaning; the device above knows MPI. All
bookkeeping of what the NIC has room for is here: `can_post` before `post`. Slots come back without
any message: the NIC flips a bit for each, read only when slots run short; a process about to sleep
for want of slots sets the alarm instead.
"""

import struct
from collections import deque
from typing import NamedTuple

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.mpi_np.codec import pack, picker
from lanai_firmware.programs.mpi_np.layout import REQUEST_TAIL, SLOTS, Error, Kind, Op, Record, Region, Request
from lanai_hdl.machine import host_offset

from ...bus.base import Bus, HostBuffer
from ...config import HostConfig, HostCost
from ...errors import DeviceLost, UserError
from ...host_model.meter import Meter
from ...operation import Wait
from .driver import Attachment

REQUEST = int(sizeof(Request))
TAIL = int(REQUEST_TAIL)
RECORD = int(sizeof(Record))
SEQUENCE = int(offset_of(Record, "sequence"))
SEQUENCE_NUMBER = struct.Struct(">H")
SLOTS_FROM = int(sizeof(Region))
FREED = int(offset_of(Region, "freed"))
ALARM = int(offset_of(Region, "alarm"))
DOORBELL = host_offset("DOORBELL")
INLINE_SHARE = (12, 12)  # of SLOTS: how many must stay free, how many sends to one rank may hold
LONG_SHARE = (8, 20)
KINDS = {int(kind): kind for kind in Kind if kind is not Kind.NONE}
ERRORS = frozenset(int(error) for error in Error)
NOTICED = picker(Record, "kind", "error", "operation", "source", "tag", "length", "context", "token", "total")


class Notice(NamedTuple):
    """A record, decoded."""

    kind: Kind
    error: int
    operation: int
    source: int
    tag: int
    length: int
    context: int
    token: int
    total: int


class Endpoint:
    """The rank's part of the NIC, over its bus.

    Args:
        copyblock: that of the endpoint before, where the NIC was booted again; else it is
            allocated.
    """

    def __init__(
        self,
        bus: Bus,
        attachment: Attachment,
        config: HostConfig,
        copyblock: HostBuffer | None = None,
    ) -> None:
        self.bus = bus
        self.attachment = attachment
        self.config = config
        self.copyblock = copyblock or bus.allocate(attachment.copyblock_bytes)
        if copyblock is not None:
            copyblock.view[:] = bytes(copyblock.size)
        if self.copyblock.bus_address != attachment.copyblock:
            raise UserError(
                f"the copyblock came to bus address {self.copyblock.bus_address:#x}, but the NIC was told "
                f"{attachment.copyblock:#x}: it must be the process's first allocation"
            )
        self.inline_limit = min(attachment.slot_bytes - REQUEST, config.pio_threshold)
        self.bell = 1 << attachment.local_rank  # what is written to DOORBELL
        self.meter = Meter(config, bus.elapse)
        self.next = 0
        self.free = deque(range(1, int(SLOTS)))
        self.used: dict[int, int] = {}  # slot -> destination, or -1 for requests that are read at once
        self.held: dict[int, int] = {}  # slots in use by sends to each destination
        self.freed = 0  # Region.freed as last read
        self.place = 0
        self.sequence = 1
        self.broken: DeviceLost | None = None  # what was found wrong with the NIC
        self.stopped = False  # it is lost and was reset: it will not touch the host's memory any more
        self.heard = bus.now  # when it last gave a sign of life

    # Requests.

    def can_post(self, dest: int = -1, inline: bool = False) -> bool:
        """Is there a slot for a request?

        Sends to one rank may not take all slots, as other ranks must be reached too (NP-07), nor
        may sends in all, as receives must be posted. Inline sends keep theirs until the body has
        left, so they get fewer: others can go another way. With `pio_when_empty` they get one, which
        must be the only send to its rank.
        """
        if self.room(dest, inline):
            return True
        self.meter.pay()
        freed = self.bus.read(self.attachment.region + FREED)
        for slot, owner in list(self.used.items()):
            if (freed ^ self.freed) >> slot & 1:
                del self.used[slot]
                self.free.append(slot)
                if owner >= 0:
                    self.held[owner] -= 1
        self.freed = freed
        return self.room(dest, inline)

    def room(self, dest: int, inline: bool) -> bool:
        """Is there one, as far as is known without asking the NIC?"""
        if dest < 0:
            return bool(self.free)
        spare, share = INLINE_SHARE if inline else LONG_SHARE
        if inline and self.config.pio_when_empty:
            share = 1  # the channel's send ring must be empty (NP-43)
        return len(self.free) > spare and self.held.get(dest, 0) < share

    def post(self, op: Op, operation: int, fields: dict[str, int], dest: int = -1, body: bytes = b"") -> None:
        """Place one request; `can_post` must have said yes. An inline body is written in the same
        burst, before its words. Where the host's processes have a semaphore, taking it and giving it back are paid
        for (NP-54)."""
        slot = self.next
        self.next = self.free.popleft()
        self.used[slot] = dest
        if dest >= 0:
            self.held[dest] = self.held.get(dest, 0) + 1
        end = self.attachment.region + SLOTS_FROM + (slot + 1) * self.attachment.slot_bytes
        data = pack(Request, {**fields, "command": op << 24 | self.next << 16 | operation})
        if op == Op.SEND_INLINE:
            data = body + bytes(-len(body) % 4) + data[REQUEST - TAIL :]
        semaphore = self.config.semaphore
        self.meter.charge(HostCost.POST)
        if semaphore:
            self.meter.charge(HostCost.SYSTEM_CALL)
        self.meter.pay()
        self.bus.write_then(end - len(data), data, DOORBELL, self.bell)
        if semaphore:
            self.meter.charge(HostCost.SYSTEM_CALL)
            self.meter.pay()

    def alarm(self) -> None:
        """Ask for a ROOM record at the next slot given back."""
        self.meter.pay()
        self.bus.write(self.attachment.region + ALARM, 1)

    # Records.

    def look(self) -> Notice | None:
        """The next record, if it has come.

        Raises:
            DeviceLost: it is not a record of this firmware; or the NIC was lost before, so that no
                rank waits for it.
        """
        if self.broken is not None:
            raise self.broken
        start = self.place * RECORD
        if SEQUENCE_NUMBER.unpack_from(self.copyblock.view, start + SEQUENCE)[0] != self.sequence:
            return None
        number, error, *rest = NOTICED(self.copyblock.view, start)
        kind = KINDS.get(number)
        if kind is None or error not in ERRORS:
            raise self.lost_by_damaged_record(f"has kind {number} and error {error}, of which one is unknown")
        self.place = (self.place + 1) % self.attachment.records
        self.sequence = (self.sequence + 1) & 0xFFFF
        self.meter.charge(HostCost.COMPLETE)
        self.heard = self.bus.now
        return Notice(kind, error, *rest)

    def sleep(self, why: Wait) -> bool:
        """Wait until the next record comes. Nothing crosses the bus meanwhile but the record itself
        (NP-49).

        Returns False if the watchdog expired and the NIC turned out healthy. Raises DeviceLost if
        it is not.
        """
        self.meter.pay()
        start = self.place * RECORD + SEQUENCE
        seen = int.from_bytes(self.copyblock.view[start : start + 4], "big")
        if seen >> 16 == self.sequence:
            return True
        if self.bus.wait_change(self.copyblock, start, seen, why, self.config.watchdog) != seen:
            return True
        self.examine()
        return False

    # The NIC's health.

    @property
    def silent(self) -> bool:
        """Has the watchdog expired since the last record?"""
        return 0 < self.config.watchdog <= self.bus.now - self.heard

    def examine(self) -> None:
        """Check the NIC's health. Raises DeviceLost if it has failed."""
        finding = self.bus.examine()
        if finding is not None:
            self.stopped = True
            raise self.mark_lost(finding)
        self.heard = self.bus.now

    def await_slot(self) -> None:
        """Until there is a slot for a request that takes part in no share: the NIC gives one back
        as soon as it has read one."""
        self.heard = self.bus.now
        while not (self.free or self.can_post()):
            if self.silent:
                self.examine()

    def lost_by_damaged_record(self, finding: str) -> DeviceLost:
        """The error for a record that this firmware never writes. Nothing that the NIC says can be
        trusted any more."""
        return self.mark_lost(f"wrote a damaged record, which {finding}; it was reset or runs other firmware")

    def mark_lost(self, finding: str) -> DeviceLost:
        """The error that names the NIC's rank and what is wrong with it. Every later look raises it
        too."""
        self.broken = DeviceLost(
            f"the NIC of rank {self.attachment.rank} {finding}. What was on its way is lost: start the job "
            "again, which boots the NIC"
        )
        return self.broken
