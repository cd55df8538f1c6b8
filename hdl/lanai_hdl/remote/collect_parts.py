"""The words of a lane, those that come to it, and the queue of lanes to look at."""

from amaranth import Module, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from ..queue import Queue
from .groups import GROUP_BITS, LANE_BITS, NAME_BITS, STEP_BITS, PlaceWord, StartWord
from .lookup_port import PROCESS_BITS
from .packets import Status


class GroupWrite(wiring.Signature):
    """The host writes word `field` of a lane (`start`), or a step of a program (`step`), of process `owner`. `at`
    numbers the lanes, or the steps, of all its groups."""

    def __init__(self):
        super().__init__(
            {
                "start": Out(1),
                "step": Out(1),
                "owner": Out(3),
                "at": Out(GROUP_BITS + STEP_BITS),
                "field": Out(2),
                "word": Out(32),
            }
        )


class Contribution(data.Struct):
    """A COLLECT: a value for a cell of process `owner`, from a process of a NIC."""

    owner: PROCESS_BITS
    place: layout(PlaceWord)
    node: 8
    process: 3
    value: 64


class Loss(data.Struct):
    """The end of a request that the process `owner` needed: it was not sent, or not taken."""

    owner: 3
    place: layout(PlaceWord)  # of the step here that sent it
    status: Status


class GroupEnd(data.Struct):
    """A collective has ended in a lane of process `owner`: its `value`, or of one that has failed the step."""

    owner: 3
    lane: LANE_BITS + GROUP_BITS  # of all its groups
    name: NAME_BITS
    status: Status
    value: 64


class Cell(data.Struct):
    came: 1
    name: NAME_BITS
    value: 64


class Running(data.Struct):
    """The state of a lane between two values that come. It waits, if it is `on`, in `step`. `mixed`: a value of another
    name has come."""

    on: 1
    mixed: 1
    step: STEP_BITS
    start: layout(StartWord)
    value: 64


class Reason(enum.Enum, shape=2):
    """The reason for which a lane is looked at."""

    START = 0
    ARRIVAL = 1
    LOSS = 2


class OnceQueue(wiring.Component):
    """Numbers below `count`, each of them once at most: one that is `put` while it waits is not put again.

    Members: `put`, `number` : ``In``; `o` : ``Out(stream)``; `idle` : ``Out(1)``, none waits
    """

    def __init__(self, count):
        self.count = count
        number = range(max(count, 2))
        super().__init__(
            {"put": In(1), "number": In(number), "o": Out(stream.Signature(number)), "idle": Out(1)},
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(len(self.number), self.count)
        waits = Signal(self.count)
        new = Signal()
        m.d.comb += [
            new.eq(self.put & ~waits.bit_select(self.number, 1)),
            queue.i.valid.eq(new),
            queue.i.payload.eq(self.number),
            self.idle.eq((queue.level == 0) & ~self.put),
        ]
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += waits.bit_select(self.o.payload, 1).eq(0)
        with m.If(new):
            m.d.sync += waits.bit_select(self.number, 1).eq(1)
        return m
