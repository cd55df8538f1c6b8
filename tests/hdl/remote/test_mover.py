"""Works of the mover: what they do to host memory, and that no process learns the bytes of another by them."""

import random
from dataclasses import replace

import pytest
from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring
from amaranth.lib.data import Layout

from lanai_hdl.bfm import Bench
from lanai_hdl.host_bus.ports import BURST_BITS
from lanai_hdl.machine import PAGE_SIZE
from lanai_hdl.remote.access_work import AccessWork, Kind
from lanai_hdl.remote.command_queue import COMMAND_BITS
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.lookup_port import Need
from lanai_hdl.remote.mover import Mover
from lanai_hdl.remote.packets import WIDE_BYTES, Atomic, Status
from lanai_hdl.remote.tables import FLAG_AT, FLAG_BYTES, RESULT_AT, WIDE_RESULT_AT

CONFIG = Remote(processes=2, peers=2, pages=2, payload=16)
TELLS = replace(CONFIG, match_cells=2)  # it tells receipts too
SPAN = 256  # bytes of host memory of each exposure, one behind the other
LOOKUP = 4  # slots from the first one of a question to its answer


async def until(context, condition, *values):
    """Wait for a slot with `condition`. Return what `values` are in it."""
    met = 0
    while not met:
        _, _, met, *found = await context.tick().sample(condition, *values)
    return found


class Scene:
    """A mover, host memory, and a lookup that answers `refusal` or where an access lies. The host refuses the
    last word of a burst with `fails`. `words` are those of the packet."""

    def __init__(self, seed, script, config=CONFIG):
        self.dut, self.chance = Mover(config), random.Random(seed)
        self.bytes = bytearray(self.chance.randbytes(16 * SPAN))
        self.refusal, self.fails, self.words, self.at = Status.OK, False, [0], 0
        bench = Bench(self.dut, 60_000)
        for part in (self.look_up, self.serve, self.give_words):
            bench.add_background(part)
        bench.add(lambda context: script(self, context))
        bench.run()

    async def look_up(self, context):
        lookup, asked = self.dut.lookup, 0
        while True:
            _, _, start, wanted, at, offset = await context.tick().sample(
                lookup.start, lookup.wanted, lookup.exposure, lookup.offset
            )
            asked = asked + 1 if asked or start else 0
            done = asked >= LOOKUP and bool(wanted)
            asked = 0 if done or context.get(lookup.done) else asked
            context.set(lookup.done, done)
            context.set(lookup.status, self.refusal)
            context.set(lookup.address, at * SPAN + offset)

    async def serve(self, context):
        bus = self.dut.bus
        while True:
            context.set(bus.burst.ready, 1)
            (burst,) = await until(context, bus.burst.valid, bus.burst.payload)
            context.set(bus.burst.ready, 0)
            for n in range(burst.words):
                for _ in range(self.chance.randrange(3)):
                    await context.tick()
                access = self._write if burst.write else self._read
                await access(context, 4 * (burst.word + n), self.fails and n == burst.words - 1)

    async def _read(self, context, at, error):
        port = self.dut.bus.read
        context.set(port.payload, {"data": int.from_bytes(self.bytes[at : at + 4], "big"), "error": error})
        context.set(port.valid, 1)
        await until(context, port.ready)
        context.set(port.valid, 0)

    async def _write(self, context, at, error):
        bus = self.dut.bus
        context.set(bus.write.ready, 1)
        (word,) = await until(context, bus.write.valid, bus.write.payload)
        context.set(bus.write.ready, 0)
        for lane in range(4):
            if word.be >> (3 - lane) & 1 and not error:
                self.bytes[at + lane] = word.data >> (24 - 8 * lane) & 0xFF
        context.set(bus.written, 1)
        context.set(bus.refused, error)
        await context.tick()
        context.set(bus.written, 0)

    async def give_words(self, context):
        """Give the packet's words. Each stands in the slot after the one before it was taken."""
        while True:
            context.set(self.dut.words.payload, self.words[min(self.at, len(self.words) - 1)])
            _, _, taken = await context.tick().sample(self.dut.words.ready)
            self.at += taken

    async def carry_out(self, context, wanted=1, **fields):
        """Offer a work until it is taken. Return its end: None if it brings none."""
        dut, self.at = self.dut, 0
        context.set(dut.i.payload, fields)
        context.set(
            dut.flag_of.value, fields.get("owner", 0) << COMMAND_BITS | fields.get("offset", 0) // FLAG_BYTES % 8
        )
        await context.tick()
        context.set(dut.i.valid, 1)
        await context.tick()
        context.set(dut.wanted, wanted)
        context.set(dut.judged, 1)
        valid, done = await until(context, dut.i.ready, dut.o.valid, dut.o.payload)
        context.set(dut.i.valid, 0)
        context.set(dut.judged, 0)
        return done if valid else None

    async def keep(self, context, process, buffer, wide, value):
        context.set(self.dut.result, {"buffer": process << COMMAND_BITS | buffer, "wide": wide, "value": value})
        context.set(self.dut.keep, 1)
        await context.tick()
        context.set(self.dut.keep, 0)


