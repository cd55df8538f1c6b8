"""From an instruction word to what the execute stage must do. Reads the declaration in
`lanai_hdl.isa`."""

from amaranth import Cat, Const, Module
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from ..isa import FORMATS, Access, AluOp, Condition, Reg
from ..isa.formats import BR, BRR, BY_NAME, RI, RM, RR, RRM, SCC, SLI, SLS, SPECIAL, SPLS
from ..isa.gates import field_value, has_format, is_defined
from ..isa.operations import Special


class Unit(enum.Enum, shape=3):
    """The unit that gives the result."""

    ALU = 0
    SHIFT = 1
    COUNT = 2
    SELECT = 3
    TEST = 4  # the condition itself


class Size(enum.Enum, shape=2):
    """The size of a memory access."""

    BYTE = 0
    HALF = 1
    WORD = 2


class Action(data.Struct):
    """The action of one instruction, without its operands.

    `guarded`: the result counts only if `cond` holds. `update`: the base register gets the computed
    address, which is also the one accessed if `pre`. `clear_carry`: a logic operation in RI form.
    `rd` is the destination, or the source of a store.
    """

    undefined: 1
    unit: Unit
    op: AluOp
    arithmetic: 1
    function: 2
    cond: Condition
    guarded: 1
    flags: 1
    clear_carry: 1
    rd: 5
    base: 5
    memory: 1
    store: 1
    pre: 1
    update: 1
    size: Size
    signed: 1

    @property
    def slow(self):
        """A load or store that shifts: its address is known a slot later than others."""
        return self.memory & (self.unit == Unit.SHIFT)


