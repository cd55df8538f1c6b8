"""The adapter's part of the host's window: where processes leave commands, exposures and pages."""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.target import RegisterAccess
from ..queue import Queue
from ..word_layout import layout
from .parameters import RemoteParameters
from .streams import StorePort
from .tables import (
    APERTURE_AT,
    APERTURE_PAGES,
    APERTURE_WORD_BITS,
    BUSY_AT,
    COMMAND_WORDS,
    COMMANDS,
    COMMANDS_AT,
    EXPOSURE_WORDS,
    EXPOSURES,
    EXPOSURES_AT,
    IN_USE_AT,
    LAST_OF_HEAD,
    MAP_WORDS,
    MAPS_AT,
    PAGES_AT,
    PROCESS_BYTES,
    START,
    InUseWord,
)

FIELD_BITS = (COMMAND_WORDS - 1).bit_length()
COMMAND_BITS = (COMMANDS - 1).bit_length()
HEAD_WORDS = LAST_OF_HEAD + 1
BUFFER_BITS = COMMAND_BITS + 3  # a command buffer's number, with its process above


class CommandRead(wiring.Signature):
    """Reads word `field` of command buffer `buffer`; `data` stands in the next slot."""

    def __init__(self):
        super().__init__({"buffer": Out(BUFFER_BITS), "field": Out(FIELD_BITS), "data": In(32)})


class HeadRead(wiring.Signature):
    """Reads the words of command buffer `buffer` up to `LAST_OF_HEAD` at once; `data` has them in the
    next slot."""

    def __init__(self):
        super().__init__({"buffer": Out(BUFFER_BITS), "data": In(data.ArrayLayout(32, HEAD_WORDS))})


