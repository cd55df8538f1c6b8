"""The adapter's part of the host's window: where processes leave commands, exposures and pages."""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from ..host_bus.target import RegisterAccess
from ..memory_attributes import ANY_ON_COLLISION
from .collect_parts import GroupWrite
from .command_queue import BUFFER_BITS, COMMAND_BITS, CommandQueue, CommandQueuePort
from .groups import LANES, START_BYTES, STARTS_AT, STEPS, STEPS_AT
from .match_slots import SlotWrite
from .messages import SLOT_WORDS, SLOTS, SLOTS_AT
from .parameters import RemoteParameters
from .streams import StorePort
from .tables import (
    APERTURE_AT,
    APERTURE_PAGES,
    APERTURE_WORD_BITS,
    BUSY_AT,
    COMMAND_FIELDS,
    COMMAND_WORDS,
    COMMANDS,
    COMMANDS_AT,
    EXPOSURE_WORDS,
    EXPOSURES,
    EXPOSURES_AT,
    FIRST_OF_HEAD,
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
HEAD_WORDS = LAST_OF_HEAD + 1 - FIRST_OF_HEAD
PLACES = ("offset", "length", "local_offset")  # words of a head that move on as the command does


class CommandRead(wiring.Signature):
    """Reads word `field` of command buffer `buffer`; `data` stands in the next slot."""

    def __init__(self):
        super().__init__({"buffer": Out(BUFFER_BITS), "field": Out(FIELD_BITS), "data": In(32)})


class HeadPort(wiring.Signature):
    """Reads the words of command buffer `buffer` from `FIRST_OF_HEAD` to `LAST_OF_HEAD` at once;
    `data` has them in the next slot. While it `saves`, `places` become the words `PLACES` of the buffer
    once they are `saved`."""

    def __init__(self):
        super().__init__(
            {
                "buffer": Out(BUFFER_BITS),
                "data": In(data.ArrayLayout(32, HEAD_WORDS)),
                "saves": Out(1),
                "saved": In(1),
                "places": Out(data.ArrayLayout(32, len(PLACES))),
            }
        )


class WindowPlace:
    """The place of byte `addr` of the window: `inside` the page of process `owner`, and `in_commands`
    (word `field` of command buffer `buffer`), `in_exposures` or `in_pages`."""

    def __init__(self, config: RemoteParameters, addr):
        self.inside = inside = addr[: (PROCESS_BYTES - 1).bit_length()]
        self.owner = addr[len(inside) :][: (config.processes - 1).bit_length()]
        self.buffer = Cat(addr[2 + FIELD_BITS :][:COMMAND_BITS], self.owner)
        self.field = addr[2 : 2 + FIELD_BITS]
        self.in_commands = inside < COMMANDS_AT + 4 * COMMAND_WORDS * COMMANDS
        self.in_exposures = (inside >= EXPOSURES_AT) & (inside < EXPOSURES_AT + 4 * EXPOSURE_WORDS * EXPOSURES)
        self.in_pages = (inside >= PAGES_AT) & (inside < PAGES_AT + 4 * config.pages)
        groups = config.groups
        self.in_starts = (inside >= STARTS_AT) & (inside < STARTS_AT + START_BYTES * LANES * groups)
        self.in_steps = (inside >= STEPS_AT) & (inside < STEPS_AT + 4 * STEPS * groups)
        self.in_slots = (inside >= SLOTS_AT) & (inside < SLOTS_AT + 4 * SLOT_WORDS * SLOTS)


class HostSide(wiring.Component):
    """Takes the host's accesses, a word each.

    A write of a command's last word starts it if its buffer is free, and does nothing else
    (`fault`) if it is not. The words of a command that runs may be overwritten: that spoils this
    command, and nothing of another process.

    Members
    -------
    window : ``In(RegisterAccess)``
    started : ``Out(CommandQueuePort())``, the commands that wait; begun : ``Out(1)``, a slot's event: one more
    head : ``In(HeadPort())``
    read_<n> : ``In(CommandRead())``, n from 0 to 1
    free : ``In(1)``, the command in buffer `freed` has ended
    exposure_write, page_write, owner, index, field, wdata : to `Lookup`
    server_busy, sender_busy : ``In(1)``, that part makes an access that a lookup has allowed, or
        may yet
    open : ``In(1)``, accesses may be granted
    fault : ``Out(1)``, a slot's event
    idle : ``Out(1)``, no command is under way
    stores : ``Out(StorePort())``, if there is an aperture
    slots : ``Out(SlotWrite())``, with `config.match_cells`; groups : ``Out(GroupWrite())``, with `config.groups`
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "window": In(RegisterAccess(config.host_window.size)),
                "started": Out(CommandQueuePort()),
                "begun": Out(1),
                "read_0": In(CommandRead()),
                "read_1": In(CommandRead()),
                "head": In(HeadPort()),
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
                **({"slots": Out(SlotWrite())} if config.match_cells else {}),
                **({"groups": Out(GroupWrite())} if config.groups else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        window, place = self.window, WindowPlace(self.config, self.window.addr)
        busy = Signal(self.config.processes * COMMANDS)
        is_busy = busy.bit_select(place.buffer[: len(busy).bit_length() - 1], 1)
        written = Signal()
        begins = written & place.in_commands & (place.field == START)
        m.d.sync += window.rdata.eq(0)
        elsewhere, grant, lost = self._stores(m, place, begins & ~is_busy)
        nowhere = ~(place.in_commands | place.in_exposures | place.in_pages)
        if self.config.match_cells:
            nowhere &= ~place.in_slots
            self._write_slots(m, place, written & place.in_slots)
        if self.config.groups:
            nowhere &= ~(place.in_starts | place.in_steps)
            self._write_groups(m, place, written)
        m.d.comb += [
            window.grant.eq(window.request & self.open & grant),
            written.eq(window.request & self.open & window.write & ~elsewhere),
            self.fault.eq((begins & is_busy) | (written & nowhere) | lost),
            self.idle.eq(~busy.any() & ~window.request),
        ]
        self._keep_commands(m, place, written & place.in_commands)
        self._begin(m, place.buffer, begins & ~is_busy)
        with m.If(begins & ~is_busy):
            m.d.sync += is_busy.eq(1)
        with m.If(self.free):
            m.d.sync += busy.bit_select(self.freed[: len(busy).bit_length() - 1], 1).eq(0)
        self._write_tables(m, place, written)
        self._read(m, place, elsewhere, busy)
        return m

    def _keep_commands(self, m, place, write):
        """Words of commands: one at a time for who sends or ends them, a head at once for the
        cutter."""
        buffers = self.config.processes * COMMANDS
        # The host may write a command that is read: it spoils its own command, which is checked as any other.
        m.submodules.words = words = memory.Memory(
            shape=32, depth=buffers * COMMAND_WORDS, init=[], attrs=ANY_ON_COLLISION
        )
        m.submodules.heads = heads = memory.Memory(
            shape=32 * HEAD_WORDS, depth=buffers, init=[], attrs=ANY_ON_COLLISION
        )
        store, store_head = words.write_port(), heads.write_port(granularity=32)
        read_head = heads.read_port()
        of_head = ((1 << place.field) >> FIRST_OF_HEAD)[:HEAD_WORDS]
        saved = self.head.saved
        m.d.comb += [
            read_head.addr.eq(self.head.buffer),
            self.head.data.eq(read_head.data),
            saved.eq(self.head.saves & ~write),
            store.addr.eq(Cat(place.field, place.buffer)),
            store.data.eq(self.window.wdata),
            store.en.eq(write),
            store_head.addr.eq(Mux(saved, self.head.buffer, place.buffer)),
            store_head.data.eq(self.window.wdata.replicate(HEAD_WORDS)),
            store_head.en.eq(write.replicate(HEAD_WORDS) & of_head),
        ]
        with m.If(saved):
            for name, value in zip(PLACES, self.head.places, strict=True):
                at = COMMAND_FIELDS.index(name) - FIRST_OF_HEAD
                m.d.comb += [store_head.data.word_select(at, 32).eq(value), store_head.en[at].eq(1)]
        for reader in (self.read_0, self.read_1):
            port = words.read_port()
            m.d.comb += [port.addr.eq(Cat(reader.field, reader.buffer)), reader.data.eq(port.data)]

    def _begin(self, m, buffer, begins):
        m.submodules.commands = commands = CommandQueue(self.config)
        wiring.connect(m, commands.o, wiring.flipped(self.started))
        m.d.comb += [commands.put.eq(begins), commands.buffer.eq(buffer), self.begun.eq(commands.begun)]

    def _write_tables(self, m, place, written):
        """Exposures and page tables, which `Lookup` has."""
        window = self.window
        m.d.comb += [
            self.owner.eq(place.owner),
            self.wdata.eq(window.wdata),
            self.exposure_write.eq(written & place.in_exposures),
            self.page_write.eq(written & place.in_pages),
            self.field.eq(window.addr[2:4]),
            self.index.eq(Mux(place.in_pages, (place.inside - PAGES_AT) >> 2, window.addr[4:8])),
        ]

    def _write_slots(self, m, place, write):
        slots, at = self.slots, place.inside - SLOTS_AT
        m.d.comb += [
            slots.write.eq(write),
            slots.owner.eq(place.owner),
            slots.slot.eq(at >> (2 + len(slots.field))),
            slots.field.eq(at >> 2),
            slots.word.eq(self.window.wdata),
        ]

    def _write_groups(self, m, place, written):
        groups, lane, step = self.groups, place.inside - STARTS_AT, place.inside - STEPS_AT
        m.d.comb += [
            groups.start.eq(written & place.in_starts),
            groups.step.eq(written & place.in_steps),
            groups.owner.eq(place.owner),
            groups.at.eq(Mux(place.in_steps, step >> 2, lane >> (START_BYTES - 1).bit_length())),
            groups.field.eq(lane >> 2),
            groups.word.eq(self.window.wdata),
        ]

    def _read(self, m, place, elsewhere, busy):
        window, owner = self.window, place.owner
        of_process = Array(busy.word_select(n, COMMANDS) for n in range(self.config.processes))
        in_use = self._in_use(m)
        with m.If(~elsewhere & (place.inside == BUSY_AT)):
            m.d.sync += window.rdata.eq(of_process[owner] if len(owner) else of_process[0])
        with m.If(~elsewhere & (place.inside == IN_USE_AT)):
            m.d.sync += window.rdata.eq(in_use)

    def _in_use(self, m):
        in_use, before = Signal(layout(InUseWord)), Signal(2)
        m.d.comb += [in_use.server_busy.eq(self.server_busy), in_use.sender_busy.eq(self.sender_busy)]
        m.d.sync += before.eq(Cat(self.server_busy, self.sender_busy))
        with m.If(before[0] & ~self.server_busy):
            m.d.sync += in_use.server_count.eq(in_use.server_count + 1)
        with m.If(before[1] & ~self.sender_busy):
            m.d.sync += in_use.sender_count.eq(in_use.sender_count + 1)
        return in_use

    def _stores(self, m, place, begins):
        """Three bits: the access is outside all processes' pages or to a map of the aperture; it may be
        granted; it is a `fault`. What a load has brought stands on `rdata` in the slot after it."""
        if not self.config.streams:
            return Const(0), Const(1), Const(0)
        window, stores, inside, owner = self.window, self.stores, place.inside, place.owner
        in_aperture = window.addr[(APERTURE_AT - 1).bit_length()]
        outside = window.addr[(self.config.processes * PROCESS_BYTES - 1).bit_length() :].any()
        in_maps = ~outside & (inside >= MAPS_AT) & (inside < MAPS_AT + 4 * MAP_WORDS * APERTURE_PAGES)
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
            stores.load.eq(window.request & ~window.write & self.open & in_aperture),
            stores.begins.eq(begins),
        ]
        stored, loads = window.write & (in_aperture | in_maps), ~window.write & in_aperture
        with m.If(stores.loaded):
            m.d.sync += window.rdata.eq(stores.value)
        lost = window.request & self.open & outside & ~stored & ~loads
        return outside | in_maps, Mux(stored, stores.taken, ~loads | stores.loaded), lost
