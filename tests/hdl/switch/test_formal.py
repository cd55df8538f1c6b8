"""Proofs of an output's arbiter, whichever inputs request and for however long: one holder, kept until it
lets go, and no input passed over."""

import pytest
from amaranth import Module, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume, Cat, Const, Mux
from amaranth.lib import wiring

from lanai_hdl.link.flit import Kind
from lanai_hdl.link.format import MASK_SHIFT, MOST_PORTS, MULTICAST
from lanai_hdl.switch.arbiter import HoldingArbiter
from lanai_hdl.switch.crossbar import Crossbar


class HolderSpec(wiring.Component):
    """At most one grant; it goes to an input that requests, and stays while that one requests."""

    def __init__(self, requesters):
        self.requesters = requesters
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = HoldingArbiter(self.requesters)
        m.d.comb += dut.request.eq(AnySeq(self.requesters))
        past, asked, granted = Signal(), Signal(self.requesters), Signal(self.requesters)
        m.d.sync += [past.eq(1), asked.eq(dut.request), granted.eq(dut.grant)]
        m.d.comb += Assert((dut.grant & (dut.grant - 1)) == 0, "at most one holder")
        with m.If(past):
            m.d.comb += Assert((dut.grant & ~asked) == 0, "no grant without request")
            with m.If((granted & asked).any()):
                m.d.comb += Assert(dut.grant == granted, "a path is held until its tail has passed")
            with m.Elif(asked.any()):
                m.d.comb += Assert(dut.grant.any(), "a free output serves any input that requests")
        return m


class FairnessSpec(wiring.Component):
    """A steady requester waits for at most one turn of each other."""

    def __init__(self, requesters):
        self.requesters = requesters
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        count = self.requesters
        m.submodules.dut = dut = HoldingArbiter(count)
        patient = AnyConst(count.bit_length())
        m.d.comb += [dut.request.eq(AnySeq(count)), Assume(patient < count)]
        waits, before = Signal(), Signal(count)
        turns = Signal(range(count + 2))  # begun by others while the patient one waits
        m.d.comb += waits.eq((dut.request & ~dut.grant).bit_select(patient, 1))
        m.d.sync += before.eq(dut.grant & dut.request)
        with m.If(~waits):
            m.d.sync += turns.eq(0)
        with m.Elif((dut.grant & ~before).any() & (turns != count + 1)):
            m.d.sync += turns.eq(turns + 1)
        m.d.comb += Assert(turns < count, "an input was served twice while another waited")
        return m


@pytest.mark.parametrize("requesters", [2, 5])
def test_an_output_has_one_holder_until_its_tail(prove, requesters):
    prove(HolderSpec(requesters))


@pytest.mark.parametrize("requesters", [2, 3])
def test_no_input_is_passed_over(prove, requesters):
    """From reset, for longer than every order of requests takes to come round twice."""
    prove(FairnessSpec(requesters), mode="bmc", depth=6 * requesters)


# Proved for any time: a switch with multicast sends each flit once to each port that its packet's
# route names and to no other, and no two inputs hold one output.


def elaborated(block):
    """The block's state machine, which is there once it is elaborated."""
    module = block.elaborate(None)
    block.elaborate = lambda platform: module
    return block.fsm


def one_at_most(bits):
    return (bits & (bits - 1)) == 0


