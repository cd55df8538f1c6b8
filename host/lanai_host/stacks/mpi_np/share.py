"""A rank's share of its NIC: its endpoint, its page table, receive entries, numbers for operations; and how much of
each is free.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from lanai_firmware.lang import sizeof
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import ANY, PageEntry

from ...bus.base import Bus, BusError, HostBuffer
from ...config import HostConfig
from ...operation import ANY_SOURCE, DeviceError, ErrorKind, Operation
from ..pinning import Piece
from .driver import Attachment
from .endpoint import Endpoint
from .operations import Hold, Memory, Receive, Send

# The page table of an endpoint: entries that describe a message's pieces to the NIC (NP-44..NP-48).


ENTRY = int(sizeof(PageEntry))
PER_ENTRY = 4
FREE = pack(PageEntry, {"peer": int(ANY)})  # no rank may ask for it


@dataclass
class PageTable:
    """The endpoint's page table: entries strung together for each message. Entry 0 means "none" and
    is never used."""

    view: memoryview
    entries: int
    pages_per_entry: int = PER_ENTRY
    free: list[int] = field(init=False)
    written: int = 0

    def __post_init__(self) -> None:
        self.free = list(range(self.entries - 1, 0, -1))

    def needed(self, pieces: int) -> int:
        return -(-pieces // self.pages_per_entry)

    def write(self, pieces: Sequence[Piece], total: int, operation: int, peer: int = int(ANY)) -> list[int]:
        """String entries that describe `pieces`; their indices. A message without bytes has one
        entry too. Rank `peer` may ask for the bytes from the first entry on: without it, no rank may."""
        count = max(1, self.needed(len(pieces)))
        indices = [self.free.pop() for _ in range(count)]
        for i, index in enumerate(indices):
            part = pieces[i * self.pages_per_entry : (i + 1) * self.pages_per_entry]
            values = {
                "next": indices[i + 1] if i + 1 < count else 0,
                "total": total,
                "operation": operation,
                "peer": peer if i == 0 else int(ANY),
            }
            for j, (address, length) in enumerate(part):
                values[f"pieces.{j}.address"] = address
                values[f"pieces.{j}.length"] = length
            self.view[index * ENTRY : (index + 1) * ENTRY] = pack(PageEntry, values)
        self.written += count
        return indices

    def release(self, indices: Sequence[int]) -> None:
        """Give entries back and clear them, so that a later request for such a message is
        refused."""
        for index in indices:
            self.view[index * ENTRY : (index + 1) * ENTRY] = FREE
        self.free += indices


class NicShare:
    """One rank's share of its NIC.

    Members:
        active: operations on the NIC, by the number under which it reports them.
        numbers: those that are free.
        entries: receive entries of the NIC that are free; `wildcards`: how many more may take
            messages of anyone (NP-35).
        long_sends: sends on the NIC that will need a record each.
        lost: ranks that do not answer, and why.
        broken: why the NIC is of no use, if it is not.
    """

    def __init__(self, bus: Bus, attachment: Attachment, config: HostConfig, copyblock: HostBuffer | None) -> None:
        self.bus = bus
        self.config = config
        self.rank = attachment.rank
        self.size = attachment.ranks
        self.endpoint = Endpoint(bus, attachment, config, copyblock)
        self.meter = self.endpoint.meter
        self.memory = Memory(bus, config, attachment.page_entries)
        table = self.endpoint.copyblock.view[attachment.page_table_offset :]
        self.table = PageTable(table, attachment.page_entries, config.pages_per_entry)
        self.numbers = deque(range(1, 0x8000))
        self.active: dict[int, Operation] = {}
        self.entries = list(range(attachment.receives))
        self.wildcards = attachment.any_receives
        self.long_sends = 0
        self.lost: dict[int, str] = {}

    @property
    def broken(self) -> str | None:
        return None if self.endpoint.broken is None else str(self.endpoint.broken)

    def account(self) -> None:
        """Let the host pay for what lending memory took."""
        if self.memory.copied or self.memory.pins.work:
            for what, count in self.memory.work():
                self.meter.charge(what, count)

    def place(self, receive: Receive) -> None:
        """A receive goes on to the NIC: it gets a number and a receive entry there."""
        receive.number = self.numbers.popleft()
        receive.index = self.entries.pop()
        receive.placed = True
        self.active[receive.number] = receive

    def retire_receive(self, receive: Receive, received: int) -> None:
        """The NIC has forgotten a receive: everything it held is free again."""
        del self.active[receive.number]
        self.numbers.append(receive.number)
        self.entries.append(receive.index)
        if receive.wanted_source == ANY_SOURCE:
            self.wildcards += 1
        self._retire(receive, received)

    def retire_send(self, number: int, send: Send) -> None:
        """... a send."""
        del self.active[number]
        self.numbers.append(number)
        self.long_sends -= 1
        self._retire(send, 0)

    def _retire(self, operation: Send | Receive, received: int) -> None:
        hold = operation.hold
        if hold is not None:
            operation.hold = None
            self.table.release(hold.entries)
            try:
                self.memory.take_back(hold, received)
            except BusError as error:
                operation.error = DeviceError(ErrorKind.BUS_ERROR, str(error))
            self.account()


def inline(hold: Hold) -> dict[str, int]:
    """The first pieces, which ride in the request (NP-47)."""
    fields = {}
    for i, (address, length) in enumerate(hold.pieces[:2]):
        fields[f"pieces.{i}.address"] = address
        fields[f"pieces.{i}.length"] = length
    return fields
