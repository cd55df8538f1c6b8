"""From an exposure and an offset to a bus address: the only source of bus addresses in the adapter.

Members say `owner`, not `process`: that name is a class of SystemVerilog, and Verilator cannot save
the state of a design with classes.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, memory, wiring
from amaranth.lib.wiring import In, Out

from ..machine import PAGE_SIZE
from ..word_layout import layout
from .cleared import ClearedMemory
from .packets import Status
from .parameters import RemoteParameters
from .tables import EXPOSURES, NIBBLE, PAGE_BITS, PlaceWord, Rights

OFFSET_BITS = (PAGE_SIZE - 1).bit_length()
LENGTH_BITS = OFFSET_BITS + 1
PROCESS_BITS = 4  # of an exposure number in a packet; those above `processes` have no exposures


class Need(enum.Enum, shape=3):
    """What an access must be allowed to do."""

    OWN = 0  # the process's own memory: no key and no right are asked for
    READ = 1
    WRITE = 2
    ATOMIC = 3
    FLAGS = 4  # page 0 of the process's page table: neither an exposure nor a range
    APPEND = 5


class BusWindow(data.Struct):
    """The bus addresses of a process: those with `nibble` on top, if `valid`."""

    nibble: NIBBLE
    valid: 1


class LookupPort(wiring.Signature):
    """A client's port, seen from the client.

    The question, from `start` on until `done`: `length` bytes (not 0) at byte `offset` of
    `exposure` of process `owner`. The answer, in the one slot of `done`: `status`; if that is OK,
    the first byte's bus `address`, and whether the exposure is `little`. It comes 4 slots after
    `start`.
    """

    def __init__(self):
        super().__init__(
            {
                "start": Out(1),
                "owner": Out(PROCESS_BITS),
                "exposure": Out(range(EXPOSURES)),
                "need": Out(Need),
                "key": Out(16),
                "offset": Out(32),
                "length": Out(LENGTH_BITS),
                "done": In(1),
                "status": In(Status),
                "address": In(32),
                "little": In(1),
            }
        )


class Lookup(wiring.Component):
    """The exposures and page tables of all processes of a host, with an answering machine for each
    of `ports` clients.

    A page is used only if it lies in the bus window of the process that owns the exposure: whatever
    stands in the tables, no other bus address is given out with `Status.OK`.

    Members
    -------
    port_<n> : ``In(LookupPort())``
    windows : a `BusWindow` for each process
    exposure_write, page_write : ``In(1)``, `wdata` is stored at `index` of process `owner`: word
        `field` of an exposure, or an entry of the page table
    ready : ``Out(1)``, every exposure has been made invalid since reset. Until then nothing may be
        written or asked.
    idle : ``Out(1)``, no question is open
    """

    def __init__(self, config: RemoteParameters, ports: int):
        self.config = config
        self.ports = ports
        super().__init__(
            {
                **{f"port_{n}": In(LookupPort()) for n in range(ports)},
                "windows": In(data.ArrayLayout(BusWindow, config.processes)),
                "exposure_write": In(1),
                "page_write": In(1),
                "owner": In(3),
                "index": In(range(max(config.pages, EXPOSURES))),
                "field": In(2),
                "wdata": In(32),
                "ready": Out(1),
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
        m.submodules.ranges = ranges = memory.Memory(shape=96, depth=exposures, init=[])
        m.submodules.rights = rights = ClearedMemory(layout(Rights), exposures, reads=self.ports)
        m.submodules.pages = pages = memory.Memory(shape=PAGE_BITS, depth=config.processes * config.pages, init=[])
        number = Cat(self.index[:4], self.owner[:process_bits])
        range_write, page_write = ranges.write_port(granularity=32), pages.write_port()
        m.d.comb += [
            self.ready.eq(rights.ready),
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
        idle = []
        for n in range(self.ports):
            idle.append(self._answers(m, n, ranges.read_port(), rights.read(n), pages.read_port()))
        m.d.comb += self.idle.eq(Cat(idle).all())
        return m

    def _answers(self, m, n, range_read, rights_read, page_read):
        port = self.port(n)
        config = self.config
        process_bits = (config.processes - 1).bit_length()
        owner = port.owner[:process_bits]
        rights_addr, rights_data = rights_read
        place = Signal(layout(PlaceWord), name=f"place_{n}")
        rights = Signal(layout(Rights), name=f"rights_{n}")
        first, end = range_read.data[0:32], range_read.data[32:64]
        last = Signal(33, name=f"last_{n}")  # the byte behind the access
        low, high, crosses = (Signal(name=f"{name}_{n}") for name in ("low", "high", "crosses"))
        index = Signal(range(config.pages), name=f"index_{n}")
        allowed = Signal(Status, name=f"allowed_{n}")
        page = page_read.data
        window = Signal(BusWindow, name=f"window_{n}")
        number = Cat(port.exposure, owner)
        idle = Signal(name=f"idle_{n}")
        m.d.comb += [
            range_read.addr.eq(number),
            rights_addr.eq(number),
            page_read.addr.eq(Cat(index, owner)),
            port.address.eq(Cat(port.offset[:OFFSET_BITS], page)),
            port.little.eq(rights.little),
        ]
        m.d.sync += window.eq(self.windows[owner] if process_bits else self.windows[0])
        with m.FSM(name=f"fsm_{n}"):
            with m.State("IDLE"):
                m.d.comb += idle.eq(~port.start)
                m.d.sync += [
                    last.eq(port.offset + port.length),
                    crosses.eq(port.offset[:OFFSET_BITS] + port.length > PAGE_SIZE),
                ]
                with m.If(port.start):
                    m.next = "RANGE"
            with m.State("RANGE"):
                m.d.sync += [
                    rights.eq(rights_data),
                    low.eq(port.offset < first),
                    high.eq(last > end),
                    place.eq(range_read.data[64:96]),
                ]
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.d.sync += [
                    allowed.eq(self._judge(port, rights, place, low | high, crosses)),
                    index.eq(Mux(port.need == Need.FLAGS, 0, place.page + port.offset[OFFSET_BITS:])),
                ]
                m.next = "PAGE"
            with m.State("PAGE"):
                m.next = "WINDOW"
            with m.State("WINDOW"):
                m.d.comb += [port.done.eq(1), port.status.eq(allowed)]
                with m.If((allowed == Status.OK) & ~(window.valid & (page[-NIBBLE:] == window.nibble))):
                    m.d.comb += port.status.eq(Status.PAGE)
                m.next = "IDLE"
        return idle

    def _judge(self, port, rights, place, outside, crosses):
        """The first rule that the access breaks, apart from that on its page."""
        refused = Mux(outside | crosses, Status.RANGE, Status.OK)
        right = Mux(
            port.need == Need.READ,
            rights.read,
            Mux(port.need == Need.WRITE, rights.write, Mux(port.need == Need.ATOMIC, rights.atomic, rights.append)),
        )
        remote = Mux(port.key != place.key, Status.KEY, Mux(~right, Status.RIGHT, refused))
        judged = Mux(
            ~rights.valid | (port.owner >= self.config.processes),
            Status.EXPOSURE,
            Mux(port.need == Need.OWN, refused, remote),
        )
        beyond = port.offset[OFFSET_BITS:].any() | crosses
        return Mux(port.need == Need.FLAGS, Mux(beyond, Status.RANGE, Status.OK), judged)
