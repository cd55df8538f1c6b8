"""Messages that the adapter matches with receives (`lanai_hdl.remote.messages`): a process's asks and their receipts,
and its FIFO of records.
"""

import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from lanai_hdl.remote.messages import (
    END_AT,
    NUMBER_BITS,
    RECEIPT_BYTES,
    SLOTS,
    TAKEN_BITS,
    Ask,
    AskWord,
    End,
    EnvelopeWord,
    Fate,
    FromWord,
    HeaderWord,
    NameWord,
    ReceiptWord,
    RecordWord,
    WantWord,
    receipt_at,
    slot_at,
)
from lanai_hdl.remote.packets import word

from ..bus.base import Bus, HostBuffer, Watched
from ..config import HostCost
from ..host_model.meter import Meter
from .fifo import Fifo

HEADER = struct.Struct(">I")
SLOT = struct.Struct(">IIII")
RECEIPT = struct.Struct(">III")
NONE_YET = bytes(4)  # the last word of a receipt that has not come
MOST_POSTED = SLOTS - 2  # receives of a process that its slots have room for, beside another ask and an unanswered one
Source = tuple[int, int]  # the NIC, and the process of its host


class Want(NamedTuple):
    """The messages that a receive takes. None: from any source, with any tag."""

    source: Source | None
    tag: int | None
    context: int


class Buffer(NamedTuple):
    """Memory for a message's bytes: at an offset of one of the process's own exposures."""

    local: int
    offset: int
    length: int


class Receipt(NamedTuple):
    """The end of an ask.

    Members:
        number: of the RECORD; its lower bits.
        source, tag, length: of a message that is PLACED.
    """

    end: End
    number: int
    source: Source
    tag: int
    length: int


class Record(NamedTuple):
    """A message in the FIFO. One that is `aside` was not matched. `note` is its sender's, `data` is good until the
    record is dropped.
    """

    source: Source
    tag: int
    context: int
    note: int
    fate: Fate
    slot: int
    aside: bool
    data: memoryview


Await = Callable[[Sequence[Watched], str], bool]  # waits until one of some words changes; False if the NIC is lost


class Asks:
    """The asks of a process, which the adapter serves in order.

    A receive that is posted has a slot until it has been answered, has been cancelled, or a record says that it has
    taken its message: then call `release`.

    Attributes:
        free: slots that can be used. One is never given to a receive.
        wait: waits for an answer, which comes soon.

    Args:
        flags: the page that entry 0 of the process's page table names.
    """

    def __init__(self, bus: Bus, process: int, flags: HostBuffer, meter: Meter, wait: Await) -> None:
        self._bus = bus
        self._process = process
        self._flags = flags
        self._meter = meter
        self.wait = wait
        self.free = deque(range(SLOTS))

    def post(self, want: Want, buffer: Buffer | None = None) -> int:
        """Post a receive; return its slot. There must be two that are free."""
        assert len(self.free) > 1
        slot = self.free.popleft()
        if buffer is None:
            self._ask(slot, want, ask=Ask.POST)
        else:
            fields = {"length": buffer.length, "local": buffer.local, "placed": 1}
            self._ask(slot, want, third=buffer.offset, ask=Ask.POST, **fields)
        return slot

    def receipt(self, slot: int) -> Receipt | None:
        """The answer to what was asked in a slot, if it has come."""
        first, number, last = RECEIPT.unpack_from(self._flags.view, receipt_at(slot))
        if not last:
            return None
        ended, origin = ReceiptWord.from_bits(last), FromWord.from_bits(first)
        return Receipt(End(ended.end), number, (origin.node, origin.process), ended.tag, origin.length)

    def watched(self, slot: int) -> Watched:
        """The word that changes when the answer comes."""
        return Watched(self._flags, receipt_at(slot) + END_AT, NONE_YET)

    def release(self, slot: int) -> None:
        self.free.append(slot)

    def find(self, want: Want, take: bool) -> Receipt | None:
        """Ask for the oldest message that fits, which leaves the NIC's list if the process `take`s it. None if the
        NIC is lost."""
        return self._ask_and_wait(want, Ask.TAKE if take else Ask.PROBE)

    def cancel(self, slot: int) -> bool:
        """Ask that a receive is no longer posted. Return whether that is so; else it has its message, or an answer."""
        receipt = self._ask_and_wait(NOTHING, Ask.CANCEL, named=slot)
        return receipt is not None and receipt.end is End.DONE

    def resume(self, taken: int) -> bool:
        """Ask that the NIC keeps messages and receives again. `taken`: records that this process has seen. Return
        whether it does: those were all."""
        receipt = self._ask_and_wait(NOTHING, Ask.RESUME, third=taken % (1 << TAKEN_BITS))
        return receipt is not None and receipt.end is End.DONE

    def reset(self) -> None:
        """Ask that all of this process's messages and receives are forgotten."""
        self._ask_and_wait(NOTHING, Ask.RESET)

    def _ask_and_wait(self, want: Want, ask: Ask, *, named: int = 0, third: int = 0) -> Receipt | None:
        slot = self.free.popleft()
        self._ask(slot, want, named=named, third=third, ask=ask)
        while (receipt := self.receipt(slot)) is None:
            if not self.wait([self.watched(slot)], f"the NIC's answer to {ask.name}"):
                return None
        self._meter.spend(HostCost.POLL)
        self.free.appendleft(slot)
        return receipt

    def _ask(self, slot: int, want: Want, *, named: int = 0, third: int = 0, **fields: int) -> None:
        node, process = want.source or (0, 0)
        any_source, any_tag = want.source is None, want.tag is None
        words = (
            word(WantWord, context=want.context, process=process, node=node, any_source=any_source, any_tag=any_tag),
            word(NameWord, slot=named, tag=want.tag or 0),
            third,
            word(AskWord, **fields),
        )
        at = receipt_at(slot) + END_AT
        self._flags.view[at : at + len(NONE_YET)] = NONE_YET
        self._meter.spend(HostCost.POST)
        self._bus.write_block(slot_at(self._process, slot), SLOT.pack(*words))


NOTHING = Want((0, 0), 0, 0)  # of an ask to which no message matters


def envelope(tag: int, **marks: int) -> int:
    """The word `offset` of a SEND's command. `marks`: fields of an `EnvelopeWord`."""
    return word(EnvelopeWord, tag=tag, **marks)


def headed(context: int, note: int, data: bytes) -> bytes:
    """The data of a SEND: its header and bytes."""
    return HEADER.pack(word(HeaderWord, context=context, note=note)) + data


def record_in(fifo: Fifo) -> Record:
    """The oldest record of a FIFO for messages."""
    size, name = (fifo.word(n) for n in range(2))
    first, data = RecordWord.from_bits(size), fifo.record()
    header = HeaderWord.from_bits(*HEADER.unpack_from(data))
    source = (first.node, first.process)
    named = EnvelopeWord.from_bits(name)
    rest = data[HEADER.size :]
    return Record(source, named.tag, header.context, header.note, Fate(first.fate), first.slot, bool(named.aside), rest)


def notes(fifo: Fifo) -> Iterator[int]:
    """The notes of all records that had come at the last poll."""
    for data in fifo.records():
        yield HeaderWord.from_bits(*HEADER.unpack_from(data)).note


def names(receipt: Receipt, number: int) -> bool:
    """Return whether a receipt may mean the record of this number: it has the lower bits."""
    return receipt.number == number % (1 << NUMBER_BITS)


assert RECEIPT.size <= RECEIPT_BYTES
