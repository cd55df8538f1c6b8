"""The reference model of matching: what a NIC keeps of a process's messages and receives, by MPI's rule, in lists."""

from dataclasses import dataclass, field

from .messages import (
    HEADER_BYTES,
    NUMBER_BITS,
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
)
from .packets import word

Source = tuple[int, int]  # a NIC, and a process of its host


@dataclass(frozen=True)
class ReferenceMessage:
    """A message as it arrives: the word `offset` of its command, and what that has sent."""

    source: Source
    offset: int
    content: bytes

    @property
    def envelope(self) -> EnvelopeWord:
        return EnvelopeWord.from_bits(self.offset)

    @property
    def header(self) -> HeaderWord:
        return HeaderWord.from_bits(int.from_bytes(self.content[:HEADER_BYTES], "big"))

    @property
    def data(self) -> bytes:
        return self.content[HEADER_BYTES:]


@dataclass(frozen=True)
class ReferenceReceive:
    """A receive, or what looks for a message, by the words of its slot."""

    slot: int
    want: WantWord
    name: NameWord
    offset: int
    ask: AskWord

    @classmethod
    def of(cls, slot: int, words: tuple[int, int, int, int]) -> "ReferenceReceive":
        want, name, offset, ask = words
        return cls(slot, WantWord.from_bits(want), NameWord.from_bits(name), offset, AskWord.from_bits(ask))

    def fits(self, message: ReferenceMessage) -> bool:
        want = self.want
        return (
            want.context == message.header.context
            and (bool(want.any_source) or (want.node, want.process) == message.source)
            and (bool(want.any_tag) or self.name.tag == message.envelope.tag)
        )

    def suits(self, message: ReferenceMessage) -> bool:
        """Return whether it has a buffer for the message. Whether that is the process's memory is another question."""
        small = len(message.data) <= self.ask.length and not self.offset % 4
        return bool(self.ask.placed) and not message.envelope.record and small


@dataclass
class ReferenceMatching:
    """A process's messages and receives, at most `share` of each, and how many `records` there have been."""

    share: int
    receives: list[ReferenceReceive] = field(default_factory=list)
    messages: list[tuple[ReferenceMessage, int]] = field(default_factory=list)  # with the numbers of their records
    records: int = 0
    overflows: bool = False

    def find(self, message: ReferenceMessage) -> ReferenceReceive | None:
        return next((one for one in self.receives if one.fits(message) and not message.envelope.aside), None)

    def fate(self, message: ReferenceMessage) -> Fate:
        """The fate of a message that becomes a record."""
        if self.find(message) is not None:
            return Fate.TAKEN
        full = self.overflows or len(self.messages) == self.share
        return Fate.LEFT if full or message.envelope.aside else Fate.HELD

    def record(self, message: ReferenceMessage) -> None:
        """The message has become a record."""
        fate, number = self.fate(message), self.records % (1 << NUMBER_BITS)
        self.records = (self.records + 1) % (1 << TAKEN_BITS)
        receive = self.find(message)
        if receive is not None:
            self.receives.remove(receive)
        elif fate is Fate.HELD:
            self.messages.append((message, number))
        elif not message.envelope.aside:
            self.overflows = True

    def answer(self, asked: ReferenceReceive) -> tuple[End, int] | None:
        """Return the end of what is asked in a slot, and the number of a record; None if a receive waits."""
        ask = asked.ask.ask
        if ask in (Ask.POST, Ask.PROBE, Ask.TAKE):
            return self._look(asked)
        end = End.NONE
        if ask == Ask.CANCEL:
            for one in self.receives:
                if one.slot == asked.name.slot:
                    self.receives.remove(one)
                    end = End.DONE
                    break
        elif ask == Ask.RESUME and asked.offset % (1 << TAKEN_BITS) == self.records:
            self.overflows, end = False, End.DONE
        elif ask == Ask.RESET:
            self.receives, self.messages, self.records, self.overflows, end = [], [], 0, False, End.DONE
        return end, 0

    def _look(self, asked: ReferenceReceive) -> tuple[End, int] | None:
        ask = asked.ask.ask
        for message, number in self.messages:
            if asked.fits(message):
                if ask != Ask.PROBE:
                    self.messages.remove((message, number))
                return End.RECORD, number
        if ask == Ask.POST:
            self.overflows |= len(self.receives) == self.share
            if not self.overflows:
                self.receives.append(asked)
                return None
        return (End.FULL if self.overflows else End.NONE), 0


def first_word(message: ReferenceMessage, fate: Fate, receive: ReferenceReceive | None) -> bytes:
    """The first word of a record."""
    node, process = message.source
    slot = receive.slot if receive is not None else 0
    first = word(RecordWord, length=len(message.content), slot=slot, fate=fate, node=node, process=process)
    return first.to_bytes(4, "big")


def receipt(end: End, number: int = 0, message: ReferenceMessage | None = None) -> bytes:
    """The receipt of what was asked; with the `message` that has been written to a receive's buffer."""
    told, tag = 0, 0
    if message is not None:
        node, process = message.source
        told, tag = word(FromWord, length=len(message.data), process=process, node=node), message.envelope.tag
    words = told, number, word(ReceiptWord, end=end, tag=tag)
    return b"".join(one.to_bytes(4, "big") for one in words)


assert 1 << RecordWord.fields["slot"].width >= SLOTS
