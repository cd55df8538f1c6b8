"""Commands that the host has started: those of one process in order, processes in turn."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..round_robin import next_in_turn
from .parameters import RemoteParameters
from .tables import COMMANDS

COMMAND_BITS = (COMMANDS - 1).bit_length()
BUFFER_BITS = COMMAND_BITS + 3  # a command buffer's number, with its process above


class CommandQueuePort(wiring.Signature):
    """The commands that wait, seen from where they are. `buffer` is the next one's if one is `waiting`,
    and may change until it is taken (`take`). `others`: one of another process than that of the command
    that was taken last has waited since the slot before. With `again` the command that was taken last is
    back, before all others of its process. That is allowed while there are `others`, and not in the slot
    of `take`."""

    def __init__(self):
        super().__init__(
            {"waiting": Out(1), "buffer": Out(BUFFER_BITS), "take": In(1), "others": Out(1), "again": In(1)}
        )


class CommandQueue(wiring.Component):
    """A queue of command buffers for each process. The next command is the first one of the process
    that comes first behind that of the last command, in cyclic order.

    So while a command waits that is the first of its process, each other process has one turn at most.
    A proof holds this (tests/hdl/remote/test_command_queue.py).

    Members
    -------
    put, buffer : ``In``, the command in this buffer is started. They are timing-critical, and go to
        registers. No buffer may be started again before its command has ended.
    o : ``Out(CommandQueuePort())``, in the slot after `put` if no other one waits
    begun : ``Out(1)``, a slot's event: a command was started in the slot before

    Attributes, for proofs: `heads`, `tails`, of each process how many commands were taken and put, modulo
    twice as many as fit; `last`, the process of the command that was taken last, and `last_head`, how many
    of that process were taken before; `next`, `next_head`, the same of the next one, if it is `ready`;
    `chosen`, the process that will be the next one's, if one is `found`.
    """

    put: In(1)
    buffer: In(BUFFER_BITS)
    o: Out(CommandQueuePort())
    begun: Out(1)

    def __init__(self, config: RemoteParameters):
        self.processes = config.processes
        owner_bits = (self.processes - 1).bit_length()
        counts = data.ArrayLayout(COMMAND_BITS + 1, self.processes)
        self.heads = Signal(counts)
        self.tails = Signal(counts)
        self.last = Signal(owner_bits)
        self.last_head = Signal(COMMAND_BITS + 1)
        self.next = Signal(owner_bits)
        self.next_head = Signal(COMMAND_BITS + 1)
        self.ready = Signal()
        self.chosen = Signal(owner_bits)
        self.found = Signal()
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        owner_bits = (self.processes - 1).bit_length()
        m.submodules.storage = storage = memory.Memory(shape=COMMAND_BITS, depth=self.processes * COMMANDS, init=[])
        write, read = storage.write_port(), storage.read_port(domain="comb")
        heads, tails, last, ready = self.heads, self.tails, self.last, self.ready
        waits, any_waits = Signal(self.processes), Signal()
        new, next_, new_tail = Signal(BUFFER_BITS), Signal(BUFFER_BITS), Signal(COMMAND_BITS + 1)
        of_new, taken = self._owner(new, owner_bits), self._owner(self.o.buffer, owner_bits)
        others = self._choose(m, waits, any_waits)
        chosen = self.chosen
        m.d.comb += [
            waits.eq(Cat(head != tail for head, tail in zip(heads, tails, strict=True))),
            any_waits.eq(waits.any()),
            self.next.eq(self._owner(next_, owner_bits)),
            new_tail.eq(tails[of_new]),
            write.addr.eq(Cat(new_tail[:COMMAND_BITS], of_new)),
            write.data.eq(new),
            write.en.eq(self.begun),
            read.addr.eq(Cat(heads[chosen][:COMMAND_BITS], chosen)),
            self.o.waiting.eq(ready | (self.begun & ~any_waits)),
            self.o.buffer.eq(Mux(ready, next_, new)),
        ]
        m.d.sync += [
            self.begun.eq(self.put),
            new.eq(self.buffer),
            ready.eq((ready | self.found | (self.begun & ~any_waits)) & ~self.o.take),
            self.o.others.eq(others & ~self.o.take),
        ]
        with m.If(self.found):
            m.d.sync += [next_.eq(Cat(read.data, chosen)), self.next_head.eq(heads[chosen])]
        with m.Elif(~ready):
            m.d.sync += [next_.eq(new), self.next_head.eq(new_tail)]
        with m.If(self.begun):
            m.d.sync += tails[of_new].eq(new_tail + 1)
        head = Mux(ready, self.next_head, new_tail)  # of the command that may be taken
        with m.If(self.o.take):
            m.d.sync += [last.eq(taken), self.last_head.eq(head)]
        with m.If(self.o.take | self.o.again):
            m.d.sync += heads[Mux(self.o.take, taken, last)].eq(Mux(self.o.take, head + 1, self.last_head))
        return m

    def _owner(self, buffer, bits):
        return buffer[COMMAND_BITS:][:bits]

    def _choose(self, m, waits, any_waits):
        """`chosen`: the process whose turn it is, of those that wait. Gives whether one but the last
        waits."""
        others = Signal(self.processes)
        m.d.comb += others.eq(waits & ~(Const(1, self.processes) << self.last))
        m.d.sync += [self.chosen.eq(next_in_turn(m, waits, self.last)), self.found.eq(any_waits & ~self.o.take)]
        return others.any()
