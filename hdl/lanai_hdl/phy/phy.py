"""The phy: receiver and transmitter, and what crosses between the two clocks."""

from amaranth import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, Kind, LinkPort
from ..queue import Queue
from .receiver import SPOILT, PhyReceiver
from .symbols import Symbol
from .training import PERIOD, SYMBOL_BITS
from .transmitter import PhyTransmitter

SILENT = 64  # slots without a clock from the other side
BEAT_BITS = 3  # the last one changes every four slots of the other side
CROSSING = 8  # flits between the clocks: one comes in four slots at most, and one is taken in each
QUEUED, STOP_AT = 16, 8  # flits that wait for the pins; how few places left stop the NIC
SHOWN = 64  # slots of the other side from one window to the next
COUNT_BITS = 5  # of what counts across: as many events between two slots as fit are seen


class Status(data.Struct):
    """The state of a phy: there is a link; the other side's training was found; it has found ours; its clock comes."""

    up: 1
    locked: 1
    heard: 1
    clock: 1


class CountAcross(wiring.Component):
    """Counts in `sync` the slots of the domain `rx` with `event`; modulo 2**32.

    Exact if fewer than 2**5 events come between two slots of `sync`. A reset of `rx` leaves the count as it is.

    Members: `event`, ``In(1)``, of `rx`; `count`, ``Out(32)``, of `sync`.
    """

    event: In(1)
    count: Out(32)

    def elaborate(self, platform):
        m = Module()
        number = Signal(COUNT_BITS, reset_less=True)
        gray, here = Signal(COUNT_BITS, reset_less=True), Signal(COUNT_BITS)
        now, before = Signal(COUNT_BITS), Signal(COUNT_BITS)
        following = Signal(COUNT_BITS)
        m.d.comb += following.eq(number + self.event)
        m.d.rx += [number.eq(following), gray.eq(following ^ (following >> 1))]  # one bit of it changes
        m.submodules.cross = FFSynchronizer(gray, here)
        m.d.comb += now.eq(Cat(here[n:].xor() for n in range(COUNT_BITS)))
        m.d.sync += [before.eq(now), self.count.eq(self.count + (now - before)[:COUNT_BITS])]
        return m


