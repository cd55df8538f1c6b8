"""Translates an exposure and an offset to a bus address: the only source of bus addresses in the adapter.

Members say `owner`, not `process`: that name is a class of SystemVerilog, and Verilator cannot save
the state of a design with classes.
"""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from ..host_bus.ports import BurstPort
from ..memory_attributes import ANY_ON_COLLISION
from .access_check import AccessCheck
from .cleared_memory import ClearedMemory
from .lookup_port import BusWindow, LookupPort
from .parameters import RemoteParameters
from .tables import EXPOSURES, PAGE_BITS, Rights
from .walker import LINES, Walker


class Lookup(wiring.Component):
    """The exposures and page tables of all processes of a host, with an `AccessCheck` for each
    of `ports` clients, and the walker for all of them, with a table of `lines`.

    A page is used only if it lies in the bus window of the process that owns the exposure: whatever
    stands in the tables, no other bus address is given out with `Status.OK`.

    Members
    -------
    port_<n> : ``In(LookupPort())``
    engine, bus : as `Walker` has them
    windows : a `BusWindow` for each process
    exposure_write, page_write : ``In(1)``, `wdata` is stored at `index` of process `owner`: word
        `field` of an exposure, or an entry of the page table
    ready : ``Out(1)``, every exposure has been made invalid since reset. Until then nothing may be
        written or asked.
    ready_next : ``Out(1)``, `ready` in the next slot
    missed : ``Out(1)``, a slot's event: a page of a walked exposure is read from host memory
    idle : ``Out(1)``, no question is open, and the walker rests

    Attributes, for proofs: `checks`, `walker`.
    """

    def __init__(self, config: RemoteParameters, ports: int, lines: int = LINES):
        self.config = config
        self.ports = ports
        self.checks = [AccessCheck(config) for _ in range(ports)]
        self.walker = Walker(config, ports, lines)
        super().__init__(
            {
                **{f"port_{n}": In(LookupPort()) for n in range(ports)},
                "engine": In(BurstPort()),
                "bus": Out(BurstPort()),
                "windows": In(data.ArrayLayout(BusWindow, config.processes)),
                "exposure_write": In(1),
                "page_write": In(1),
                "owner": In(3),
                "index": In(range(max(config.pages, EXPOSURES))),
                "field": In(2),
                "wdata": In(32),
                "ready": Out(1),
                "ready_next": Out(1),
                "missed": Out(1),
                "idle": Out(1),
            }
        )

    def port(self, n):
        return getattr(self, f"port_{n}")

    def elaborate(self, platform):
        m = Module()
        config = self.config
        process_bits = (config.processes - 1).bit_length()
        page_bits = (config.pages - 1).bit_length()
        exposures = config.processes * EXPOSURES
        # The host may write an exposure or a page that is in use: it spoils its own access, and what comes of
        # that is checked as any other.
        m.submodules.ranges = ranges = memory.Memory(shape=96, depth=exposures, init=[], attrs=ANY_ON_COLLISION)
        m.submodules.rights = rights = ClearedMemory(layout(Rights), exposures, reads=self.ports)
        m.submodules.pages = pages = memory.Memory(
            shape=PAGE_BITS, depth=config.processes * config.pages, init=[], attrs=ANY_ON_COLLISION
        )
        number = Cat(self.index[:4], self.owner[:process_bits])
        range_write, page_write = ranges.write_port(granularity=32), pages.write_port()
        m.d.comb += [
            self.ready.eq(rights.ready),
            self.ready_next.eq(rights.ready_next),
            range_write.addr.eq(number),
            range_write.data.eq(self.wdata.replicate(3)),
            range_write.en.eq(self.exposure_write.replicate(3) & (1 << self.field)[:3]),
            rights.write_addr.eq(number),
            rights.write_data.eq(self.wdata),
            rights.write_en.eq(self.exposure_write & (self.field == 3)),
            page_write.addr.eq(Cat(self.index[:page_bits], self.owner[:process_bits])),
            page_write.data.eq(self.wdata),
            page_write.en.eq(self.page_write),
        ]
        m.submodules.walker = walker = self.walker
        self._told = Signal()  # the walker, of all writes
        self._connect_walker(m)
        idle = [walker.idle, self._told]
        for n in range(self.ports):
            m.submodules[f"check_{n}"] = check = self.checks[n]
            wiring.connect(m, wiring.flipped(self.port(n)), check.port)
            wiring.connect(m, check.walk, walker.port(n))
            range_read, (rights_addr, rights_data), page_read = ranges.read_port(), rights.read(n), pages.read_port()
            m.d.comb += [
                check.windows.eq(self.windows),
                range_read.addr.eq(check.number),
                rights_addr.eq(check.number),
                page_read.addr.eq(check.entry),
                check.range.eq(range_read.data),
                check.rights.eq(rights_data),
                check.page.eq(page_read.data),
            ]
            idle.append(check.idle)
        m.d.comb += self.idle.eq(Cat(idle).all())
        return m

    def _connect_walker(self, m):
        """A question may bring what stood in the tables two slots before. So a write is reported to the walker
        two slots later."""
        walker = self.walker
        write = Signal(data.StructLayout({"changes": 1, "owner": len(walker.owner)}))
        before = Signal.like(write)
        m.d.sync += [write.changes.eq(self.exposure_write | self.page_write), before.eq(write)]
        with m.If(self.exposure_write | self.page_write):
            m.d.sync += write.owner.eq(self.owner)
        m.d.comb += [
            self._told.eq(~write.changes & ~before.changes),
            walker.forget.eq(before.changes),
            walker.owner.eq(before.owner),
            self.missed.eq(walker.missed),
        ]
        wiring.connect(m, wiring.flipped(self.engine), walker.engine)
        wiring.connect(m, walker.bus, wiring.flipped(self.bus))
