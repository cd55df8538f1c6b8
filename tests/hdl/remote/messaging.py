"""Hosts whose adapters match messages: what they ask, what they are told, and their records."""

from dataclasses import replace

from lanai_hdl.remote.fifo import RingWord, TailWord, after
from lanai_hdl.remote.messages import (
    HEADER_BYTES,
    Again,
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
from lanai_hdl.remote.packets import Op, word

from .bench import KEY, PAGE, SMALL, Side, play
from .test_session import Fabric

CELLS = 6
MATCHING = replace(SMALL, match_cells=CELLS)
SHARE = CELLS // MATCHING.processes
MESSAGES, OWN = 3, 5  # exposures: of the FIFO for messages, and of the process's own memory


class Messenger:
    """Process `process` of a side. Its page 1 has the control words of its FIFO, page 2 the ring, page 3 its
    buffers, at 0, and what it sends, at `STAGED`."""

    STAGED = 2048

    def __init__(self, side, process=0):
        self.side, self.process = side, process
        self.head, self.taken = 0, 0
        self.name = (side.number, process)

    def page(self, index):
        return self.side.pages[(self.process + 1 << 16) + index]

    async def open(self, context, free=PAGE):
        """Set up an empty FIFO with space for `free` bytes until `release`, and expose what is needed."""
        words = (0, (free - PAGE) % (1 << 20), word(RingWord, page=1, mask=0))
        self.page(1)[:12] = b"".join(one.to_bytes(4, "big") for one in words)
        await self.side.expose(context, MESSAGES, 0, 2 * PAGE, process=self.process, messages=1)
        await self.side.expose(context, OWN, 0, PAGE, process=self.process, page=3)

    def release(self, free=PAGE):
        """The records that were taken make room: there are `free` bytes of it."""
        self.page(1)[4:8] = ((self.head + free - PAGE) % (1 << 20)).to_bytes(4, "big")

    # Sending.

    async def begin(self, context, to, tag, data, *, comm=1, record=0, aside=0, again=Again.NO, buffer=0, **options):
        """Start a SEND; gives the tag of its command."""
        header = word(HeaderWord, context=comm, note=0x5A5A).to_bytes(4, "big")
        at = self.STAGED + 256 * buffer
        self.page(3)[at : at + HEADER_BYTES + len(data)] = header + data
        peer, process = to.name
        options = {"key": KEY, "length": HEADER_BYTES + len(data), **options}
        return await self.side.start(
            context, Op.SEND, peer, process << 4 | MESSAGES, word(EnvelopeWord, tag=tag, record=record, aside=aside),
            options.pop("length"), OWN, at, atomic=again, buffer=buffer, process=self.process, **options,
        )  # fmt: skip

    async def send(self, context, *args, buffer=0, **options):
        tag = await self.begin(context, *args, buffer=buffer, **options)
        return await self.side.end(context, tag, buffer, self.process)

    # Asking.

    async def ask(
        self, context, slot, ask, tag=None, source=None, *, comm=1, at=0, size=0, placed=0, other=0, local=OWN
    ):
        """Ask; the receipt is empty until it comes. Return the words. A `tag` or `source` of None is any."""
        place = receipt_at(slot)
        self.page(0)[place : place + 12] = bytes(12)
        node, process = source or (0, 0)
        words = (
            word(WantWord, context=comm, process=process, node=node, any_source=source is None, any_tag=tag is None),
            word(NameWord, slot=other, tag=tag or 0),
            at,
            word(AskWord, length=size, local=local, ask=ask, placed=placed),
        )
        await self.side.write(context, slot_at(self.process, slot), *words)
        return words

    async def post(self, context, slot, tag=None, source=None, *, at=None, size=64, **options):
        """Post a receive: with `at`, a byte of page 3, into a buffer there."""
        placed = at is not None
        await self.ask(context, slot, Ask.POST, tag, source, at=at or 0, size=size, placed=placed, **options)

    def receipt(self, slot):
        """The receipt in a slot: (end, number, source, tag, length) of one that is PLACED, (end, number) of others;
        None if there is none."""
        place = receipt_at(slot)
        told, number, last = (int.from_bytes(self.page(0)[place + 4 * n :][:4], "big") for n in range(3))
        told, last = FromWord.from_bits(told), ReceiptWord.from_bits(last)
        if not last.end:
            return None
        if last.end == End.PLACED:
            return End.PLACED, (told.node, told.process), last.tag, told.length
        return (End(last.end), number) if last.end == End.RECORD else (End(last.end),)

    async def answered(self, context, slot):
        while self.receipt(slot) is None:
            await context.tick()
        return self.receipt(slot)

    async def asked(self, context, slot, *args, **options):
        await self.ask(context, slot, *args, **options)
        return await self.answered(context, slot)

    # Records.

    def record(self):
        """The next record: (fate, slot, source, tag, communicator, data); None if there is none."""
        tail = TailWord.from_bits(int.from_bytes(self.page(1)[:4], "big"))
        if self.head == tail.count:
            return None
        ring = self.page(2)
        first, envelope, header = (int.from_bytes(ring[self.head % PAGE + 4 * n :][:4], "big") for n in range(3))
        size, envelope, header = RecordWord.from_bits(first), EnvelopeWord.from_bits(envelope), header
        header = HeaderWord.from_bits(header)
        assert header.note == 0x5A5A
        begin = self.head % PAGE + 12
        data = bytes(ring[begin : begin + size.length - HEADER_BYTES])
        self.head = after(self.head, size.length, self.side.config.payload)
        self.taken += 1
        slot = size.slot if size.fate == Fate.TAKEN else None
        return Fate(size.fate), slot, (size.node, size.process), envelope.tag, header.context, data

    async def recorded(self, context):
        while True:
            found = self.record()
            if found is not None:
                return found
            await context.tick()

    def buffer(self, at, size):
        return bytes(self.page(3)[at : at + size])


def between(script, fate=lambda words: [words], *, config=MATCHING, free=PAGE, watch=None, **options):
    """Runs `script(context, *messengers)`: of process 0 of both sides, then of process 1."""
    sides = [Side(n, config=config, **options) for n in range(2)]
    messengers = [Messenger(side, process) for process in range(config.processes) for side in sides]

    async def whole(context):
        for side in sides:
            await side.boot(context)
            if config.processes > 1:
                await side.boot_second(context)
        for one in messengers:
            await one.open(context, free)
        await script(context, *messengers)
        for side in sides:
            await side.rest(context)

    play(sides, whole, wire=Fabric(sides, fate).carry, watch=watch, slots=100_000)
    return sides
