"""Several senders and several receivers of packets on one link."""

from collections.abc import Sequence

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..round_robin import next_in_turn
from .deframer import Part, PartKind
from .flit import Flit, Kind


class PacketMux(wiring.Component):
    """Sends packets of several inputs down one stream, whole packet by whole packet.

    A packet is HEAD to TAIL. Between packets the inputs are served in turn: after input i, the next
    one behind it that has a flit. A flit outside a packet passes by itself. There is no latency.

    Parameters
    ----------
    inputs : how many, at least 1

    Members
    -------
    i_<n> : ``In(stream.Signature(Flit))``, for n from 0
    o : ``Out(stream.Signature(Flit))``
    idle : ``Out(1)``, no packet is under way and no flit waits
    """

    def __init__(self, inputs: int):
        if inputs < 1:
            raise ValueError(f"inputs={inputs!r} must be at least 1")
        self.inputs = inputs
        members = {f"i_{n}": In(stream.Signature(Flit)) for n in range(inputs)}
        members |= {"o": Out(stream.Signature(Flit)), "idle": Out(1)}
        super().__init__(members)

    def ports(self):
        """The inputs, in order."""
        return [getattr(self, f"i_{n}") for n in range(self.inputs)]

    def elaborate(self, platform):
        m = Module()
        ports = self.ports()
        owner = Signal(range(max(self.inputs, 2)))  # of the packet under way, else of the last one
        inside = Signal()
        offered = Signal()  # in the slot before, and not taken: a flit on offer must not change
        chosen, next_ = Signal.like(owner), next_in_turn(m, Cat(port.valid for port in ports), owner)
        m.d.comb += [
            chosen.eq(Mux(inside | offered, owner, next_)),
            self.o.valid.eq(Array(port.valid for port in ports)[chosen]),
            self.o.payload.eq(Array(port.payload for port in ports)[chosen]),
            self.idle.eq(~inside & ~self.o.valid),
        ]
        for n, port in enumerate(ports):
            m.d.comb += port.ready.eq(self.o.ready & (chosen == n))
        kind = self.o.payload.kind
        m.d.sync += offered.eq(self.o.valid & ~self.o.ready)
        with m.If(self.o.valid):
            m.d.sync += owner.eq(chosen)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += inside.eq((kind == Kind.HEAD) | (inside & (kind != Kind.TAIL)))
        return m


class PacketDemux(wiring.Component):
    """Gives each packet to one of several outputs, chosen by the first byte of its first word.

    A packet whose first byte is in none of `routes`, or that ends before its first word, goes to
    output 0, or is dropped while `drop` is high. START is held back until the next part is offered,
    so a packet's first part leaves one slot later; there is no other latency.

    Parameters
    ----------
    routes : for each output but the first, the first bytes that it takes

    Members
    -------
    i : ``In(stream.Signature(Part))``
    o_<n> : ``Out(stream.Signature(Part))``, for n from 0
    drop : ``In(1)``, packets for output 0 whose first word or end is offered now are dropped
    idle : ``Out(1)``, between packets and none is offered
    """

    def __init__(self, routes: Sequence[Sequence[int]]):
        self.routes = [tuple(route) for route in routes]
        taken: dict[int, int] = {}
        for output, route in enumerate(self.routes, 1):
            for byte in route:
                if not 0 <= byte <= 0xFF:
                    raise ValueError(f"first byte {byte!r} of output {output} must be from 0 to 255")
                if byte in taken:
                    raise ValueError(f"first byte {byte:#04x} is taken by output {taken[byte]} and by output {output}")
                taken[byte] = output
        members = {f"o_{n}": Out(stream.Signature(Part)) for n in range(1 + len(self.routes))}
        super().__init__({"i": In(stream.Signature(Part)), **members, "drop": In(1), "idle": Out(1)})

    def ports(self):
        """The outputs, in order."""
        return [getattr(self, f"o_{n}") for n in range(1 + len(self.routes))]

    def elaborate(self, platform):
        m = Module()
        ports = self.ports()
        owner, routed = Signal(range(max(len(ports), 2))), Signal(range(max(len(ports), 2)))
        with m.If(self.i.payload.kind == PartKind.WORD):
            with m.Switch(self.i.payload.data[24:]):  # big-endian: the first byte is on top
                for output, route in enumerate(self.routes, 1):
                    if route:
                        with m.Case(*route):
                            m.d.comb += routed.eq(output)
        sends_start, passes = Signal(), Signal()
        ready = Array(port.ready for port in ports)[owner]
        with m.FSM():
            with m.State("BETWEEN"):
                m.d.comb += [self.i.ready.eq(1), self.idle.eq(~self.i.valid)]
                with m.If(self.i.valid & (self.i.payload.kind == PartKind.START)):
                    m.next = "FIRST"
            with m.State("FIRST"):
                with m.If(self.i.valid):
                    m.d.sync += owner.eq(routed)
                    m.next = "START"
                    with m.If((routed == 0) & self.drop):
                        m.next = "DROP"
            with m.State("DROP"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid & (self.i.payload.kind == PartKind.END)):
                    m.next = "BETWEEN"
            with m.State("START"):
                m.d.comb += sends_start.eq(1)
                with m.If(ready):
                    m.next = "REST"
            with m.State("REST"):
                m.d.comb += [passes.eq(1), self.i.ready.eq(ready)]
                with m.If(self.i.valid & ready & (self.i.payload.kind == PartKind.END)):
                    m.next = "BETWEEN"
        for n, port in enumerate(ports):
            m.d.comb += [
                port.valid.eq((owner == n) & (sends_start | (passes & self.i.valid))),
                port.payload.eq(self.i.payload),
            ]
            with m.If(sends_start):
                m.d.comb += port.payload.kind.eq(PartKind.START)
        return m