class Decoder(wiring.Component):
    """Combinational.

    Members: `word`; `action`; `rs1`, `rs2`, `rs3`, the registers to read for operands a, b and d (a
    store's data, or what a false predicate leaves): these are fields as they stand in every format,
    so the registers are read while the rest is decoded. Then `zero` puts 0 in place of a,
    `use_immediate` puts `immediate` in place of b.
    """

    word: In(32)
    action: Out(Action)
    rs1: Out(5)
    rs2: Out(5)
    rs3: Out(5)
    zero: Out(1)
    immediate: Out(32)
    use_immediate: Out(1)

    def elaborate(self, platform):
        m = Module()
        word, action = self.word, self.action

        def field(item, name):
            return field_value(item.by_name[name], word)

        m.d.comb += [
            action.undefined.eq(~Cat(is_defined(item, word) for item in FORMATS).any()),
            action.cond.eq(Condition.T),
            action.size.eq(Size.WORD),
            action.rd.eq(field(RI, "rd")),
            action.base.eq(self.rs1),
            self.rs1.eq(field(RI, "rs1")),
            self.rs2.eq(field(RR, "rs2")),
            self.rs3.eq(field(RR, "rd")),
        ]
        self._field = field
        for item, describe in (
            (RI, self._ri),
            (RR, self._rr),
            (RM, self._rm),
            (RRM, self._rrm),
            (SPECIAL, self._special),
            (BR, self._br),
            (BRR, self._brr),
            (SCC, self._scc),
            (SLS, self._sls),
            (SLI, self._sli),
            (SPLS, self._spls),
        ):
            assert item is BY_NAME[item.name]
            with m.If(has_format(item, word)):
                describe(m, action)
        return m

    def _constant(self, m, value, zero_base=False):
        m.d.comb += [self.immediate.eq(value), self.use_immediate.eq(1)]
        if zero_base:
            m.d.comb += self.zero.eq(1)

    def _ri(self, m, action):
        imm, high, op = (self._field(RI, name) for name in ("imm", "high", "op"))
        m.d.comb += [
            action.op.eq(op),
            action.flags.eq(self._field(RI, "flags")),
            action.clear_carry.eq(1),
            self.use_immediate.eq(1),
        ]
        fill = Const(0xFFFF, 16)
        with m.If(op == AluOp.SHIFT):
            m.d.comb += [action.unit.eq(Unit.SHIFT), action.arithmetic.eq(high), self.immediate.eq(imm.as_signed())]
        with m.Elif((op == AluOp.AND) & high):
            m.d.comb += self.immediate.eq(Cat(fill, imm))
        with m.Elif(op == AluOp.AND):
            m.d.comb += self.immediate.eq(Cat(imm, fill))
        with m.Elif(high):
            m.d.comb += self.immediate.eq(Cat(Const(0, 16), imm))
        with m.Else():
            m.d.comb += self.immediate.eq(imm)

    def _rr(self, m, action):
        op, special = self._field(RR, "op"), self._field(RR, "special")
        m.d.comb += [
            action.op.eq(op),
            action.flags.eq(self._field(RR, "flags")),
            action.cond.eq(self._field(RR, "cond")),
            action.guarded.eq(1),
            action.arithmetic.eq(special == Special.ARITHMETIC),
        ]
        with m.If(op == AluOp.SHIFT):
            m.d.comb += action.unit.eq(Unit.SHIFT)
            with m.If(special == Special.PLAIN):
                m.d.comb += [action.unit.eq(Unit.SELECT), action.guarded.eq(0)]

    def _memory(self, m, action, item):
        m.d.comb += [
            action.memory.eq(1),
            action.store.eq(self._field(item, "store")),
            action.pre.eq(self._field(item, "pre")),
            action.update.eq(self._field(item, "update")),
        ]

    def _rm(self, m, action):
        self._memory(m, action, RM)
        self._constant(m, self._field(RM, "imm"))

    def _rrm(self, m, action):
        self._memory(m, action, RRM)
        op, access = self._field(RRM, "op"), self._field(RRM, "access")
        m.d.comb += [
            action.op.eq(op),
            action.arithmetic.eq(self._field(RRM, "special") == Special.ARITHMETIC),
            action.signed.eq((access == Access.HALF) | (access == Access.BYTE)),
        ]
        with m.If(op == AluOp.SHIFT):
            m.d.comb += action.unit.eq(Unit.SHIFT)
        with m.Switch(access):
            with m.Case(Access.HALF, Access.UHALF):
                m.d.comb += action.size.eq(Size.HALF)
            with m.Case(Access.BYTE, Access.UBYTE):
                m.d.comb += action.size.eq(Size.BYTE)

    def _spls(self, m, action):
        self._memory(m, action, SPLS)
        self._constant(m, self._field(SPLS, "imm"))
        m.d.comb += [action.size.eq(Size.HALF), action.signed.eq(~self._field(SPLS, "zero"))]
        with m.If(self._field(SPLS, "byte")):
            m.d.comb += action.size.eq(Size.BYTE)

    def _sls(self, m, action):
        m.d.comb += [action.memory.eq(1), action.store.eq(self._field(SLS, "store")), action.pre.eq(1)]
        self._constant(m, Cat(Const(0, 2), self._field(SLS, "address")[2:]), zero_base=True)

    def _sli(self, m, action):
        m.d.comb += action.op.eq(AluOp.OR)
        self._constant(m, self._field(SLI, "imm"), zero_base=True)

    def _special(self, m, action):
        m.d.comb += [action.unit.eq(Unit.COUNT), action.function.eq(self._field(SPECIAL, "function"))]

    def _transfer(self, m, action, item):
        m.d.comb += [action.cond.eq(self._field(item, "cond")), action.guarded.eq(1), action.rd.eq(Reg.PC)]

    def _br(self, m, action):
        self._transfer(m, action, BR)
        m.d.comb += action.op.eq(AluOp.OR)
        self._constant(m, self._field(BR, "target"), zero_base=True)

    def _brr(self, m, action):
        self._transfer(m, action, BRR)
        self._constant(m, self._field(BRR, "offset"))

    def _scc(self, m, action):
        m.d.comb += [
            action.unit.eq(Unit.TEST),
            action.cond.eq(self._field(SCC, "cond")),
            action.rd.eq(self._field(SCC, "rd")),
        ]