class HostSide(wiring.Component):
    """Takes the host's accesses, a word each.

    A write of a command's last word starts it if its buffer is free, and does nothing else
    (`fault`) if it is not. The words of a command that runs may be overwritten: that spoils this
    command, and nothing of another process.

    Members
    -------
    window : ``In(RegisterAccess)``
    started : ``Out(stream)``, numbers of command buffers, in the order in which they were started
    head : ``In(HeadRead())``
    read_<n> : ``In(CommandRead())``, n from 0 to 1
    free : ``In(1)``, the command in buffer `freed` has ended
    exposure_write, page_write, owner, index, field, wdata : to `Lookup`
    server_busy, sender_busy : ``In(1)``, that part makes an access that a lookup has allowed, or
        may yet
    open : ``In(1)``, accesses may be granted
    fault : ``Out(1)``, a slot's event
    idle : ``Out(1)``, no command is under way
    stores : ``Out(StorePort())``, if there is an aperture
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "window": In(RegisterAccess(config.host_window.size)),
                "started": Out(stream.Signature(BUFFER_BITS)),
                "read_0": In(CommandRead()),
                "read_1": In(CommandRead()),
                "head": In(HeadRead()),
                "free": In(1),
                "freed": In(BUFFER_BITS),
                "exposure_write": Out(1),
                "page_write": Out(1),
                "owner": Out(3),
                "index": Out(range(max(config.pages, EXPOSURES))),
                "field": Out(2),
                "wdata": Out(32),
                "server_busy": In(1),
                "sender_busy": In(1),
                "open": In(1),
                "fault": Out(1),
                "idle": Out(1),
                **({"stores": Out(StorePort())} if config.streams else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        buffers = self.config.processes * COMMANDS
        m.submodules.words = words = memory.Memory(shape=32, depth=buffers * COMMAND_WORDS, init=[])
        m.submodules.queue = queue = Queue(BUFFER_BITS, buffers)
        wiring.connect(m, queue.o, wiring.flipped(self.started))
        store = words.write_port()
        m.submodules.heads = heads = memory.Memory(shape=32 * HEAD_WORDS, depth=buffers, init=[])
        store_head, read_head = heads.write_port(granularity=32), heads.read_port()
        m.d.comb += [read_head.addr.eq(self.head.buffer), self.head.data.eq(read_head.data)]
        for reader in (self.read_0, self.read_1):
            port = words.read_port()
            m.d.comb += [port.addr.eq(Cat(reader.field, reader.buffer)), reader.data.eq(port.data)]
        busy = Signal(buffers)
        window = self.window
        inside = window.addr[: (PROCESS_BYTES - 1).bit_length()]
        owner = window.addr[len(inside) :][: (self.config.processes - 1).bit_length()]
        command = window.addr[2 + FIELD_BITS :][:COMMAND_BITS]
        field = window.addr[2 : 2 + FIELD_BITS]
        buffer = Cat(command, owner)
        written = Signal()
        in_commands = inside < COMMANDS_AT + 4 * COMMAND_WORDS * COMMANDS
        in_exposures = (inside >= EXPOSURES_AT) & (inside < EXPOSURES_AT + 4 * EXPOSURE_WORDS * EXPOSURES)
        in_pages = (inside >= PAGES_AT) & (inside < PAGES_AT + 4 * self.config.pages)
        taken = Signal()
        begins = written & in_commands & (field == START)
        elsewhere, grant, lost = self._stores(m, inside, owner, begins & ~taken)
        m.d.comb += [
            window.grant.eq(window.request & self.open & grant),
            written.eq(window.request & self.open & window.write & ~elsewhere),
            taken.eq(busy.bit_select(buffer[: len(busy).bit_length() - 1], 1)),
            store.addr.eq(Cat(field, buffer)),
            store.data.eq(window.wdata),
            store.en.eq(written & in_commands),
            store_head.addr.eq(buffer),
            store_head.data.eq(window.wdata.replicate(HEAD_WORDS)),
            store_head.en.eq((written & in_commands).replicate(HEAD_WORDS) & (1 << field)[:HEAD_WORDS]),
            queue.i.valid.eq(begins & ~taken),
            queue.i.payload.eq(buffer),
            self.owner.eq(owner),
            self.wdata.eq(window.wdata),
            self.exposure_write.eq(written & in_exposures),
            self.page_write.eq(written & in_pages),
            self.field.eq(window.addr[2:4]),
            self.index.eq(Mux(in_pages, (inside - PAGES_AT) >> 2, window.addr[4:8])),
            self.fault.eq((begins & taken) | (written & ~(in_commands | in_exposures | in_pages)) | lost),
            self.idle.eq(~busy.any() & ~window.request),
        ]
        with m.If(begins & ~taken):
            m.d.sync += busy.bit_select(buffer[: len(busy).bit_length() - 1], 1).eq(1)
        with m.If(self.free):
            m.d.sync += busy.bit_select(self.freed[: len(busy).bit_length() - 1], 1).eq(0)
        of_process = Array(busy.word_select(n, COMMANDS) for n in range(self.config.processes))
        in_use = self._in_use(m)
        with m.If(elsewhere):
            m.d.sync += window.rdata.eq(0)
        with m.Elif(inside == BUSY_AT):
            m.d.sync += window.rdata.eq(of_process[owner] if len(owner) else of_process[0])
        with m.Elif(inside == IN_USE_AT):
            m.d.sync += window.rdata.eq(in_use)
        with m.Else():
            m.d.sync += window.rdata.eq(0)
        return m

    def _in_use(self, m):
        in_use, before = Signal(layout(InUseWord)), Signal(2)
        m.d.comb += [in_use.server_busy.eq(self.server_busy), in_use.sender_busy.eq(self.sender_busy)]
        m.d.sync += before.eq(Cat(self.server_busy, self.sender_busy))
        with m.If(before[0] & ~self.server_busy):
            m.d.sync += in_use.server_count.eq(in_use.server_count + 1)
        with m.If(before[1] & ~self.sender_busy):
            m.d.sync += in_use.sender_count.eq(in_use.sender_count + 1)
        return in_use

    def _stores(self, m, inside, owner, begins):
        """(the access is to no process's page, or to a map of the aperture; it may be granted; it means
        nothing)."""
        if not self.config.streams:
            return Const(0), Const(1), Const(0)
        window, stores = self.window, self.stores
        in_aperture = window.addr[(APERTURE_AT - 1).bit_length()]
        of_nobody = window.addr[(self.config.processes * PROCESS_BYTES - 1).bit_length() :].any()
        in_maps = ~of_nobody & (inside >= MAPS_AT) & (inside < MAPS_AT + 4 * MAP_WORDS * APERTURE_PAGES)
        writes = window.request & window.write & self.open
        page_bits = (APERTURE_PAGES - 1).bit_length()
        map_page = Cat(window.addr[3 : 3 + page_bits], owner)
        mapped = Cat(Const(0, APERTURE_WORD_BITS), map_page)
        m.d.comb += [
            stores.store.eq(writes & in_aperture),
            stores.map.eq(writes & in_maps),
            stores.place.eq(Mux(in_aperture, window.addr[2:], mapped)),
            stores.field.eq(window.addr[2]),
            stores.word.eq(window.wdata),
            stores.begins.eq(begins),
        ]
        stored = window.write & (in_aperture | in_maps)
        lost = window.request & self.open & of_nobody & ~stored
        return of_nobody | in_maps, ~stored | stores.taken, lost
