"""Facts of blocks that hold in each slot, for proofs by induction that a block at rest stays so: without them they
would begin in states that cannot be. A `Value` is proved with the rest, an `Assume` is what the neighbours do."""

from dataclasses import replace

from amaranth import Cat, Const, Mux, Signal
from amaranth.hdl import Assume

from lanai_hdl.barrier.end import BarrierEnd
from lanai_hdl.config import NicConfig
from lanai_hdl.host_bus.master import READ_AHEAD
from lanai_hdl.host_bus.ports import BURST_BITS, Burst
from lanai_hdl.host_dma.engine import HostDescriptor
from lanai_hdl.queue import LateEntryQueue, QueueInterface
from lanai_hdl.remote.command_queue import COMMAND_BITS
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.entries import request_shape
from lanai_hdl.remote.packets import WINDOW, Op
from lanai_hdl.remote.tables import COMMANDS
from lanai_hdl.send_dma.engine import LENGTH_BITS

NIC = NicConfig(sram_size=4096)
REMOTE = Remote(pages=2, peers=2, processes=2, payload=16, answers=1, streams=2, stream_bytes=16)
MATCHING = replace(REMOTE, match_cells=2)
COLLECTING = replace(MATCHING, groups=1)


def registers(part):
    """The registers of a part of an elaborated design."""
    for domain, statements in part.statements.items():
        yield from statements._lhs_signals() if domain != "comb" else ()


class Named:
    """The registers of an elaborated design by their paths; components and states too."""

    def __init__(self, design):
        self._parts, self._registers = dict(design), {}
        for path, part in design:
            for register in registers(part):
                self._registers.setdefault(f"{path}{register.name}", register)

    def __getitem__(self, path):
        return self._registers[path]

    def part(self, path):
        return self._parts[f"{path}."].origins[0]

    def state(self, name, path=""):
        """The FSM of the part at `path` is in the state `name`."""
        return self[f"{path}fsm_state"] == self._parts[path].generated["fsm"].encoding[name]


def always(design):
    """Yield the facts of each queue of a design, and of each end of a barrier tree."""
    for _, part in design:
        for one in part.origins or ():
            if isinstance(one, BarrierEnd):  # a state that is to be sent waits for its acknowledgement too
                own = {register.name: register for register in registers(part)}
                yield ~own["pending"] | own["waiting"]
            if isinstance(one, QueueInterface):
                yield one.level + one.free == one.depth
            if isinstance(one, LateEntryQueue):
                yield one.room == (one.free >= 2)
                yield ~one._put | (one.level != 0)


def of_processor(m, core, named):
    """Whoever starts or stops it asks it for something."""
    before, rested = Signal(), Signal()
    m.d.sync += [before.eq(core.run), rested.eq(core.idle)]
    yield Assume(~rested | (core.run == before))
    yield Assume(~core.lbus.grant | core.lbus.request)


def of_send_dma(m, dma, named):
    yield Assume(~dma.lbus.grant | dma.lbus.request)
    yield dma.reads | ~dma.more


def of_host_dma(m, dma, named):
    """Words of the run that are left: `ins` and `outs` of the aligner, what is to be read from SRAM, and what is in
    no burst yet or not moved by the bus (`owed`)."""
    run, ins, outs, prime = HostDescriptor(named["run"]), *(named[f"aligner.{one}"] for one in ("ins", "outs", "prime"))
    cutter, reader, words = named.part("cutter"), named.part("reader"), named.part("reader.words")
    left, granted, runs = named["reader.left"], named["reader.granted"], named.state("RUN")
    burst, read, write = dma.bus.burst, dma.bus.read, dma.bus.write
    owed, on_bus, in_sram = (Signal(LENGTH_BITS + 2, name=name) for name in ("owed", "on_bus", "in_sram"))
    moved = (read.valid & read.ready) | (write.valid & write.ready)
    m.d.sync += owed.eq(owed + Mux(burst.valid & burst.ready, burst.payload.words, 0) - moved)
    m.d.comb += [
        on_bus.eq(cutter.left + Mux(cutter.o.valid, cutter.o.payload.words, 0) + owed),
        in_sram.eq(left + words.level + granted),
    ]
    yield Assume(~dma.lbus.grant | dma.lbus.request)
    yield Assume(~read.valid | ((owed != 0) & ~run.to_host))
    yield Assume(~write.ready | ((owed != 0) & run.to_host))
    yield runs | ((ins == 0) & (outs == 0) & ~prime & ~dma.lbus.request)
    yield on_bus == Mux(runs, Mux(run.to_host, outs, ins), 0)
    yield in_sram == Mux(runs & run.to_host, ins, 0)
    yield (owed <= on_bus) & (cutter.left <= on_bus) & (left <= in_sram)
    yield ~cutter.o.valid | (cutter.o.payload.words != 0)
    yield reader.busy == (left != 0)
    yield ~granted | (words.free != 0)
    yield ~(runs & run.to_host) | ~named.part("writer").lbus.request
    yield Mux(prime, (outs != 0) & ((ins == outs) | (ins == outs + 1)), (outs == ins) | (outs == ins + 1))


