"""What holds of the barrier tree for every order of bits, and whatever the wires lose or spoil."""

import pytest
from amaranth import Module, Mux, Signal
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.barrier.combiner import BarrierCombiner
from lanai_hdl.barrier.end import BarrierEnd


class CombinerSpec(wiring.Component):
    """A bit rises only if all members have set it, and falls only if all have cleared it. It does
    both in the slot after."""

    def __init__(self, members, bits):
        self.members, self.bits = members, bits
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = BarrierCombiner(self.members, self.bits)
        m.d.comb += dut.failed.eq(AnySeq(1))
        all_set, all_clear = ~Signal(self.bits, init=0), ~Signal(self.bits, init=0)
        for member in dut.i:
            m.d.comb += member.eq(AnySeq(self.bits))
            all_set, all_clear = all_set & member, all_clear & ~member
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


@pytest.mark.parametrize(("members", "bits"), [(1, 1), (3, 2), (8, 1)])
def test_a_result_rises_and_falls_with_all(prove, members, bits):
    prove(CombinerSpec(members, bits))


def test_no_barrier_is_passed_before_all_have_begun_it(prove):
    prove(TreeSpec(), mode="bmc", depth=16)


def test_the_proof_needs_the_rule_of_use(prove):
    """Who sets a bit anew before the switch has answered can pass alone."""
    with pytest.raises(AssertionError):
        prove(TreeSpec(careless=True), mode="bmc", depth=16)