def new_value(atomic, bits, old, operand, comparand):
    values = {
        Atomic.SWAP: operand,
        Atomic.ADD: old + operand,
        Atomic.CAS: operand if old == comparand else old,
        Atomic.AND: old & operand,
        Atomic.OR: old | operand,
        Atomic.XOR: old ^ operand,
    }
    return values[atomic] % (1 << bits)


def test_works_do_what_they_say():
    ends = []

    async def data(scene, context, fields):
        chance, length = scene.chance, scene.chance.randrange(1, 40)
        fields |= {"offset": chance.randrange(SPAN - 40), "length": length, "need": Need.WRITE}
        place = fields["exposure"] * SPAN + fields["offset"]
        data = chance.randbytes(place % 4 + length + 3)
        scene.words = [int.from_bytes(data[n : n + 4], "big") for n in range(0, len(data) // 4 * 4, 4)]
        return place, data[place % 4 :][:length]

    async def atomic(scene, context, fields):
        chance, size = scene.chance, scene.chance.choice([4, 8])
        misaligned = chance.random() < 0.1
        place = size * chance.randrange(SPAN // size) + misaligned * chance.randrange(1, size)
        old = int.from_bytes(scene.bytes[fields["exposure"] * SPAN + place :][:size], "big")
        operand, comparand = chance.getrandbits(8 * size), chance.choice([old, chance.getrandbits(8 * size)])
        fields |= {"offset": place, "length": size, "need": Need.ATOMIC, "atomic": chance.choice(list(Atomic))}
        fields |= {"operand": operand, "comparand": comparand}
        fields["misaligned"] = misaligned
        value = new_value(fields["atomic"], 8 * size, old, operand, comparand)
        return fields["exposure"] * SPAN + place, value.to_bytes(size, "big")

    async def script(scene, context):
        chance = scene.chance
        for _ in range(250):
            kind = chance.choice([Kind.DATA, Kind.ATOMIC])
            fields = {"kind": kind, "owner": chance.randrange(2), "exposure": chance.randrange(16)}
            place, data_there = await (data if kind is Kind.DATA else atomic)(scene, context, fields)
            before = bytes(scene.bytes)
            scene.refusal = chance.choice([Status.OK, Status.OK, Status.OK, Status.KEY])
            scene.fails = chance.random() < 0.1
            wanted = chance.random() < 0.8
            misaligned = fields.pop("misaligned", False)
            done = await scene.carry_out(context, wanted, **fields)
            if not wanted:
                assert done is None
            else:
                bus = Status.BUS if scene.fails else Status.OK
                status = Status.ALIGNMENT if misaligned else scene.refusal or bus
                assert done.status == status
            if not wanted or done.status in (Status.ALIGNMENT, Status.KEY):
                assert scene.bytes == before
            elif done.status == Status.OK:
                assert scene.bytes == before[:place] + data_there + before[place + len(data_there) :]
                if kind is Kind.ATOMIC:
                    old = int.from_bytes(before[place : place + fields["length"]], "big")
                    assert done.old % (1 << 8 * fields["length"]) == old
            ends.append((kind, None if done is None else done.status))

    Scene(4, script)
    assert {end for end in ends if end[0] is Kind.ATOMIC} == {
        (Kind.ATOMIC, end) for end in (None, Status.OK, Status.BUS, Status.KEY, Status.ALIGNMENT)
    }


FLAGS, SECRET = 7, 0x5EC2_E700_0BAD_CAFE  # the exposure that stands for page 0; a result


@pytest.mark.parametrize("wide", [0, 1])
def test_a_result_goes_with_the_flag_of_its_command_alone(wide):
    async def end(scene, context, process, buffer):
        """A command ends. Return its bytes in page 0, but for those behind the flag."""
        at = FLAGS * SPAN + FLAG_BYTES * buffer
        scene.bytes[at : at + FLAG_BYTES] = bytes(FLAG_BYTES)
        work = {"kind": Kind.FLAG, "owner": process, "need": Need.FLAGS, "offset": FLAG_BYTES * buffer}
        done = await scene.carry_out(context, exposure=FLAGS, flag={"tag": 5, "status": 3}, **work)
        assert done.status == Status.OK
        assert scene.bytes[at + FLAG_AT :][:4] == (5 << 8 | 3).to_bytes(4, "big")
        assert scene.bytes[at + FLAG_AT + 4 : at + FLAG_BYTES] == bytes(4)
        return bytes(scene.bytes[at : at + FLAG_AT])

    async def script(scene, context):
        none = bytes(FLAG_AT)
        assert await end(scene, context, 0, 2) == none
        await scene.keep(context, 0, 2, wide, SECRET)
        await context.tick()
        assert await end(scene, context, 1, 2) == none, "of another process"
        assert await end(scene, context, 0, 3) == none, "of another command"
        first = WIDE_RESULT_AT if wide else RESULT_AT
        result = (SECRET % (1 << (64 if wide else 32))).to_bytes(FLAG_AT - first, "big")
        assert await end(scene, context, 0, 2) == bytes(first) + result
        assert await end(scene, context, 0, 2) == none, "of the next command in its buffer"

    Scene(5, script)


def test_a_receipt_leaves_the_result_to_its_command():
    """A receipt is told in the words where a command's result stands, and a result is kept meanwhile."""

    async def script(scene, context):
        flag = {"kind": Kind.FLAG, "owner": 0, "need": Need.FLAGS, "exposure": FLAGS}
        await scene.keep(context, 0, 2, 1, SECRET)
        told = 0x1234_5678_9ABC_DEF0
        context.set(scene.dut.tells, 1)
        context.set(scene.dut.told, told)
        context.set(scene.dut.flag_of.value, 2)
        await scene.carry_out(context, **flag, offset=2 * FLAG_BYTES)
        context.set(scene.dut.tells, 0)
        at = FLAGS * SPAN + 2 * FLAG_BYTES
        assert scene.bytes[at : at + FLAG_AT] == told.to_bytes(8, "big")
        await scene.carry_out(context, **flag, offset=2 * FLAG_BYTES)
        assert scene.bytes[at : at + FLAG_AT] == SECRET.to_bytes(8, "big")

    Scene(6, script, TELLS)


SEEN = ("start", "owner", "exposure", "need", "key", "offset", "length", "wanted")  # of the lookup, by all


class NoninterferenceSpec(wiring.Component):
    """Two movers get the same works at the same time, with other bytes of process 0: operands, words of packets,
    numbers in its memory, results of its ATOMICs. What they ask and do, and when, is equal; so is each word that
    is written for any other process, and each number that is returned to it.

    To a depth, from reset. Assumed: a work stays until it is taken, with `tells` and `own`; a FLAG is for the process
    whose command `flag_of` says from the slot before on; of an address, the lookup chooses the page alone; the host
    answers words that it has taken. The control words of a FIFO are not secret: its owner's peers see by them how full
    it is.
    """

    def __init__(self, config):
        self.config = config
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.one, m.submodules.other = one, other = Mover(self.config), Mover(self.config)
        work = one.i.payload
        secret = work.owner == 0
        secrets = {
            "operand": secret,
            "comparand": secret,
            "words": secret,
            "read": secret & (work.kind == Kind.ATOMIC),  # not the control words of a FIFO
            "result": one.result.buffer >> COMMAND_BITS == 0,
            "told": secret,
        }
        for name, (port, twin) in self._inputs(one, other).items():
            m.d.comb += port.eq(AnySeq(len(port)))
            m.d.comb += twin.eq(Mux(secrets[name], AnySeq(len(port)), port) if name in secrets else port)
        self._assume_contract(m, one)
        for port, twin in self._outputs(one, other):
            m.d.comb += Assert(port == twin, "what is asked and done, and when")
        with m.If(~secret):
            written, returned = one.bus.write.valid, one.o.valid & (work.kind == Kind.ATOMIC)
            with m.If(written):
                m.d.comb += Assert(one.bus.write.payload.data == other.bus.write.payload.data, "what is written")
            with m.If(returned & (one.o.payload.status == Status.OK)):
                half = one.o.payload.old[:32] == other.o.payload.old[:32]
                wide = work.length == WIDE_BYTES
                m.d.comb += Assert(half, "what is returned")
                m.d.comb += Assert(~wide | (one.o.payload.old == other.o.payload.old), "what is returned")
        return m

    def _inputs(self, one, other):
        def both(get):
            return Value.cast(get(one)), Value.cast(get(other))

        work = {name: both(lambda mover, name=name: mover.i.payload[name]) for name, _ in Layout.cast(AccessWork)}
        control = ("judged", "wanted", "takes", "changed", "keep")
        if self.config.match_cells:
            control = (*control, "tells", "told", "own")
        answers = ("done", "status", "address", "little", "signals")
        return {
            **work,
            **{name: both(lambda mover, name=name: getattr(mover, name)) for name in control},
            **{name: both(lambda mover, name=name: getattr(mover, name).value) for name in ("fifo", "flag_of")},
            **{f"lookup {name}": both(lambda mover, name=name: getattr(mover.lookup, name)) for name in answers},
            "valid": both(lambda mover: mover.i.valid),
            "words": both(lambda mover: mover.words.payload),
            "result": both(lambda mover: mover.result.value),
            "result of": both(lambda mover: mover.result.buffer),
            "result wide": both(lambda mover: mover.result.wide),
            "burst": both(lambda mover: mover.bus.burst.ready),
            "write": both(lambda mover: mover.bus.write.ready),
            "read": both(lambda mover: mover.bus.read.payload.data),
            "read error": both(lambda mover: mover.bus.read.payload.error),
            "read valid": both(lambda mover: mover.bus.read.valid),
            "written": both(lambda mover: mover.bus.written),
            "refused": both(lambda mover: mover.bus.refused),
        }

    def _outputs(self, *movers):
        """All but the data that are written or returned."""
        for name in SEEN:
            yield [getattr(mover.lookup, name) for mover in movers]
        for get in (
            lambda mover: mover.bus.burst.valid,
            lambda mover: mover.bus.burst.payload.as_value(),
            lambda mover: mover.bus.write.valid,
            lambda mover: mover.bus.write.payload.be,
            lambda mover: mover.bus.read.ready,
            lambda mover: mover.words.ready,
            lambda mover: mover.i.ready,
            lambda mover: mover.o.valid,
            lambda mover: mover.o.payload.status,
            lambda mover: mover.o.payload.signals,
            lambda mover: mover.atomic,
        ):
            yield [get(mover) for mover in movers]

    def _assume_contract(self, m, mover):
        offered, before, flag_of = Signal(), Signal(AccessWork), Signal.like(mover.flag_of.value)
        work = mover.i.payload
        flags = mover.i.valid & (work.kind == Kind.FLAG)
        m.d.sync += [offered.eq(mover.i.valid & ~mover.i.ready), before.eq(work), flag_of.eq(mover.flag_of.value)]
        if self.config.match_cells:
            told = Signal(2)
            m.d.sync += told.eq(Cat(mover.tells, mover.own))
            m.d.comb += Assume(~offered | (told == Cat(mover.tells, mover.own)))
        unanswered, bus = Signal(BURST_BITS), mover.bus
        m.d.sync += unanswered.eq(unanswered + (bus.write.valid & bus.write.ready) - bus.written)
        m.d.comb += [
            Assume(~bus.written | unanswered.any()),
            Assume(~offered | (mover.i.valid & (work.as_value() == before.as_value()))),
            Assume(~flags | ((flag_of == mover.flag_of.value) & (flag_of >> COMMAND_BITS == work.owner))),
            Assume(~(flags & mover.keep)),
            Assume(mover.lookup.address % PAGE_SIZE == mover.lookup.offset % PAGE_SIZE),
        ]


@pytest.mark.proof
@pytest.mark.parametrize(
    "config", [pytest.param(CONFIG, id="plain", marks=pytest.mark.by_hand), pytest.param(TELLS, id="with receipts")]
)
def test_no_process_learns_the_bytes_of_another(prove, config):
    prove(NoninterferenceSpec(config), mode="bmc", depth=8)
