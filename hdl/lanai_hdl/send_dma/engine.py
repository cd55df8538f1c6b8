"""Send DMA: words from SRAM into packets on the wire."""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..block import NicBlock, Raises
from ..config import NicConfig
from ..lbus.lbus import ADDRESS_BITS, LbusMaster
from ..lbus.masters import SEND
from ..link.flit import Flit, Kind
from ..queue import BypassQueue, LateEntryQueue
from .csr import SEND_DMA

LENGTH_BITS = ADDRESS_BITS + 1
CREDIT_BITS = 32
FLITS_AHEAD = 8  # read from SRAM before the link takes them: hides the read's latency and the other edge


class SendDescriptor(data.Struct):
    """One piece of a packet. The fields are SEND_*'s; `refused` pieces send no word and spoil the
    CRC."""

    route: 32
    pointer: ADDRESS_BITS
    length: LENGTH_BITS
    first: 1
    last: 1
    chase: 1
    check: 1
    refused: 1


class SendCredit(NicBlock):
    """SEND_CREDIT: bytes that chasing sends may still take (NP-51).

    `feed` bytes come with `fed`, `size` go with `take`. `write` adds the signed `amount`. `value`
    shows the sum in the next slot.

    Bytes are taken in the order in which they came. Those that come with `spoil` are not sound:
    `unsound` in a slot in which such bytes are the next to be taken. If more unsound bytes come
    while others wait, all between them count as unsound too.
    """

    fed: In(1)
    feed: In(LENGTH_BITS)
    take: In(1)
    size: In(3)
    write: In(1)
    amount: In(CREDIT_BITS)
    spoil: In(1)
    value: Out(signed(CREDIT_BITS))
    unsound: Out(1)

    def connect_registers(self, bank):
        credit = SEND_DMA.registers.SEND_CREDIT
        return [
            self.write.eq(bank.written(credit)),
            self.amount.eq(bank.wdata),
            bank.value(credit).eq(self.value),
        ]

    def elaborate(self, platform):
        m = Module()
        self._follow_unsound(m)
        given = Signal(signed(CREDIT_BITS))
        m.d.comb += given.eq(Mux(self.write, self.value + self.amount.as_signed(), self.value))
        # `fed` and `take` follow the arbiter: they choose among sums that are ready.
        with m.Switch(Cat(self.fed, self.take)):
            for choice, change in enumerate((0, self.feed, -self.size, self.feed - self.size)):
                total = Signal(signed(CREDIT_BITS), name=f"total_{choice:02b}")
                m.d.comb += total.eq(given + change)
                with m.Case(choice):
                    m.d.sync += self.value.eq(total)
        return m

    def _follow_unsound(self, m):
        """Positions, counted in bytes still to be taken: `sound` lie before the first unsound byte,
        `end` up to the last one."""
        sound, end = Signal(CREDIT_BITS - 1), Signal(CREDIT_BITS - 1)
        debt = self.value[-1]
        m.d.comb += self.unsound.eq((end != 0) & (sound < self.size))
        with m.Switch(Cat(self.fed & self.spoil, self.take)):  # both are late, as above
            with m.Case(0b00):  # a write of SEND_CREDIT takes the last bytes away
                with m.If(debt | (end > self.value[:-1])):
                    m.d.sync += end.eq(Mux(debt, 0, self.value))
            for choice, taken in ((0b10, self.size), (0b01, 0), (0b11, self.size)):
                after, waits = Signal.like(sound, name=f"after_{choice:02b}"), Signal(name=f"waits_{choice:02b}")
                m.d.comb += [after.eq(Mux(sound < taken, 0, sound - taken)), waits.eq(end > taken)]
                with m.Case(choice):
                    if choice & 1:
                        m.d.sync += [
                            sound.eq(Mux(waits, after, Mux(debt, 0, self.value - taken))),
                            end.eq(self.value + self.feed - taken),
                        ]
                    else:
                        m.d.sync += [sound.eq(after), end.eq(Mux(waits, end - taken, 0))]


