"""The barrier tree in a switch, which may stand below another."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .combiner import BarrierCombiner
from .csr import BITS


class BarrierJunction(wiring.Component):
    """Combines the bits of some ports, and sends the result to the port above, if there is one, or
    to them.

    The switch at the top of the tree sends its result to its members. Any other sends it to its
    parent, and passes the parent's answer on to its members. So a bit changes for the NICs when it has
    changed at the top. A loss is passed upwards by the switches between it and the top, and downwards
    by all of these to all their members.

    Members
    -------
    members : ``In(ports)``, which ports lead to NICs or switches below; none in a switch that is
        not in the tree
    parent : ``In(ports)``, the port that leads to the switch above; 0 at the top
    theirs : ``In(BITS)`` of each port, what the other end said
    failed : ``In(1)`` of each port, its end is lost, or the other end said that another is
    mine, mine_failed : ``Out`` of each port, the bits to send to the other end
    idle : ``Out(1)``, nothing changes

    `members` and `parent` must not change after reset.
    """

    def __init__(self, ports: int):
        self._ports = ports
        super().__init__(
            {
                "members": In(ports),
                "parent": In(ports),
                "theirs": In(BITS).array(ports),
                "failed": In(1).array(ports),
                "mine": Out(BITS).array(ports),
                "mine_failed": Out(1).array(ports),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.combiner = combiner = BarrierCombiner(self._ports)
        failed = Cat(self.failed)
        below, above, said, result = Signal(), Signal(), Signal(BITS), Signal(BITS)
        m.d.comb += [
            combiner.present.eq(self.members),
            combiner.failed.eq(below),
            below.eq((failed & self.members).any()),
            above.eq((failed & self.parent).any()),
            result.eq(Mux(self.parent.any(), said, combiner.result)),
            self.idle.eq(combiner.idle),
        ]
        for n in range(self._ports):
            with m.If(self.parent[n]):
                m.d.comb += [said.eq(self.theirs[n]), self.mine[n].eq(combiner.result), self.mine_failed[n].eq(below)]
            with m.Elif(self.members[n]):
                m.d.comb += [self.mine[n].eq(result), self.mine_failed[n].eq(below | above)]
            m.d.comb += combiner.i[n].eq(self.theirs[n])
        return m
