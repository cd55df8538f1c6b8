"""Carries collectives on: takes what members have sent, combines it, and sends it on."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from ..memory_attributes import ANY_ON_COLLISION
from .cleared_memory import ClearCounter
from .collect_parts import Cell, Contribution, GroupEnd, GroupWrite, Loss, OnceQueue, Reason, Running
from .command_queue import COMMAND_BITS
from .entries import new_entry_shape
from .groups import (
    LANE_BITS,
    LANES,
    NAME_BITS,
    START_WORDS,
    STEP_BITS,
    TURN_BITS,
    VALUE_BYTES,
    Combine,
    PlaceWord,
    StartWord,
    StepWord,
    Take,
)
from .packets import Op, Status
from .parameters import RemoteParameters
from .real_adder import RealAdder
from .tables import EXPOSURES

EVENTS = ("taken", "passed")


class Collect(wiring.Component):
    """Carries on the collectives of all lanes. A lane is looked at when its process has started it, when a value has
    come, and when a request was lost. It then goes on until it waits for a value, or has ended.

    Whether a value has come is a bit of its cell, which the step clears that takes it. A lane is looked at again after
    each value that comes, so none is missed. A process can spoil only what it has started itself: a value is taken
    only from the member that the program of its receiver names, and nothing is sent but values of collectives.

    Calls that do not fit end at all members that wait for a value: what one has combined of two names has a name that
    no call has, so it fits nobody.

    Members
    -------
    host : ``In(GroupWrite())``
    i : ``In``, what has come. It stands a slot before it `arrives`, an ``In(1)``, if it is `allowed` : ``Out(1)``
    loss : ``In``, with `loses`
    o : ``Out(stream)``, requests for the sequencer
    ended : ``Out(stream)`` of `GroupEnd`
    taken, passed : ``Out(1)``, a slot's events: a value has been taken; a collective has ended well
    idle, ready_next : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "host": In(GroupWrite()),
                "i": In(Contribution),
                "allowed": Out(1),
                "arrives": In(1),
                "loss": In(Loss),
                "loses": In(1),
                "o": Out(stream.Signature(new_entry_shape(config))),
                "ended": Out(stream.Signature(GroupEnd)),
                **{name: Out(1) for name in EVENTS},
                "idle": Out(1),
                "ready_next": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.processes * self.config.groups * LANES
        self._at = Signal(range(max(lanes, 2)))  # the lane that is looked at, of all processes
        self._reason = Signal(Reason)
        self._step = Signal(STEP_BITS)
        self._start = Signal(layout(StartWord))
        self._value = Signal(64)
        self._sent = Signal()  # the value of this step
        self._mixed = Signal()
        self._status = Signal(Status)
        self._other = Signal(64)  # what is added
        m.submodules.adder = self._adder = RealAdder()
        self._keep_programs(m)
        self._keep_cells(m)
        self._keep_lanes(m, lanes)
        self._queue(m, lanes)
        self._request(m)
        with m.FSM():
            self._choose(m)
            self._go_on(m)
            self._end(m)
        return m

    def _address(self, *parts, owner):
        """The place in a memory of all processes of what `parts` name, the lowest first."""
        return Cat(*parts, owner[: (self.config.processes - 1).bit_length()])

    def _group(self, group):
        return group[: (self.config.groups - 1).bit_length()]

    def _keep_programs(self, m):
        """Programs, and who may send to which step."""
        config, host, i = self.config, self.host, self.i
        depth = config.processes * config.groups << STEP_BITS
        m.submodules.programs = programs = memory.Memory(shape=layout(StepWord), depth=depth, init=[])
        m.submodules.clearing = clearing = ClearCounter(depth)
        write, judged, read = programs.write_port(), programs.read_port(), programs.read_port()
        written = self._address(host.at[:STEP_BITS], self._group(host.at[STEP_BITS:]), owner=host.owner)
        self._program = read.data
        m.d.comb += [
            self.ready_next.eq(clearing.ready_next),
            write.en.eq(host.step | ~clearing.ready),
            write.addr.eq(Mux(clearing.ready, written, clearing.at)),
            read.addr.eq(Cat(self._step, self._at[LANE_BITS:])),
            judged.addr.eq(self._address(i.place.step, self._group(i.place.group), owner=i.owner)),
            self.allowed.eq(
                judged.data.receives
                & (judged.data.from_node == i.node)
                & (judged.data.from_process == i.process)
                & (i.owner < config.processes)
                & (i.place.group < config.groups)
            ),
        ]
        with m.If(clearing.ready):
            m.d.comb += write.data.eq(host.word)

    def _keep_cells(self, m):
        """The cells of each lane: of each turn, one for each step. What arrives is written first."""
        config, i = self.config, self.i
        depth = config.processes * config.groups * LANES << (TURN_BITS + STEP_BITS)
        m.submodules.cells = cells = memory.Memory(shape=Cell, depth=depth, init=[])
        write = cells.write_port()
        read = cells.read_port()
        place, cell = i.place, write.data
        arrived = self._address(place.step, place.turn, place.lane, self._group(place.group), owner=i.owner)
        self._cell, self._forgets = read.data, Signal()
        here = Cat(self._step, self._start.turn, self._at)
        m.d.comb += [
            read.addr.eq(here),
            write.en.eq(self.arrives | self._forgets),
            write.addr.eq(here),
        ]
        with m.If(self.arrives):
            m.d.comb += [
                write.addr.eq(arrived),
                cell.came.eq(1),
                cell.name.eq(place.name),
                cell.value.eq(i.value),
            ]

    def _keep_lanes(self, m, lanes):
        """Keep what the host has written to each lane, the state of its collective, and what it has lost."""
        host, loss = self.host, self.loss
        starts_as = data.ArrayLayout(32, START_WORDS)
        m.submodules.starts = starts = memory.Memory(shape=starts_as, depth=lanes, init=[], attrs=ANY_ON_COLLISION)
        m.submodules.running = running = memory.Memory(shape=Running, depth=lanes, init=[])
        m.submodules.losses = losses = memory.Memory(shape=Loss, depth=lanes, init=[], attrs=ANY_ON_COLLISION)
        write, put, note = starts.write_port(granularity=1), running.write_port(), losses.write_port()
        started, kept, lost = starts.read_port(), running.read_port(), losses.read_port()
        self._started, self._kept, self._lost = started.data, kept.data, lost.data
        self._saves, self._waits = Signal(), Signal()
        self._host_lane = self._address(host.at[: LANE_BITS + (self.config.groups - 1).bit_length()], owner=host.owner)
        self._loss_lane = self._address(loss.place.lane, self._group(loss.place.group), owner=loss.owner)
        m.d.comb += [
            write.addr.eq(self._host_lane),
            write.data.eq(host.word.replicate(START_WORDS)),
            write.en.eq(host.start.replicate(START_WORDS) & (1 << host.field)),
            note.addr.eq(self._loss_lane),
            note.data.eq(loss),
            note.en.eq(self.loses),
            *(port.addr.eq(self._at) for port in (started, kept, lost, put)),
            put.en.eq(self._saves),
            put.data.on.eq(self._waits),
            put.data.mixed.eq(self._mixed),
            put.data.step.eq(self._step),
            put.data.start.eq(self._start),
            put.data.value.eq(self._value),
        ]

    def _queue(self, m, lanes):
        """The lanes to look at, by reason."""
        host, place = self.host, self.i.place
        queues = [OnceQueue(lanes) for _ in Reason]
        self._queues = dict(zip(Reason, queues, strict=True))
        arrived = self._address(place.lane, self._group(place.group), owner=self.i.owner)
        numbers = (self._host_lane, arrived, self._loss_lane)
        puts = (host.start & (host.field == START_WORDS - 1), self.arrives, self.loses)
        for reason, queue, number, put in zip(Reason, queues, numbers, puts, strict=True):
            m.submodules[f"queue_{reason.name.lower()}"] = queue
            m.d.comb += [queue.number.eq(number), queue.put.eq(put)]

    def _request(self, m):
        """The request that sends this step's value, and the lane's end."""
        entry, step, here = self.o.payload.entry, self._program, Signal(layout(PlaceWord))
        there, end = Signal(layout(PlaceWord)), self.ended.payload
        owner = Signal(3)
        lane = self._at[:LANE_BITS]
        groups = (self.config.groups - 1).bit_length()
        m.d.comb += [
            owner.eq(self._at[LANE_BITS + groups :]),
            here.step.eq(self._step),
            here.turn.eq(self._start.turn),
            here.lane.eq(lane),
            here.group.eq(self._at[LANE_BITS:][:groups]),
            here.name.eq(self._start.name | self._mixed.replicate(NAME_BITS)),
            there.eq(here),
            there.step.eq(step.cell),
            entry.op.eq(Op.COLLECT),
            entry.buffer.eq(owner << COMMAND_BITS),
            entry.peer.eq(step.node),
            entry.exposure.eq(step.process * EXPOSURES),
            entry.offset.eq(there),
            entry.length.eq(VALUE_BYTES),
            entry.local_offset.eq(here),
            entry.value.eq(self._value),
            end.owner.eq(owner),
            end.lane.eq(self._at[: LANE_BITS + groups]),
            end.name.eq(self._start.name),
            end.status.eq(Mux(self._mixed & (self._status == Status.OK), Status.MIXED, self._status)),
            end.value.eq(self._value),
        ]

    def _choose(self, m):
        """A lane is looked at: losses first, and starts before what has come."""
        order = (Reason.LOSS, Reason.START, Reason.ARRIVAL)
        with m.State("IDLE"):
            m.d.comb += self.idle.eq(Cat(queue.idle for queue in self._queues.values()).all())
            m.d.sync += self._status.eq(Status.OK)
            for n, reason in enumerate(order):
                queue = self._queues[reason]
                with m.If(queue.o.valid) if n == 0 else m.Elif(queue.o.valid):
                    m.d.comb += queue.o.ready.eq(1)
                    m.d.sync += [self._at.eq(queue.o.payload), self._reason.eq(reason)]
                    m.next = "FETCH"
        with m.State("FETCH"):
            m.next = "BEGIN"
        with m.State("BEGIN"):
            kept, lost, start = self._kept, self._lost, layout(StartWord)(self._started[START_WORDS - 1])
            m.d.sync += [self._start.eq(kept.start), self._step.eq(kept.step), self._value.eq(kept.value)]
            m.d.sync += [self._sent.eq(1), self._mixed.eq(kept.mixed)]
            m.next = "STEP"
            with m.If(self._reason == Reason.START):
                m.d.sync += [self._start.eq(start), self._step.eq(0), self._sent.eq(0), self._mixed.eq(0)]
                m.d.sync += self._value.eq(Cat(self._started[0], self._started[1]))
                with m.If(start.combine == Combine.CLEAR):
                    m.d.sync += [self._at[:LANE_BITS].eq(0), self._start.turn.eq(0)]
                    m.next = "CLEAR"
            with m.Elif(~kept.on):
                m.next = "IDLE"
            with m.Elif(self._reason == Reason.LOSS):
                m.d.sync += [self._status.eq(lost.status), self._value.eq(lost.place.step)]
                m.next = "END"
                with m.If(lost.place.turn != kept.start.turn):  # of the collective before
                    m.next = "IDLE"

    def _go_on(self, m):
        """A step: its value is sent, and then one is taken."""
        step, cell, start = self._program, self._cell, self._start
        spreads = start.combine == Combine.SPREAD
        sends, receives, replaces = Signal(), Signal(), Signal()
        m.d.comb += [
            sends.eq(step.sends & (~spreads | start.gives | (self._step > start.enters))),
            receives.eq(step.receives & (~spreads | (self._step == start.enters))),
            replaces.eq(spreads | (step.take == Take.INSTEAD)),
        ]
        with m.State("STEP"):
            m.next = "ACT"
        with m.State("ACT"):
            with m.If(sends & ~self._sent):
                m.next = "SEND"
                with m.If(step.node >= self.config.peers):
                    m.d.sync += [self._status.eq(Status.INVALID), self._value.eq(self._step)]
                    m.next = "END"
            with m.Elif(receives & ~cell.came):
                m.d.comb += [self._saves.eq(1), self._waits.eq(1)]
                m.next = "IDLE"
            with m.Elif(~self.arrives | ~receives):  # the cell can be written
                m.d.comb += [self._forgets.eq(receives), self.taken.eq(receives)]
                m.d.sync += self._other.eq(cell.value)
                with m.If(receives):
                    m.d.sync += self._value.eq(self._combine(m, cell, replaces))
                    with m.If(cell.name != start.name):
                        m.d.sync += self._mixed.eq(1)
                self._advance(m, step)
                with m.If(receives & ~replaces & (start.combine == Combine.ADD_REAL)):
                    m.d.sync += [self._value.eq(self._value), self._step.eq(self._step), self._sent.eq(1)]
                    m.next = "ADD"
        before = step.take == Take.BEFORE
        m.d.comb += [
            self._adder.a.eq(Mux(before, self._other, self._value)),
            self._adder.b.eq(Mux(before, self._value, self._other)),
        ]
        with m.State("ADD"):
            m.d.comb += self._adder.start.eq(1)
            m.next = "ADDING"
        with m.State("ADDING"):
            with m.If(self._adder.done):
                m.d.sync += self._value.eq(self._adder.sum)
                self._advance(m, step)
        with m.State("SEND"):
            m.d.comb += self.o.valid.eq(1)
            with m.If(self.o.ready):
                m.d.sync += self._sent.eq(1)
                m.next = "STEP"

    def _advance(self, m, step):
        """The step has ended."""
        m.d.sync += [self._step.eq(self._step + 1), self._sent.eq(0)]
        m.next = "STEP"
        with m.If(step.last | self._step.all()):
            m.next = "END"

    def _combine(self, m, cell, replaces):
        own, other = self._value, cell.value
        less = own.as_signed() < other.as_signed()
        result = Signal(64)
        by_name = {
            Combine.OR: own | other,
            Combine.AND: own & other,
            Combine.XOR: own ^ other,
            Combine.ADD: own + other,
            Combine.MIN: Mux(less, own, other),
            Combine.MAX: Mux(less, other, own),
        }
        with m.Switch(self._start.combine):
            for combine, value in by_name.items():
                with m.Case(combine):
                    m.d.comb += result.eq(value)
        with m.If(replaces):
            m.d.comb += result.eq(other)
        return result

    def _end(self, m):
        """The lane has ended, or its group is cleared: all cells of all its lanes, and what is kept of them."""
        whole = Cat(self._step, self._start.turn, self._at[:LANE_BITS])
        with m.State("CLEAR"):
            m.d.comb += [self._forgets.eq(~self.arrives), self._saves.eq(1)]
            with m.If(~self.arrives):
                m.d.sync += whole.eq(whole + 1)
                with m.If(whole.all()):
                    m.d.sync += self._value.eq(0)
                    m.next = "END"  # of lane 0: all bits wrap
        with m.State("END"):
            m.d.comb += [self._saves.eq(1), self.ended.valid.eq(1)]
            m.d.comb += self.passed.eq(self.ended.ready & (self._status == Status.OK))
            with m.If(self.ended.ready):
                m.next = "IDLE"
