"""Pages of walked exposures: read from directories in host memory, and kept."""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from ..host_bus.ports import BurstPort
from ..memory_attributes import ANY_ON_COLLISION
from .packets import Status
from .parameters import RemoteParameters
from .tables import DIRECTORY_BITS, PAGE_BITS, DirectoryWord

LINES = 256  # pages that are kept


class WalkPort(wiring.Signature):
    """A client's port, seen from the client.

    The question, while `asks`, which stays until `done`: the page that stands in word `item` of the
    directory that entry `entry` of all page tables names. That is bus page `directory`; `inside`: it
    lies in the owner's window. `status` has, with `done`, whether there is one. `page` is it, in the
    next slot.
    """

    def __init__(self, config: RemoteParameters):
        super().__init__(
            {
                "asks": Out(1),
                "entry": Out(range(config.processes * config.pages)),
                "item": Out(DIRECTORY_BITS),
                "directory": Out(PAGE_BITS),
                "inside": Out(1),
                "done": In(1),
                "status": In(Status),
                "page": In(PAGE_BITS),
            }
        )


class Sweep:
    """Goes through the lines of a walker's table after each `forget`; one object for each elaboration.

    `at`, the line that the table's read port shows while the walker `looks`; `next`, the line to read
    while it rests; `named(owner)`, a line of this owner is to be emptied; `ended`.
    """

    def __init__(self, m, walker, number_bits):
        swept = Signal(number_bits + 1, name="swept")  # lines
        shown = Signal(name="shown")  # line `at` was read in the slot before
        processes = walker.config.processes
        self.owners = Signal(processes, init=(1 << processes) - 1, name="forgotten")
        self.looks, self.next = Signal(name="looks"), Signal(number_bits, name="next_swept")
        self.at, self.ended = swept[:number_bits], swept[number_bits]
        last = Signal(name="sweeps_last")
        m.d.comb += [
            self.looks.eq(shown & ~walker.busy),
            self.next.eq(self.at + self.looks),
            last.eq(self.looks & self.at.all()),
        ]
        m.d.sync += shown.eq(~walker.busy & ~walker.forget & ~self.ended & ~last)
        with m.If(walker.forget):
            owner = walker.owner if processes > 1 else Const(0, 1)
            m.d.sync += [swept.eq(0), self.owners.bit_select(owner, 1).eq(1)]
        with m.Elif(self.looks):
            m.d.sync += swept.eq(swept + 1)
            with m.If(last):
                m.d.sync += self.owners.eq(0)

    def named(self, owner):
        return self.owners.bit_select(owner, 1) if len(owner) else self.owners


