"""Models by LLVM against Amaranth's simulator: each operation, processes, registers and memories with random inputs.
What no model can be made of is refused by its name."""

import random
import tempfile
from pathlib import Path

import numpy as np
import pytest
from amaranth import Array, Cat, ClockDomain, Module, Mux, Print, Signal, Value
from amaranth.back import rtlil
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from lanai_hdl.link.crc import PARITIES
from lanai_host.errors import UserError
from lanai_sim.engines.gates.compiled import Model, Simulation, write
from lanai_sim.engines.gates.layout import Layout
from lanai_sim.engines.gates.netlist import Netlist
from lanai_sim.engines.gates.translate import translated
from lanai_sim.engines.gateware.verilog import resetless

SEED, SLOTS = 1999, 300
A, B, C, D = (Signal(shape, name=name) for name, shape in (("a", 7), ("b", 5), ("c", 3), ("wide", 150)))
SA, SB = A.as_signed(), B.as_signed()
OPERATIONS = {
    "not": ~A, "neg": -A, "neg_signed": -SB, "any": A.any(), "all": C.all(), "xor_all": D.xor(), "bool": A.bool(),
    "add": A + B, "add_signed": SA + SB, "sub": A - B, "sub_mixed": SA - B, "mul": A * B, "mul_signed": SA * SB,
    "wide_sub": D - A, "div": A // B, "mod": A % B, "div_signed": SA // SB, "mod_signed": SA % SB,
    "shl": A << C, "shl_signed": SA << C, "shr": A >> B, "shr_signed": SA >> B, "wide_shr": D >> A,
    "and": A & B, "or": A | SB, "xor": SA ^ SB, "eq": A == B, "ne": SA != SB, "lt": A < B, "le": SA <= SB,
    "gt": SA > B, "ge": A >= B, "mux": Mux(C, A, SB), "cat": Cat(C, D, B, D[3]), "part": D.bit_select(A, 9),
    "word": D.word_select(C, 7), "slice": D[60:140], "array": Array([A, B, C, A + 1])[C[:2]],
    "repeated": C[0].replicate(90),
    "none": C[:0].any(), "sign": Cat(SB[4], SB[4], SB[4], A),
}  # fmt: skip


class Circuit(wiring.Component):
    """A circuit of these ports, whose statements `fill` writes; it may return an output's value."""

    def __init__(self, inputs, outputs, fill):
        self.fill = fill
        super().__init__(
            {**{n: In(w) for n, w in inputs.items()}, **{n: Out(w) for n, w in outputs.items()}, "clk": In(1)}
        )

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = resetless(self.clk)
        self.fill(m, self)
        return m


KEPT = []  # files of models, as the loader takes another one in the same place for the first


def model(circuit):
    folder = tempfile.TemporaryDirectory()
    KEPT.append(folder)
    write(Path(folder.name), translated(rtlil.convert(circuit, name="top", emit_src=False)))
    return Simulation(Model(Path(folder.name)))


def compare(make, inputs, outputs, slots=SLOTS):
    """Both give the same outputs in all slots, and each output takes more than one value."""
    rng, simulation = random.Random(SEED), model(make())
    rows = np.zeros(slots, simulation.inputs)
    values = [{name: rng.getrandbits(width) for name, width in inputs.items()} for _ in rows]
    for row, one in zip(rows, values, strict=True):
        for name, width in inputs.items():
            row[name] = one[name] if width <= 64 else words(one[name], row[name])
    found, circuit, seen = simulation.run(rows), make(), {name: set() for name in outputs}

    async def bench(ctx):
        for slot, one in enumerate(values):
            for name, value in one.items():
                ctx.set(getattr(circuit, name), value)
            ctx.set(circuit.clk, 0)
            ctx.set(circuit.clk, 1)
            for name in outputs:
                expected = ctx.get(Value.cast(getattr(circuit, name)).as_unsigned())
                whole = found[name][slot]
                assert sum(int(word) << 64 * at for at, word in enumerate(np.atleast_1d(whole))) == expected, (
                    slot,
                    name,
                )
                seen[name].add(expected)

    simulator = Simulator(circuit)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def words(value, like):
    return [value >> 64 * at & (1 << 64) - 1 for at in range(len(like))]