def of_host_bus(m, bus, named):
    """Words of the burst under way: those that the engine is to give (`due`), and those that the host is to answer."""
    master, answers, engine, target = bus.master, named.part("answers"), bus.engine, bus.target
    unanswered, owed, reading = (named[f"master.{name}"] for name in ("unanswered", "owed", "reading"))
    writes, reads, rests = named.part("master.writes"), named.part("master.reads"), named["master.fsm_state"] == 0
    burst, given, due = Burst(named["master.burst"]), engine.burst.payload, Signal(BURST_BITS)
    begins, gives = engine.burst.valid & engine.burst.ready, engine.write.valid & engine.write.ready
    m.d.sync += due.eq(Mux(bus.reset, 0, due + Mux(begins & given.write, given.words, 0) - gives))
    yield Assume(~bus.lbus.grant | bus.lbus.request)
    yield Assume(~bus.registers.grant | bus.registers.request)
    yield Assume(~bus.mem.rvalid | (answers.owed != 0))
    yield Assume(~engine.write.valid | (due != 0))
    yield Assume(given.words != 0)
    yield Assume(~bus.beat | (unanswered == 0) | (reading == ~burst.write))
    yield Mux(rests | ~burst.write, due + writes.level == 0, (due + writes.level == burst.words) & (due <= burst.words))
    yield rests | (burst.words != 0)
    yield (owed == Mux(reading, unanswered, 0) + reads.level) & (owed <= READ_AHEAD) & (unanswered <= READ_AHEAD)
    yield unanswered == Mux(answers.drained, answers.owed, 0) + master.mem.valid
    yield ~target.waiting | target.to_lbus | target.to_registers


def of_host_side(m, host, named):
    """Each command that is busy waits, was just put, or was taken (`taken`) and has not ended."""
    queue, port, busy = named.part("commands"), host.started, named["busy"]
    owner, freed, of_new = port.buffer[COMMAND_BITS:], host.freed[COMMAND_BITS:], Signal(3)
    out = Signal()  # the command that was taken last has not been put back
    waits = Signal(REMOTE.processes)
    m.d.comb += waits.eq(Cat(tail != head for tail, head in zip(queue.tails, queue.heads, strict=True)))
    m.d.sync += [out.eq(port.take | (out & ~port.again)), of_new.eq(queue.buffer[COMMAND_BITS:])]
    yield Assume(~port.take | port.waiting)
    yield Assume(~port.again | (port.others & out & ~port.take))
    yield Assume(~host.free | ((host.freed < len(busy)) & busy.bit_select(host.freed, 1)))
    for n in range(REMOTE.processes):
        taken, level = Signal(COMMAND_BITS + 2), Signal(COMMAND_BITS + 1)
        more, back, ends = port.take & (owner == n), port.again & (queue.last == n), host.free & (freed == n)
        m.d.sync += taken.eq(taken + more - back - ends)
        m.d.comb += level.eq(queue.tails[n] - queue.heads[n])
        yield Assume(taken >= back + ends)
        yield sum(busy.word_select(n, COMMANDS)) == level + (queue.begun & (of_new == n)) + taken
    yield ~queue.ready | (waits.bit_select(queue.next, 1) & (queue.next_head == queue.heads[queue.next]))
    yield ~queue.found | waits.bit_select(queue.chosen, 1)
    yield ~port.others | (waits & ~(Const(1, REMOTE.processes) << queue.last)).any()
    yield ~out | ((queue.last_head + 1)[:-1] == queue.heads[queue.last])