class RoutedSpec(wiring.Component):
    """Whatever comes and whichever outputs are ready, without a limit on how long a packet waits.

    `named` reads a route without the switch's help. What the switch takes of a packet leaves, in
    the same slot, by the outputs that the packet's HEAD named; what it does not take leaves by none.
    """

    def __init__(self, ports, crossbar=Crossbar):
        self.ports = ports
        self.dut = crossbar(ports, multicast=True)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        states = [elaborated(block) for block in dut.inputs]
        m.submodules.dut = dut
        leaves = [
            Cat(
                dut.o[p].valid & dut.o[p].ready & arbiter.grant[n] & block.request[p]
                for p, arbiter in enumerate(dut.arbiters)
            )
            for n, block in enumerate(dut.inputs)
        ]
        for o in dut.o:
            m.d.comb += o.ready.eq(AnySeq(1))
        for n, fsm in enumerate(states):
            self._input(m, n, fsm, leaves[n])
        self._outputs(m, leaves, states)
        return m

    def named(self, m, data):
        """The outputs that a HEAD's data names; 0 for a bad route."""
        top, mask, named = data[24:], data[MASK_SHIFT : MASK_SHIFT + MOST_PORTS], Signal(self.ports)
        with m.If(top == MULTICAST):
            m.d.comb += named.eq(Mux(mask < 1 << self.ports, mask, 0))
        with m.Elif(top[7] & (top[:4] < self.ports)):
            m.d.comb += named.eq(Const(1, self.ports) << top[:4])
        return named

    def _input(self, m, n, fsm, leaves):
        """An input's stream and what leaves of it."""
        i = self.dut.i[n]
        flit, kind = i.payload.as_value(), i.payload.kind
        held, before = Signal(), Signal.like(flit)
        m.d.comb += [
            i.valid.eq(AnySeq(1)),
            flit.eq(AnySeq(len(flit))),
            Assume((kind == Kind.HEAD) | (kind == Kind.DATA) | (kind == Kind.TAIL)),
        ]
        m.d.sync += [held.eq(i.valid & ~i.ready), before.eq(flit)]
        with m.If(held):
            m.d.comb += [Assume(i.valid), Assume(flit == before)]

        taken, named, live = i.valid & i.ready, self.named(m, i.payload.data), Signal(self.ports)
        with m.If(i.valid & (kind == Kind.HEAD)):  # it ends the packet before, before it is taken
            m.d.sync += live.eq(Mux(i.ready, named, 0))
            m.d.comb += Assert(leaves == Mux(i.ready, named, 0), "a HEAD goes to what it names")
        with m.Elif(taken):
            m.d.comb += Assert(leaves == live, "a flit goes where its HEAD went")
            with m.If(kind == Kind.TAIL):
                m.d.sync += live.eq(0)
        with m.Else():
            m.d.comb += Assert(~leaves.any(), "nothing leaves that is not taken")
        for p, o in enumerate(self.dut.o):
            with m.If(leaves[p]):
                m.d.comb += Assert(o.payload.kind == kind, "a flit stays what it is")
                with m.If(kind != Kind.HEAD):
                    m.d.comb += Assert(o.payload.data == i.payload.data, "and its word")
                with m.Elif(i.payload.data[24:] == MULTICAST):
                    m.d.comb += Assert(o.payload.data == 0, "no route is left of a mask")
        self._states(m, n, fsm, live, held & (before[-len(kind.as_value()) :] == Kind.HEAD), named)

    def _states(self, m, n, fsm, live, head_waits, named):
        """Assert the invariants that the induction needs: how an input's state goes with its packet."""
        block = self.dut.inputs[n]
        wanted, has = block.request, Cat(arbiter.grant[n] for arbiter in self.dut.arbiters)
        mask = self.dut.i[n].payload.data[24:] == MULTICAST
        on = {name: fsm.state == code for name, code in fsm.encoding.items()}
        m.d.comb += [
            Assert(on["IDLE"] | on["TURN"] | on["HEAD"] | on["BODY"] | on["SWALLOW"], "no packet is cut"),
            Assert(one_at_most(wanted) | (block.several & block.turn), "several outputs take the turn"),
            Assert(~on["BODY"] | ((wanted == live) & wanted.any() & (has & wanted == wanted)), "body"),
            Assert(on["BODY"] | ~live.any(), "outside"),
            Assert(~on["HEAD"] | (head_waits & (wanted == named) & wanted.any() & (block.copied == mask)), "head"),
            Assert(~on["TURN"] | (head_waits & mask & named.any() & block.copied), "turn"),
            Assert(on["HEAD"] | on["BODY"] | ~wanted.any(), "none wanted"),
        ]

    def _outputs(self, m, leaves, states):
        """One input has an output, from a HEAD to what ends the packet."""
        inputs = range(self.ports)
        m.d.comb += Assert(one_at_most(Cat(block.turn for block in self.dut.inputs)), "one has the turn")
        several = Cat(~one_at_most(block.request) for block in self.dut.inputs)
        m.d.comb += Assert(one_at_most(several), "two inputs hold several outputs")
        for p, (o, arbiter) in enumerate(zip(self.dut.o, self.dut.arbiters, strict=True)):
            holders = Cat(arbiter.grant[n] & self.dut.inputs[n].request[p] for n in inputs)
            came, owner = Cat(leaves[n][p] for n in inputs), Signal(self.ports)
            m.d.comb += [
                Assert(one_at_most(arbiter.grant) & one_at_most(holders), "two inputs hold one output"),
                Assert((o.valid & o.ready) == came.any(), "a flit that came from no input"),
            ]
            with m.If(came.any()):
                m.d.sync += owner.eq(came)
                with m.If(o.payload.kind != Kind.HEAD):
                    m.d.comb += Assert(came == owner, "a packet within another")
            for n in inputs:
                body = states[n].state == states[n].encoding["BODY"]
                with m.If(body & self.dut.inputs[n].request[p]):
                    m.d.comb += Assert(owner == 1 << n, "the last HEAD was this packet's")


class Eager(Crossbar):
    """Offers a flit to the outputs that are ready before all are."""

    def _leaves(self, block):
        return block.o.valid


class Turnless(Crossbar):
    """Lets all inputs have the turn at once."""

    def _turns(self, m, inputs):
        m.d.comb += [block.turn.eq(1) for block in inputs]
        return []


@pytest.mark.parametrize("ports", [2, 3, 4])
def test_each_flit_goes_once_to_each_port_that_its_route_names(prove, ports):
    prove(RoutedSpec(ports), depth=1)


@pytest.mark.parametrize("crossbar", [Eager, Turnless])
def test_the_proof_sees_a_crossbar_that_breaks_it(prove, crossbar):
    with pytest.raises(AssertionError, match="Assert failed"):
        prove(RoutedSpec(2, crossbar), mode="bmc", depth=8)