def test_every_operation_gives_what_amaranths_simulator_gives():
    inputs = {f"i_{signal.name}": len(signal) for signal in (A, B, C, D)}
    outputs = {f"o_{name}": len(value) for name, value in OPERATIONS.items()}

    def fill(m, ports):
        m.d.comb += [signal.eq(getattr(ports, f"i_{signal.name}")) for signal in (A, B, C, D)]
        m.d.comb += [getattr(ports, f"o_{name}").eq(value) for name, value in OPERATIONS.items()]

    seen = compare(lambda: Circuit(inputs, outputs, fill), inputs, outputs, 1000)
    assert {name for name, values in seen.items() if len(values) < 2} == {"o_none"}


def processes(m, ports):
    state, word, counter = Signal(4, init=5), Signal(70, init=3 << 66), Signal(9)
    m.d.sync += counter.eq(counter + 1)
    with m.Switch(ports.a):
        with m.Case("1--0"):
            m.d.sync += state.eq(state + ports.b)
        with m.Case(1, 3, "01-0"):
            m.d.sync += [word[10:20].eq(ports.b), word[15:18].eq(counter)]
        with m.Default():
            m.d.comb += ports.chosen.eq(word[60:])
            with m.If(ports.b[0]):
                m.d.sync += word.bit_select(ports.a, 4).eq(ports.b)
    with m.FSM():
        with m.State("IDLE"):
            with m.If(ports.a == 2):
                m.next = "BUSY"
        with m.State("BUSY"):
            m.d.comb += ports.busy.eq(1)
            with m.If(ports.b == 3):
                m.next = "IDLE"
    m.d.comb += [ports.state.eq(state), ports.word.eq(word), ports.counter.eq(counter)]


def test_processes_assign_parts_in_order_and_registers_begin_at_their_values():
    inputs, outputs = {"a": 4, "b": 4}, {"state": 4, "word": 70, "counter": 9, "chosen": 10, "busy": 1}
    seen = compare(lambda: Circuit(inputs, outputs, processes), inputs, outputs, 600)
    assert all(len(values) > 1 for values in seen.values())


def checksum(m, ports):
    """Bit by bit, as Amaranth writes it: such a word becomes sums of tables' rows."""
    total = Signal(32, init=0xFFFFFFFF)
    bits = [total[at] for at in range(32)]
    for at in range(16):
        low = bits[0] ^ ports.data[at]
        bits = [(bits[n + 1] if n < 31 else 0) ^ (low if 0xEDB88320 >> n & 1 else 0) for n in range(32)]
    with m.If(ports.valid):
        m.d.sync += total.eq(Cat(bits))
    m.d.comb += ports.total.eq(total)


def parities(m, ports):
    """Each bit by the parity of a masked word, as the NIC's CRC."""
    total, added = Signal(32, init=0xFFFFFFFF), Signal(32)
    m.d.comb += [added.eq(total ^ ports.data), ports.total.eq(total)]
    with m.If(ports.valid):
        m.d.sync += total.eq(Cat((added & mask).xor() for mask in PARITIES))


@pytest.mark.parametrize("function", [checksum, parities])
def test_a_checksum_is_made_by_tables(function):
    inputs, outputs = {"data": 16, "valid": 1}, {"total": 32}
    seen = compare(lambda: Circuit(inputs, outputs, function), inputs, outputs)
    assert len(seen["total"]) > SLOTS / 3
    text = llvm_text(Circuit(inputs, outputs, function))
    assert "_table0" in text
    assert "ctpop" not in text


def llvm_text(circuit):
    from lanai_sim.engines.gates.netlist import Netlist
    from lanai_sim.engines.gates.step import Layout, text

    netlist = Netlist(rtlil.convert(circuit, name="top", emit_src=False))
    return text(netlist, Layout.of(netlist))


