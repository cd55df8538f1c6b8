"""Memories that reset clears."""

from amaranth import Module, Mux
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out


class ClearCounter(wiring.Component):
    """Names the entries of a memory of `depth` after a reset, one a slot, so that its owner can clear
    them.

    Members
    -------
    at : ``Out``, the entry to clear in this slot unless `ready`
    ready : ``Out(1)``, all entries have been named
    ready_next : ``Out(1)``, `ready` in the next slot
    """

    def __init__(self, depth):
        self.depth = depth
        super().__init__({"at": Out(range(max(depth, 2))), "ready": Out(1), "ready_next": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.ready_next.eq(self.ready | (self.at == self.depth - 1))
        m.d.sync += self.ready.eq(self.ready_next)
        with m.If(~self.ready):
            m.d.sync += self.at.eq(self.at + 1)
        return m


class ClearedMemory(wiring.Component):
    """Every entry is 0 after a reset, once `ready`. A read answers within the slot, a write shows
    in the next.

    Until `ready`, `depth` slots after reset, reads are undefined and writes are lost.

    Members: `write_en`, `write_addr`, `write_data`; `read_<n>_addr`, `read_<n>_data` for each of
    `reads` read ports; `ready`; `ready_next`, `ready` in the next slot.
    """

    def __init__(self, shape, depth, reads=1):
        self.shape, self.depth, self.reads = shape, depth, reads
        address = range(max(depth, 2))
        members = {}
        for n in range(reads):
            members[f"read_{n}_addr"] = In(address)
            members[f"read_{n}_data"] = Out(shape)
        super().__init__(
            {
                "write_en": In(1),
                "write_addr": In(address),
                "write_data": In(shape),
                **members,
                "ready": Out(1),
                "ready_next": Out(1),
            }
        )

    def read(self, n):
        return getattr(self, f"read_{n}_addr"), getattr(self, f"read_{n}_data")

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = memory.Memory(shape=self.shape, depth=max(self.depth, 2), init=[])
        m.submodules.clearing = clearing = ClearCounter(self.depth)
        write = storage.write_port()
        m.d.comb += [
            self.ready.eq(clearing.ready),
            self.ready_next.eq(clearing.ready_next),
            write.en.eq(~self.ready | self.write_en),
            write.addr.eq(Mux(self.ready, self.write_addr, clearing.at)),
        ]
        with m.If(self.ready):
            m.d.comb += write.data.eq(self.write_data)
        for n in range(self.reads):
            port = storage.read_port(domain="comb")
            address, data = self.read(n)
            m.d.comb += [port.addr.eq(address), data.eq(port.data)]
        return m