class SendDma(NicBlock):
    """Runs descriptors in order; a packet is the words from a `first` to a `last` one.

    Members: `post`, a stream of descriptors, checked, with `refused` set if they are bad; `free`
    entries of their queue; `lbus`; `o`, flits for the transmitter; `credit` (what SEND_CREDIT
    holds) and `take`, a slot's event: `size` bytes are taken from it; `spoil`, with `take`, that
    these bytes are not sound: the CRC of their packet is then wrong on purpose. `done`, a slot's
    event: the last word of a descriptor has been read. `idle` while nothing is queued or under way.

    Attributes, for proofs: `piece`, what is left of the piece: some bytes if `more`, fewer than 4 or none if
    `short`. It `begins` in this slot, or is read (`reads`).
    """

    lbus_master = SEND

    def __init__(self, config: NicConfig):
        self.config = config
        self.piece = Signal(SendDescriptor)
        self.more, self.short = Signal(), Signal()
        self.begins = Signal()
        self.reads = Signal()
        super().__init__(
            {
                "post": In(stream.Signature(SendDescriptor)),
                "free": Out(range(config.send_queue + 1), init=config.send_queue),
                "lbus": Out(LbusMaster()),
                "o": Out(stream.Signature(Flit)),
                "credit": In(signed(CREDIT_BITS)),
                "take": Out(1),
                "size": Out(3),
                "spoil": In(1),
                "done": Out(1),
                "idle": Out(1),
            }
        )

    def raises(self):
        yield Raises(SEND_DMA.events.SEND_DONE, self.done)

    def elaborate(self, platform):
        m = Module()
        m.submodules.descriptors = descriptors = BypassQueue(SendDescriptor, self.config.send_queue)
        m.submodules.flits = flits = LateEntryQueue(Flit, FLITS_AHEAD)
        wiring.connect(m, wiring.flipped(self.post), descriptors.i)
        wiring.connect(m, flits.o, wiring.flipped(self.o))
        m.d.comb += self.free.eq(descriptors.free)

        piece = self.piece
        spoiled = Signal()  # this packet
        unsound = Signal()  # what the chasing packet took
        arriving = Signal()  # a word read in the last slot
        out = flits.i
        m.d.sync += arriving.eq(self.lbus.grant)
        m.d.comb += [
            self.lbus.addr.eq(piece.pointer),
            out.valid.eq(arriving),
            out.payload.kind.eq(Kind.DATA),
            out.payload.data.eq(self.lbus.rdata),
        ]

        self._read_words(m, piece, flits)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(~descriptors.o.valid & ~arriving & (flits.level == 0))
                m.d.comb += descriptors.o.ready.eq(1)
                m.d.sync += piece.eq(descriptors.o.payload)
                with m.If(descriptors.o.valid):
                    m.next = "HEAD"
            with m.State("HEAD"):
                m.d.comb += self.begins.eq(1)
                self._begin(m, piece, spoiled, out)
                with m.If(~piece.first):
                    m.next = "WORDS"
                with m.Else():
                    self._control(m, out, Kind.HEAD, piece.route)
                    with m.If(out.ready):
                        m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += [self.reads.eq(1), self.size.eq(self._size(piece))]
                self._end_words(m, arriving, unsound)
            with m.State("CHECK"):
                self._check(m, piece, out, spoiled, unsound)
            with m.State("TAIL"):
                self._end(m, piece, out, spoiled, unsound)
        return m

    def _begin(self, m, piece, spoiled, out):
        """State HEAD: what is left of the piece, and whether its packet is bad from the start."""
        some = (piece.length != 0) & ~piece.refused
        m.d.sync += [
            # 0 but in state WORDS, so that `request` need not know the state.
            self.more.eq(some & (~piece.first | out.ready)),
            self.short.eq(~piece.length[2:].any() | piece.refused),
        ]
        with m.If(piece.refused):
            m.d.sync += spoiled.eq(1)
        with m.Elif(piece.first):  # the packet before may have had no end
            m.d.sync += spoiled.eq(0)

    def _check(self, m, piece, out, spoiled, unsound):
        """State CHECK: sends the CRC of the words so far, if the piece asks for it."""
        with m.If(~piece.check):
            m.next = "TAIL"
        with m.Else():
            self._control(m, out, Kind.CHECK, spoiled | (unsound & piece.chase))
            with m.If(out.ready):
                m.next = "TAIL"

    def _end_words(self, m, arriving, unsound):
        """State WORDS: the piece is read when its last word has come."""
        with m.If(self.take & self.spoil):
            m.d.sync += unsound.eq(1)
        with m.If(~self.more & ~arriving):
            m.d.comb += self.done.eq(1)
            m.next = "CHECK"

    def _end(self, m, piece, out, spoiled, unsound):
        """State TAIL: ends the packet with its last piece."""
        with m.If(~piece.last):
            m.next = "IDLE"
        with m.Else():
            self._control(m, out, Kind.TAIL, spoiled | (unsound & piece.chase))
            with m.If(out.ready):
                m.d.sync += [spoiled.eq(0), unsound.eq(0)]
                m.next = "IDLE"

    def _control(self, m, out, kind, data):
        m.d.comb += [out.valid.eq(1), out.payload.kind.eq(kind), out.payload.data.eq(data)]

    def _size(self, piece):
        """The wire carries a whole word, credit is for the bytes."""
        return Mux(self.short, piece.length[:2], 4)

    def _read_words(self, m, piece, flits):
        """Asks for the next word while there is room for it, and bytes for it if it must chase."""
        size, short = self._size(piece), self.short
        funded = Signal()
        m.d.comb += [
            # credit >= size, without a carry chain on the path to the arbiter
            funded.eq(
                ~piece.chase | (~self.credit[-1] & (self.credit[2:-1].any() | (short & (self.credit[:2] >= size[:2]))))
            ),
            self.lbus.request.eq(self.more & funded & flits.room),
        ]
        with m.If(self.lbus.grant):
            # `more` and `short` are precomputed: `request` feeds the arbiter.
            m.d.sync += [
                piece.pointer.eq(piece.pointer + 4),
                piece.length.eq(piece.length - size),
                self.more.eq(piece.length[3:].any() | (piece.length[2] & piece.length[:2].any())),
                self.short.eq(~piece.length[3:].any()),
            ]
            with m.If(piece.chase):
                m.d.comb += self.take.eq(1)