@pytest.mark.parametrize(("depth", "width", "grains"), [(8, 9, 1), (5, 12, 3), (6, 100, 4), (1, 3, 1)])
def test_memories_with_two_writers_and_any_depth(depth, width, grains):
    """Rows of parts, a row that is no row, two ports that write, and reads in this slot and in the next."""
    bits = max(1, (depth - 1).bit_length())
    init = [0x5A5A5A5A5A5A5A5A5A5A5A5A5 * row & (1 << width) - 1 for row in range(depth)]
    inputs = {"at": bits, "other": bits, "data": width, "en": grains, "en2": grains, "re": 1}
    outputs = {"now": width, "later": width}

    def fill(m, ports):
        m.submodules.memory = rows = memory.Memory(shape=width, depth=depth, init=init)
        one, two = (rows.write_port(granularity=width // grains) for _ in range(2))
        now, later = rows.read_port(domain="comb"), rows.read_port()
        m.d.comb += [one.addr.eq(ports.at), two.addr.eq(ports.other), now.addr.eq(ports.at), later.addr.eq(ports.at)]
        m.d.comb += [one.data.eq(ports.data), two.data.eq(~ports.data), one.en.eq(ports.en), later.en.eq(ports.re)]
        m.d.comb += two.en.eq(Mux(ports.at == ports.other, ~ports.en & ports.en2, ports.en2))  # no bit by both
        m.d.comb += [ports.now.eq(now.data), ports.later.eq(later.data)]

    seen = compare(lambda: Circuit(inputs, outputs, fill), inputs, outputs, 600)
    assert all(len(values) > 3 for values in seen.values())


def refused(fill, match, outputs=None):
    with pytest.raises(UserError, match=match):
        translated(rtlil.convert(Circuit({"a": 4}, outputs or {"y": 4}, fill), name="top", emit_src=False))


def test_a_word_that_follows_from_itself_is_refused_by_name():
    """Though no bit does, which Amaranth refuses."""

    def fill(m, ports):
        around = Signal(4, name="around")
        m.d.comb += [around.eq(Cat(ports.a[0], around[:3]) ^ ports.a), ports.y.eq(around)]

    refused(fill, r"top\.(around|y)' follows from itself within a slot; put a register between")


def test_bits_that_follow_from_other_bits_of_their_word_are_no_loop():
    def fill(m, ports):
        chain = Signal(8)
        m.d.comb += [chain[:4].eq(ports.a), chain[4:].eq(chain[:4] + 1), ports.y.eq(chain[4:])]

    assert len(compare(lambda: Circuit({"a": 4}, {"y": 4}, fill), {"a": 4}, {"y": 4})["y"]) == 16


def test_an_unknown_cell_is_refused_by_name():
    refused(lambda m, ports: m.d.sync.__iadd__([Print(ports.a), ports.y.eq(ports.a)]), r"is a cell '\$print', which")


def test_another_clock_is_refused_by_the_registers_name():
    def fill(m, ports):
        m.domains.slow = slow = ClockDomain("slow", reset_less=True, local=True)
        m.d.comb += slow.clk.eq(ports.a[0])
        held = Signal(4, name="held")
        m.d["slow"] += held.eq(ports.a)
        m.d.comb += ports.y.eq(held)

    refused(fill, r"(held|y)' has another clock than the rising edges of 'clk'")


def test_a_transparent_read_port_is_refused_by_name():
    def fill(m, ports):
        m.submodules.rows = rows = memory.Memory(shape=4, depth=16, init=[])
        write = rows.write_port()
        read = rows.read_port(transparent_for=[write])
        m.d.comb += [write.addr.eq(ports.a), write.data.eq(ports.a), write.en.eq(1), read.addr.eq(ports.a)]
        m.d.comb += ports.y.eq(read.data)

    refused(fill, r"is read by a transparent port, which")


def test_registers_of_one_name_are_refused():
    netlist = Netlist(rtlil.convert(Circuit({"a": 4}, {"y": 4}, held_once), name="top", emit_src=False))
    netlist.fields *= 2
    with pytest.raises(UserError, match=r"'top\.y' is the name of 2 registers or memories"):
        Layout.of(netlist)


def held_once(m, ports):
    held = Signal(4, name="held")
    m.d.sync += held.eq(ports.a)
    m.d.comb += ports.y.eq(held)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("module \\top\nwire width 1 \\a\n", "no top module|ends within a module"),
        ("attribute \\top 1\nmodule \\top\nend\nrubbish here\n", "'rubbish here' is not what Amaranth 0.5 writes"),
        ("module \\other\nend\n", "names no top module"),
        ("attribute \\top 1\nmodule \\top\nwire width 1 inout 1 \\pad\nend\n", "'pad' is an inout, which"),
    ],
)
def test_text_that_is_no_rtlil_is_refused(text, match):
    with pytest.raises(UserError, match=match):
        translated(text)
