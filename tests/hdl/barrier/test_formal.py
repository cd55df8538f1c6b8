"""Proofs of the barrier tree for every order of bits, and whatever the wires lose or spoil."""

import pytest
from amaranth import Module, Mux, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.barrier.combiner import BarrierCombiner
from lanai_hdl.barrier.end import BarrierEnd
from lanai_hdl.barrier.junction import BarrierJunction


class CombinerSpec(wiring.Component):
    """A bit rises only if all members have set it, and falls only if all have cleared it. It does
    both in the slot after. The members are any of so many, but not none."""

    def __init__(self, members, bits):
        self.members, self.bits = members, bits
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = BarrierCombiner(self.members, self.bits)
        present = AnyConst(self.members)
        m.d.comb += [dut.failed.eq(AnySeq(1)), dut.present.eq(present), Assume(present != 0)]
        all_set, all_clear = ~Signal(self.bits, init=0), ~Signal(self.bits, init=0)
        for n, member in enumerate(dut.i):
            m.d.comb += member.eq(AnySeq(self.bits))
            absent = ~present[n].replicate(self.bits)
            all_set, all_clear = all_set & (member | absent), all_clear & (~member | absent)
        past, before, rose, fell, frozen = (
            Signal(), Signal(self.bits), Signal(self.bits), Signal(self.bits), Signal(),
        )  # fmt: skip
        m.d.sync += [past.eq(1), before.eq(dut.result), rose.eq(all_set), fell.eq(all_clear), frozen.eq(dut.failed)]
        with m.If(past & frozen):
            m.d.comb += Assert(dut.result == before)
        with m.Elif(past):
            m.d.comb += Assert((dut.result & ~before) == (rose & ~before), "rises if, and only if, all have set it")
            m.d.comb += Assert((before & ~dut.result) == (fell & before), "falls if, and only if, all have cleared it")
        return m


class TreeSpec(wiring.Component):
    """Two NICs that begin a barrier at any time after the one before, on wires that lose any flit:
    none passes a barrier that the other has not begun. `careless`: they do not wait for the one before.
    """

    def __init__(self, careless=False):
        self.careless = careless
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.combiner = combiner = BarrierCombiner(2, 1)
        m.d.comb += combiner.present.eq(0b11)
        begun, passed = [], []
        for n in range(2):
            near, far = BarrierEnd(4, 1, 1), BarrierEnd(4, 1, 1)
            m.submodules[f"near{n}"], m.submodules[f"far{n}"] = near, far
            self._wire(m, near, far)
            self._wire(m, far, near)
            bits, count, left = Signal(name=f"bits{n}"), Signal(4, name=f"count{n}"), Signal(4, name=f"left{n}")
            allowed = self.careless | (near.theirs == bits)
            m.d.comb += [
                near.mine.eq(bits),
                far.mine.eq(combiner.result),
                combiner.i[n].eq(far.theirs),
                left.eq(Mux(near.theirs == bits, count, count - 1)),
            ]
            with m.If(allowed & AnySeq(1)):
                m.d.sync += [bits.eq(~bits), count.eq(count + 1)]
            begun.append(count)
            passed.append(left)
        m.d.comb += [
            Assume(begun[0] < 15),
            Assume(begun[1] < 15),
            Assert((passed[0] <= begun[1]) | (begun[0] == 0), "passed before the other had begun it"),
            Assert((passed[1] <= begun[0]) | (begun[1] == 0), "passed before the other had begun it"),
        ]
        return m

    @staticmethod
    def _wire(m, sender, receiver):
        """One slot long; a flit may be lost, and one bit of it be wrong."""
        lost, damage = AnySeq(1), AnySeq(32)
        valid, flit = Signal(), Signal.like(sender.o.payload.as_value())
        m.d.comb += [sender.o.ready.eq(AnySeq(1)), Assume((damage & (damage - 1)) == 0)]
        m.d.sync += [valid.eq(sender.o.valid & sender.o.ready & ~lost), flit.eq(sender.o.payload)]
        m.d.comb += [
            receiver.received.valid.eq(valid),
            receiver.received.flit.kind.eq(flit[32:35]),
            receiver.received.flit.data.eq(flit[:32] ^ damage),
        ]


class CascadeSpec(wiring.Component):
    """The same with a NIC at the top switch and two at one below it. A link shows what its sender had
    at any time before, never something older than the last: `BarrierEnd` does that.
    `flat`: the lower switch passes its own result to its NICs, not the top's."""

    def __init__(self, flat=False):
        self.flat = flat
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.top = top = BarrierJunction(2)
        m.submodules.low = low = BarrierJunction(3)
        bits = [Signal(name=f"bits{n}") for n in range(3)]
        m.d.comb += [top.members.eq(0b11), low.members.eq(0b110), low.parent.eq(0 if self.flat else 0b001)]
        seen = []
        for bit, (junction, port) in zip(bits, ((top, 0), (low, 1), (low, 2)), strict=True):
            m.d.comb += junction.theirs[port].eq(self._link(m, bit))
            seen.append(self._link(m, junction.mine[port][0]))
        m.d.comb += [
            top.theirs[1].eq(self._link(m, low.mine[0][0])),
            low.theirs[0].eq(self._link(m, top.mine[1][0])),
        ]
        begun, passed = [], []
        for n, (bit, result) in enumerate(zip(bits, seen, strict=True)):
            count, left = Signal(4, name=f"count{n}"), Signal(4, name=f"left{n}")
            m.d.comb += left.eq(Mux(result == bit, count, count - 1))
            with m.If((result == bit) & AnySeq(1)):
                m.d.sync += [bit.eq(~bit), count.eq(count + 1)]
            begun.append(count)
            passed.append(left)
        for n in range(3):
            m.d.comb += Assume(begun[n] < 15)
            for other in range(3):
                m.d.comb += Assert((passed[n] <= begun[other]) | (begun[n] == 0), "passed before another began")
        return m

    @staticmethod
    def _link(m, sender):
        """Return a bit as the other end has last received it."""
        under_way, told = Signal(), Signal()
        with m.If(AnySeq(1)):
            m.d.sync += under_way.eq(sender)
        with m.If(AnySeq(1)):
            m.d.sync += told.eq(under_way)
        return told


@pytest.mark.parametrize(
    ("members", "bits"),
    [(1, 1), pytest.param(4, 2, marks=pytest.mark.by_hand), pytest.param(8, 1, marks=pytest.mark.by_hand)],
)
def test_a_result_rises_and_falls_with_all(prove, members, bits):
    prove(CombinerSpec(members, bits))


def test_no_barrier_is_passed_before_all_have_begun_it(prove):
    prove(TreeSpec(), mode="bmc", depth=16)


def test_the_proof_needs_the_rule_of_use(prove):
    """A NIC that sets a bit anew before the switch has answered can pass alone."""
    with pytest.raises(AssertionError):
        prove(TreeSpec(careless=True), mode="bmc", depth=16)


def test_no_barrier_of_a_tree_of_switches_is_passed_before_all_have_begun_it(prove):
    prove(CascadeSpec(), mode="bmc", depth=30)


def test_the_proof_of_the_tree_needs_the_answer_from_the_top(prove):
    with pytest.raises(AssertionError):
        prove(CascadeSpec(flat=True), mode="bmc", depth=30)