class Walker(wiring.Component):
    """Answers one question after the other, by a line of its table if that has the page, else by one
    word of host memory.

    It reads between bursts of `engine`, on the same port of the bus. What it has read becomes a line.

    Each `forget` names an owner. The walker then sweeps its table from the first line on: it looks at a
    line in each slot but the first in which it works on no question, and empties the lines of the owners
    that were named since the last whole sweep. Until the sweep has ended, a question of such an owner is
    answered by no line but the one that was read for it. So a line that was read before a `forget`, or
    by a question begun before, is emptied before it could answer. Lines of other owners stay.

    Parameters
    ----------
    ports : clients, at least 1
    lines : of the table, a power of two, at most 2 ** DIRECTORY_BITS

    Members
    -------
    port_<n> : ``In(WalkPort())``
    engine : ``In(BurstPort())``; bus : ``Out(BurstPort())``
    forget : ``In(1)``, lines of `owner` may be wrong, and so may the directory of a question of that
        owner that asks in this slot or before: no later question is answered by what was read for them
    missed : ``Out(1)``, a slot's event: a page is read from host memory
    idle : ``Out(1)``

    After a reset all lines are emptied.

    Attributes, for proofs: `busy` with the question of port `chosen`, which is `entry`, `item`,
    `directory`; `outside`, that one may not be read; it `fetches` the word.
    """

    def __init__(self, config: RemoteParameters, ports: int, lines: int = LINES):
        self.config, self.ports, self.lines = config, ports, lines
        self.busy, self.chosen = Signal(), Signal(range(max(ports, 2)))
        self.outside, self.fetches = Signal(), Signal()
        self.entry = Signal(range(config.processes * config.pages))
        self.item, self.directory = Signal(DIRECTORY_BITS), Signal(PAGE_BITS)
        super().__init__(
            {
                **{f"port_{n}": In(WalkPort(config)) for n in range(ports)},
                "engine": In(BurstPort()),
                "bus": Out(BurstPort()),
                "forget": In(1),
                "owner": In(range(max(config.processes, 2))),
                "missed": Out(1),
                "idle": Out(1),
            }
        )

    def port(self, n):
        return getattr(self, f"port_{n}")

    def elaborate(self, platform):
        m = Module()
        self._takes, self._reads = Signal(), Signal()  # the port is asked for the word, the word is awaited
        self._fresh = Signal()  # the line has been read for this question
        self._failed = Signal()  # the host refused
        fits, asked = Signal(), Signal()
        self._join(m)
        page, hit, is_clean = self._line(m)
        ports = [self.port(n) for n in range(self.ports)]
        m.d.comb += [asked.eq(Cat(port.asks for port in ports).any()), self.busy.eq(1)]
        done = Signal()
        for n, port in enumerate(ports):
            m.d.comb += [
                port.done.eq(done & (self.chosen == n)),
                port.status.eq(Mux(fits, Status.OK, Mux(self._failed, Status.BUS, Status.PAGE))),
                port.page.eq(page),
            ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.busy.eq(0), self.idle.eq(~asked & is_clean)]
                m.d.sync += [self._fresh.eq(0), self._failed.eq(0)]
                self._choose(m, ports)
                with m.If(asked):
                    m.next = "LINE"
            with m.State("LINE"):
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += fits.eq(hit)
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.next = "IDLE"
                m.d.comb += done.eq(fits | self._fresh | self.outside)
                with m.If(~done):
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += self.fetches.eq(1)
                with m.If(~self.engine.burst.valid):
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += [self.fetches.eq(1), self._takes.eq(1)]
                with m.If(self.bus.burst.ready):
                    m.d.comb += self.missed.eq(1)
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += [self.fetches.eq(1), self._reads.eq(1)]
                m.d.sync += [self._fresh.eq(1), self._failed.eq(self.bus.read.payload.error)]
                with m.If(self.bus.read.valid):
                    m.next = "LINE"
        return m

    def _choose(self, m, ports):
        """The first port that asks, and its question."""
        first = Signal.like(self.chosen)
        for n in reversed(range(self.ports)):
            with m.If(ports[n].asks):
                m.d.comb += first.eq(n)
        m.d.sync += [
            self.chosen.eq(first),
            self.entry.eq(Array(port.entry for port in ports)[first]),
            self.item.eq(Array(port.item for port in ports)[first]),
            self.directory.eq(Array(port.directory for port in ports)[first]),
            self.outside.eq(~Array(port.inside for port in ports)[first]),
        ]

    def _line(self, m):
        """The question's line: its page; whether that is the answer; whether no line is left from before
        the last `forget` of its owner, for all lines."""
        number_bits = (self.lines - 1).bit_length()
        owner_bits = (self.config.processes - 1).bit_length()
        tag = Cat(self.item[number_bits:], self.entry)  # the owner's number is on top
        line = data.StructLayout({"page": PAGE_BITS, "valid": 1, "tag": len(tag)})
        # A line is read in no slot in which one is written.
        m.submodules.table = table = memory.Memory(shape=line, depth=self.lines, init=[], attrs=ANY_ON_COLLISION)
        read, write = table.read_port(), table.write_port()
        word = data.View(layout(DirectoryWord), self.bus.read.payload.data)
        number = self.item[:number_bits]
        sweep = Sweep(m, self, number_bits)
        named = sweep.named(read.data.tag[len(tag) - owner_bits :])
        m.d.comb += [
            read.addr.eq(Mux(self.busy, number, sweep.next)),
            write.en.eq(self._reads | (sweep.looks & named)),
            write.addr.eq(Mux(self._reads, number, sweep.at)),
            write.data.page.eq(word.page),
            write.data.valid.eq(self._reads & word.valid & ~self.bus.read.payload.error),
            write.data.tag.eq(tag),
        ]
        usable = ~sweep.named(tag[len(tag) - owner_bits :]) | self._fresh
        hit = read.data.valid & (read.data.tag == tag) & usable
        return read.data.page, hit, sweep.ended

    def _join(self, m):
        """The bus is the engine's but for one word that is the walker's."""
        engine, bus = self.engine, self.bus
        m.d.comb += [
            bus.burst.valid.eq(engine.burst.valid | self._takes),
            bus.burst.payload.eq(engine.burst.payload),
            engine.burst.ready.eq(bus.burst.ready & ~self._takes),
            bus.write.valid.eq(engine.write.valid),
            bus.write.payload.eq(engine.write.payload),
            engine.write.ready.eq(bus.write.ready),
            engine.written.eq(bus.written),
            engine.refused.eq(bus.refused),
            engine.read.payload.eq(bus.read.payload),
            engine.read.valid.eq(bus.read.valid & ~self._reads),
            bus.read.ready.eq(engine.read.ready | self._reads),
        ]
        with m.If(self._takes):
            m.d.comb += [
                bus.burst.payload.write.eq(0),
                bus.burst.payload.word.eq(Cat(self.item, self.directory)),
                bus.burst.payload.words.eq(1),
            ]