def of_aperture(m, aperture, named):
    """A buffer that is open, closed or on its way out is held."""
    host, buffers = aperture.host, aperture.buffers
    held, opened, closed = (named[f"buffers.{name}"] for name in ("held", "opened", "closed"))
    made, asked, loads = named["made"], named["asked"], Signal()
    given = Mux(buffers.o.valid, Const(1, REMOTE.streams) << named["buffers.next_one"], 0)[: REMOTE.streams]
    before, answered = Signal(), Signal()
    m.d.sync += [before.eq(host.load), answered.eq(aperture.answered)]
    m.d.comb += loads.eq(host.load & ~buffers.open & ~buffers.pending & ~asked)
    yield Assume(~before | answered | host.load)
    yield Assume(~aperture.answered | asked)
    yield Assume(~host.load | ~(host.store | host.map))
    yield Assume(~aperture.free | ~(opened | closed | given).bit_select(aperture.freed, 1))
    yield ((opened | closed | given) & ~held) == 0
    yield ~made | buffers.o.valid | loads


def of_sequencer(m, sequencer, named):
    """`send` lies between the oldest request and the next one."""
    tail, bits = named["tail"], len(named["tail"])
    level = (named["head"] - tail)[:bits]
    yield Assume(~sequencer.retire | (sequencer.ended & ~sequencer.again))
    yield level <= WINDOW
    yield (named["send_at"] - tail)[:bits] <= level


def of_links(m, links, named):
    yield ~named["fresh"] | (~links.ready & (named["links.clearing.at"] == 0))
    yield ~named["counted"] | ~links.ready


def of_sender(m, sender, named):
    flits, stored = named.part("flits"), named["flits.stored"]
    yield (flits.level == stored + named["flits.valid"]) & (stored < flits.depth)


def of_server(m, server, named):
    """The mover has work only while the server waits for that, or has offered it."""
    packet, transport, forms, judges = server.parse.o.payload, server.transport, *_looks(named)
    entry, looked = Signal(request_shape(server.config)), named["transport.looked"]
    m.d.sync += entry.eq(server.answered.entry)
    yield Assume(~(judges & transport._asked) | (server.answered.entry == entry))  # one that is open stays
    # The first word is taken two slots before the packet is offered.
    yield Assume(~forms | (packet.appends == server.config.appends(packet.first.op)))
    yield named.state("REST", "transport.") | named.state("OFFER", "parse.")
    yield named.state("TURN") | named.state("REST", "parse.")
    yield ~judges | (looked == transport._accesses(entry))
    works = named.state("MOVE", "transport.") | (judges & looked) | named.state("FLAG")
    if server.stage is not None:
        works |= (named.state("SEND", "transport.") | named.state("ASK")) & server.stage.work.valid
        yield from _of_matching(server, named)
    if server.config.groups:
        works |= named.state("PASS")
    yield named.state("IDLE", "mover.") | works


def _looks(named):
    """The transport has a packet's first slot, and its second one."""
    return named.state("OFFER", "parse.") & named.state("REST", "transport."), named.state("JUDGE", "transport.")


def of_collect(m, collect, named):
    """One pair is added at a time, for which the lane waits."""
    under_way, adds = named["adder.under_way"], named.state("ADDING")
    yield adds == under_way.any()
    yield (under_way & (under_way - 1)) == 0


def _of_matching(server, named):
    """The stage serves what the server says. A message's receive is looked for in three slots, whatever the judge says;
    the server has no other message by then."""
    packet, asks, sends = server.parse.o.payload, named.state("ASK"), named.state("SEND", "transport.")
    (forms, judges), matches = _looks(named), asks | sends
    turns = named.state("TURN") & named.state("REST", "parse.")
    moves = named.state("MOVE", "transport.") | named.state("FLAG")
    looks, rests = named.state("LOOK", "stage."), named.state("IDLE", "stage.")
    compares, chooses, acts = (named.state(name, "stage.match.") for name in ("COMPARE", "CHOOSE", "ACT"))
    of_asks = Cat(named.state(name, "stage.") for name in ("FETCH", "ASK", "ANSWER", "DROP", "DROPPED")).any()
    of_both = Cat(named.state(name, "stage.") for name in ("TELL", "END")).any()
    yield Assume(~forms | (packet.sends == (packet.first.op == Op.SEND)))
    yield asks == named["stage._asks"]
    yield ~asks | (matches & (of_asks | of_both))
    yield ~of_asks | asks
    yield ~matches | ~rests
    yield matches | rests | looks
    yield ~(looks & compares) | (judges & packet.sends)
    yield ~(looks & chooses) | matches | moves | turns
    yield ~looks | compares | chooses | acts | (matches & ~asks)
    yield ~(named.state("TAKE", "parse.") & looks) | acts
    yield ~forms | rests
    yield ~(rests | (looks & ~acts & ~chooses & ~compares)) | ~named["stage.match.fsm_state"].any()
    yield ~(judges & named["transport.looked"] & packet.sends) | (looks & compares)
