"""Serving of COLLECTs, and the ends of collectives: the part of the packet server that hands over to `Collect`."""

from amaranth import Cat, Const
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from .access_work import Kind
from .collect_parts import Contribution, GroupEnd
from .groups import RESULTS_AT
from .lookup_port import Need
from .messages import RECEIPT_BYTES
from .packets import Status
from .tables import EXPOSURES


def group_members():
    """The server's ports to `Collect`."""
    return {
        "contribution": Out(Contribution),
        "allowed": In(1),
        "arrives": Out(1),
        "group_ended": In(stream.Signature(GroupEnd)),
    }


class Grouping:
    """Methods of `PacketServer` with `config.groups`, and its states COLLECT and PASS."""

    def _connect_groups(self, m):
        packet, came = self._packet, self.contribution
        m.d.comb += [
            came.owner.eq(packet.target.exposure >> (EXPOSURES - 1).bit_length()),
            came.place.eq(packet.offset),
            came.node.eq(packet.size.node),
            came.process.eq(packet.size.process),
            came.value.eq(Cat(packet.operand[:32], packet.comparand[:32])),
        ]

    def _tell_group(self, m):
        """State IDLE: the ends of collectives take turns with the rest, as what processes ask does."""
        with m.If(self.group_ended.valid & (self._ask_turn | ~(self.full | self.ended | self.stage.waits))):
            m.d.comb += self.stage.serve.eq(0)
            m.d.sync += [self._ask_turn.eq(0), self._asks.eq(0)]
            m.next = "PASS"

    def _serve_groups(self, m):
        """A COLLECT, which has been judged by its place in the order; and the end of a collective."""
        mover, end, work = self._mover, self.group_ended.payload, self._mover.i.payload
        with m.State("COLLECT"):
            m.d.comb += [
                self.arrives.eq(self.allowed),
                self._status.eq(Status.RIGHT),
                self.release.eq(1),
                self.served.eq(self.allowed),
                self.refused.eq(~self.allowed),
            ]
            with m.If(self.allowed):
                m.d.comb += self._status.eq(Status.OK)
            self._finish(m)
            m.next = "IDLE"
        with m.State("PASS"):
            m.d.comb += [
                mover.i.valid.eq(1),
                mover.judged.eq(1),
                mover.wanted.eq(1),
                mover.own.eq(0),
                mover.tells.eq(1),
                mover.told.eq(end.value),
                work.kind.eq(Kind.FLAG),
                work.need.eq(Need.FLAGS),
                work.owner.eq(end.owner),
                work.offset.eq(RESULTS_AT + Cat(Const(0, (RECEIPT_BYTES - 1).bit_length()), end.lane)),
                work.flag.status.eq(end.status),
                work.flag.tag.eq(Cat(end.name, 1)),
                self.group_ended.ready.eq(mover.i.ready),
            ]
            with m.If(mover.i.ready):
                m.next = "IDLE"