class Phy(wiring.Component):
    """A link between two boards.

    The domain `sync` is the board's slot clock. The parent has a domain `rx` beside it, driven by the clock that
    comes with `i`, and with the reset that the phy drives: while that clock stands still, and for the first slots
    behind it, `rx` is in reset.

    Neither clock may be more than three times as fast as the other. A change of `link_rx.stop` is on the pins LATE
    slots later at most (`transmitter`), and is told again within REPEAT flits. A NIC with a `link_latency` of 8 slots
    or more has room for what comes until then.

    Members
    -------
    link_tx : ``In(LinkPort())``, what the NIC sends
    link_rx : ``Out(LinkPort())``, what it receives; DOWN without a link. A packet that has begun ends before with a
        wrong CRC, so that it holds no path through a switch. Registered
    o : ``Out(Symbol)``, to the pins, registered; the clock that leaves with it is that of `sync`
    i : ``In(Symbol)``, from the pins, in the domain `rx`
    up : ``Out(1)``, there is a link
    downs, retrains : ``Out(32)``, how often it was lost, and how often its lock was found
    status : ``Out(Status)``
    window : ``Out(30)``, three symbols in a row that came while there was no lock, the oldest one on top
    bad_symbols, cut_flits, misrouted : ``Out(32)``, slots with each of the receiver's `Events`, since the reset;
        without a link `bad_symbols` counts whatever the pins have
    """

    link_tx: In(LinkPort())
    link_rx: Out(LinkPort())
    o: Out(Symbol)
    i: In(Symbol)
    up: Out(1)
    downs: Out(32)
    retrains: Out(32)
    status: Out(Status)
    window: Out(PERIOD * SYMBOL_BITS)
    bad_symbols: Out(32)
    cut_flits: Out(32)
    misrouted: Out(32)

    def elaborate(self, platform):
        m = Module()
        m.submodules.receiver = receiver = DomainRenamer("rx")(PhyReceiver())
        m.submodules.transmitter = transmitter = PhyTransmitter()
        alive = self._watch_the_clock(m)
        locked, heard = Signal(), Signal()
        m.submodules.locked = FFSynchronizer(receiver.locked, locked)
        m.submodules.heard = FFSynchronizer(receiver.heard, heard)
        m.submodules.stops = FFSynchronizer(receiver.stops, transmitter.stopped)
        m.d.comb += [
            receiver.i.eq(self.i),
            self.o.eq(transmitter.o),
            transmitter.locked.eq(locked & alive),
            transmitter.heard.eq(heard & alive),
            transmitter.stop.eq(self.link_rx.stop),
        ]
        m.d.sync += self.up.eq(locked & heard & alive)
        with m.If(self.up & ~(locked & heard & alive)):
            m.d.sync += self.downs.eq(self.downs + 1)
        m.d.sync += self.status.eq(Cat(locked & heard & alive, locked & alive, heard & alive, alive))
        with m.If(locked & alive & ~self.status.locked):
            m.d.sync += self.retrains.eq(self.retrains + 1)
        self._show(m, receiver)
        self._receive(m, receiver)
        self._send(m, transmitter)
        self._count(m, receiver.events)
        return m

    def _watch_the_clock(self, m):
        """Reset `rx` without a clock. Returns whether there is one."""
        beat, here, before = Signal(BEAT_BITS, reset_less=True), Signal(), Signal()
        silence, silent = Signal(range(SILENT + 1), init=SILENT), Signal(init=1)
        m.d.rx += beat.eq(beat + 1)
        m.submodules.beat = FFSynchronizer(beat[-1], here)
        m.submodules.reset = ResetSynchronizer(silent, domain="rx")
        m.d.sync += [before.eq(here), silent.eq(silence == SILENT)]
        with m.If(before != here):
            m.d.sync += silence.eq(0)
        with m.Elif(silence != SILENT):
            m.d.sync += silence.eq(silence + 1)
        return ~silent

    def _show(self, m, receiver):
        """Bring over three symbols each SHOWN slots of `rx`: they stand still for longer than that takes."""
        came, shown = (Signal(PERIOD * SYMBOL_BITS, reset_less=True) for _ in range(2))
        count, turn = Signal(range(SHOWN)), Signal(reset_less=True)
        m.d.rx += [came.eq(Cat(receiver.pins.as_value(), came[:-SYMBOL_BITS])), count.eq(count + 1)]
        with m.If((count == SHOWN - 1) & ~receiver.locked):
            m.d.rx += [shown.eq(came), turn.eq(~turn)]
        here, before = Signal(), Signal()
        m.submodules.turn = FFSynchronizer(turn, here)
        m.d.sync += before.eq(here)
        with m.If(here != before):
            m.d.sync += self.window.eq(shown)

    def _receive(self, m, receiver):
        width = Flit.as_shape().size
        m.submodules.crossing = crossing = AsyncFIFO(width=width, depth=CROSSING, w_domain="rx", r_domain="sync")
        flit, inside = Flit(crossing.r_data), Signal()  # a packet whose TAIL is to come
        m.d.comb += [
            crossing.w_en.eq(receiver.write),
            crossing.w_data.eq(receiver.flit),
            crossing.r_en.eq(1),
        ]
        m.d.sync += self.link_rx.kind.eq(Kind.DOWN)
        with m.If(self.up):
            m.d.sync += self.link_rx.kind.eq(Kind.IDLE)
            with m.If(crossing.r_rdy):
                m.d.sync += [self.link_rx.kind.eq(flit.kind), self.link_rx.data.eq(flit.data)]
                with m.If((flit.kind == Kind.HEAD) | (flit.kind == Kind.TAIL)):
                    m.d.sync += inside.eq(flit.kind == Kind.HEAD)
        with m.Elif(inside):
            m.d.sync += [self.link_rx.kind.eq(Kind.TAIL), self.link_rx.data.eq(SPOILT), inside.eq(0)]

    def _send(self, m, transmitter):
        m.submodules.queue = queue = Queue(Flit, QUEUED)
        wiring.connect(m, queue.o, transmitter.i)
        kind = self.link_tx.kind
        m.d.comb += [
            queue.i.valid.eq((kind != Kind.IDLE) & (kind != Kind.DOWN) & self.up),
            queue.i.payload.kind.eq(kind),
            queue.i.payload.data.eq(self.link_tx.data),
        ]
        m.d.sync += self.link_tx.stop.eq(queue.free <= STOP_AT)

    def _count(self, m, events):
        for name, event in (("bad_symbols", events.bad), ("cut_flits", events.cut), ("misrouted", events.misrouted)):
            m.submodules[name] = across = CountAcross()
            m.d.comb += [across.event.eq(event), getattr(self, name).eq(across.count)]


class RxClockPort(wiring.Component):
    """A component with phys in it, whose domains of clocks that come in become ports: for `rx` that is `rx_clk`, the
    clock that comes with the other side's symbols. Other members are the component's."""

    def __init__(self, part, domains=("rx",)):
        self.part = part
        self._domains = domains
        super().__init__({**part.signature.members, **{f"{name}_clk": In(1) for name in domains}})

    def elaborate(self, platform):
        m = Module()
        for name in self._domains:
            m.domains += ClockDomain(name)
            m.d.comb += ClockSignal(name).eq(getattr(self, f"{name}_clk"))
        m.submodules.part = part = self.part
        for name, member in part.signature.members.items():
            outside, inside = getattr(self, name), getattr(part, name)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(outside), inside)
            elif member.dimensions:
                for n in range(len(inside)):
                    m.d.comb += inside[n].eq(outside[n]) if member.flow is In else outside[n].eq(inside[n])
            else:
                m.d.comb += inside.eq(outside) if member.flow is In else outside.eq(inside)
        return m
