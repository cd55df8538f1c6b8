"""Adapters without the rest of their NICs: a host's memory and accesses on one side of each,
packets on the other."""

from collections import deque

from amaranth import Cat, Module, ResetInserter, Signal

from lanai_hdl.bfm import Bench
from lanai_hdl.bfm.kept import SIMULATIONS
from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import RESET_SLOTS
from lanai_hdl.link.deframer import PartKind
from lanai_hdl.link.flit import Kind
from lanai_hdl.remote.block import RemoteAdapter
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.csr import ALONE, ENABLE, NUMBER_SHIFT, OPENING, WINDOW_VALID
from lanai_hdl.remote.packets import Atomic, Op, Status, boot_code, word
from lanai_hdl.remote.tables import (
    FLAG_AT,
    FLAG_BYTES,
    RESULT_AT,
    WIDE_RESULT_AT,
    WINDOW_HOST,
    CommandWord,
    DirectoryWord,
    PlaceWord,
    Rights,
    command_at,
    exposure_at,
    page_at,
)

SMALL = Remote(processes=2, peers=4, pages=8, payload=64, answers=2)
NIC = NicConfig(sram_size=4096, blocks=(SMALL,))
PAGE = 4096
KEY = 0x1234
SESSION, BOOT = 1, boot_code(1)  # of an adapter that was reset once
ROUTE = 0x82000000  # to peer 0, and one more to each peer after it
MASK = 0xFFFFFFFF
ALL = {"read": 1, "write": 1, "atomic": 1}


class Side:
    """One adapter. `pages` is its host's memory, a bytearray a bus page; other pages are refused.
    `sent` has its packets' words, `reads` the bus addresses of the words that it has read.

    Its host has process 0 with bus window 1, page table entries 0 to 3 on pages 0x10000 to 0x10003;
    process 1 too, after `boot_second`, with window 2 and pages 0x20000 to 0x20003.
    """

    def __init__(self, number, *, timeout=2000, retries=3, config=SMALL, slow=None):
        self.number, self.timeout, self.retries = number, timeout, retries
        self.config = config
        self.dut = RemoteAdapter(NIC, config)  # `play` may replace it by one like it
        self.pages = {0x10000 + n: bytearray(PAGE) for n in range(4)}
        self.sent, self.arriving, self.reads = [], deque(), []
        self.routes = []  # of all packets that were begun
        self.sent_along = []  # the routes of those in `sent`
        self.counts = dict.fromkeys((one.counter.name for one in self.dut.counts()), 0)
        self.events = []  # as they were raised, each with the host's memory at that time
        self.stop = False
        self.slow = slow  # slots for which the host's memory waits before a word
        self.resets = Signal()  # `play` replaces it too
        self._tag = 0

    # The host's memory.

    async def memory(self, context):
        """Serves the burst port, a word each few slots."""
        bus = self.dut.bus
        while True:
            context.set(bus.burst.ready, 1)
            _, _, valid, burst = await context.tick().sample(bus.burst.valid, bus.burst.payload)
            if not valid:
                continue
            context.set(bus.burst.ready, 0)
            for address in range(burst.word * 4, (burst.word + burst.words) * 4, 4):
                if self.slow is not None:
                    for _ in range(self.slow()):
                        await context.tick()
                await (self._write(context, address) if burst.write else self._read(context, address))
                if context.get(self.resets):
                    break

    async def _read(self, context, address):
        bus, page = self.dut.bus, self.pages.get(address // PAGE)
        self.reads.append(address)
        data = 0xDEADDEAD if page is None else int.from_bytes(page[address % PAGE :][:4], "big")
        context.set(bus.read.payload, {"data": data, "error": page is None})
        context.set(bus.read.valid, 1)
        while not (await context.tick().sample(bus.read.ready))[2] and not context.get(self.resets):
            pass
        context.set(bus.read.valid, 0)

    async def _write(self, context, address):
        bus, page = self.dut.bus, self.pages.get(address // PAGE)
        context.set(bus.write.ready, 1)
        valid = 0
        while not valid and not context.get(self.resets):
            _, _, valid, word = await context.tick().sample(bus.write.valid, bus.write.payload)
        context.set(bus.write.ready, 0)
        if not valid:
            return
        for lane, byte in enumerate(word.data.to_bytes(4, "big")):
            if page is not None and word.be >> (3 - lane) & 1:
                page[address % PAGE + lane] = byte
        await context.tick()
        context.set(bus.written, 1)
        context.set(bus.refused, page is None)
        await context.tick()
        context.set(bus.written, 0)

    def load(self, offset, data):
        """Into the page behind page table entry 1 and those after it."""
        for at, byte in enumerate(data, PAGE + offset):
            self.pages[0x10000 + at // PAGE][at % PAGE] = byte

    def dump(self, offset, size):
        return bytes(self.pages[0x10000 + at // PAGE][at % PAGE] for at in range(PAGE + offset, PAGE + offset + size))

    # The wire.

    async def transmits(self, context):
        """Takes flits; a packet with a sound CRC goes to `sent`."""
        out = self.dut.packets_out
        words = []
        while True:
            context.set(out.ready, not self.stop)
            _, _, valid, ready, flit = await context.tick().sample(out.valid, out.ready, out.payload)
            if not (valid and ready) or context.get(self.resets):
                continue
            if flit.kind == Kind.HEAD:
                words = []
                self.routes.append(flit.data)
            elif flit.kind == Kind.DATA:
                words.append(flit.data)
            elif not flit.data & 1:
                self.sent.append(words)
                self.sent_along.append(self.routes[-1])

    async def receives(self, context):
        """Gives what is in `arriving`: (words, bad_crc, truncated)."""
        port = self.dut.packets_in
        while True:
            if not self.arriving:
                await context.tick()
                continue
            words, bad_crc, truncated = self.arriving.popleft()
            parts = [{"kind": PartKind.START}, *({"kind": PartKind.WORD, "data": one} for one in words)]
            for part in (*parts, {"kind": PartKind.END, "bad_crc": bad_crc, "truncated": truncated}):
                context.set(port.payload, {"data": 0, "bad_crc": 0, "truncated": 0, **part})
                context.set(port.valid, 1)
                while not (await context.tick().sample(port.ready))[2] and not context.get(self.resets):
                    pass
                context.set(port.valid, 0)
                if context.get(self.resets):  # the rest of the packet is nothing
                    break

    def arrive(self, words, *, bad_crc=0, truncated=0):
        self.arriving.append((words, bad_crc, truncated))

    async def counting(self, context):
        counts = list(self.dut.counts())
        async for _, _, happened in context.tick().sample(self.happened):
            for n, one in enumerate(counts):
                self.counts[one.counter.name] += happened >> n & 1

    async def watching(self, context):
        raised = list(self.dut.raises())
        async for _, _, happened in context.tick().sample(self.raised):
            for n, one in enumerate(raised):
                if happened >> n & 1:
                    self.events.append((one.event.name, {page: bytes(data) for page, data in self.pages.items()}))

    def counted(self):
        """Counters that are not zero."""
        return {name: count for name, count in self.counts.items() if count}

    # The host's accesses.

    async def write(self, context, offset, *words):
        window = self.dut.window
        for at, value in enumerate(words):
            context.set(window.addr, offset - WINDOW_HOST + 4 * at)
            context.set(window.wdata, value)
            context.set(window.write, 1)
            context.set(window.request, 1)
            while not (await context.tick().sample(window.grant))[2]:
                pass
            context.set(window.request, 0)

    async def read(self, context, offset):
        """A read of the adapter's part of the host's window; gives the word, and the slots that it
        waited for its grant."""
        window, waited = self.dut.window, 0
        context.set(window.addr, offset - WINDOW_HOST)
        context.set(window.write, 0)
        context.set(window.request, 1)
        while not (await context.tick().sample(window.grant))[2]:
            waited += 1
        context.set(window.request, 0)
        return context.get(window.rdata), waited

    async def reset(self, context):
        """Reset the adapter as CONTROL.RESET does; the registers that boot writes are cleared."""
        context.set(self.resets, 1)
        for signal in (self.dut.control, self.dut.window.request):
            context.set(signal, 0)
        for _ in range(RESET_SLOTS):
            await context.tick()
        context.set(self.resets, 0)
        await context.tick()  # or the next one would be the same reset

    async def open_session(self, context, peer):
        """A new session with a peer that was lost, once it has begun."""
        context.set(self.dut.wdata, peer)
        context.set(self.dut.open, 1)
        await context.tick()
        context.set(self.dut.open, 0)
        await context.tick()
        while context.get(self.dut.lost) & OPENING:
            await context.tick()

    async def boot(self, context, *, alone=False):
        dut = self.dut
        context.set(dut.control, ENABLE | alone * ALONE | self.number << NUMBER_SHIFT)
        context.set(dut.timeout, self.timeout | self.retries << 24)
        await self._boot_process(context, 0)
        context.set(dut.set_route, 1)
        for peer in range(SMALL.peers):
            context.set(dut.peer, peer)
            context.set(dut.wdata, ROUTE + peer)
            await context.tick()
        context.set(dut.set_route, 0)
        await self._write_pages(context, 0)

    async def boot_second(self, context):
        self.pages.update({0x20000 + n: bytearray(PAGE) for n in range(4)})
        await self._boot_process(context, 1)
        await self._write_pages(context, 1)

    async def _boot_process(self, context, process):
        dut = self.dut
        context.set(dut.owner, process)
        context.set(dut.wdata, WINDOW_VALID | process + 1)
        context.set(dut.set_window, 1)
        await context.tick()
        context.set(dut.set_window, 0)

    async def _write_pages(self, context, process):
        for index in range(4):
            await self.write(context, page_at(process, index), (process + 1 << 16) + index)

    async def expose(self, context, number, first, end, key=KEY, *, process=0, page=1, walked=0, **rights):
        place = word(PlaceWord, key=key, page=page, walked=walked)
        await self.write(context, exposure_at(process, number), first, end, place, word(Rights, valid=1, **rights))

    async def expose_walked(self, context, number, first, end, **rights):
        """The pages behind entries 1 to 3 of the page table, by a directory in page 0x10004, which is
        entry 4."""
        self.pages[0x10004] = directory = bytearray(PAGE)
        for at in range(3):
            entry = word(DirectoryWord, page=0x10001 + at, valid=1)
            directory[4 * at : 4 * at + 4] = entry.to_bytes(4, "big")
        await self.write(context, page_at(0, 4), 0x10004)
        await self.expose(context, number, first, end, page=4, walked=1, **rights)

    async def start(
        self, context, op, peer, exposure, offset, length, local=0, local_offset=0, *,
        key=KEY, atomic=Atomic.SWAP, operand=0, comparand=0, wide=0, buffer=0, process=0,
    ):  # fmt: skip
        """Start a command; gives the tag to wait for."""
        self._tag += 1
        head = word(CommandWord, exposure=exposure, local=local, op=op, atomic=atomic, wide=wide, peer=peer)
        if wide:
            length, local_offset = operand >> 32, comparand >> 32
        words = (operand & MASK, comparand & MASK, head, key, offset, length, local_offset, self._tag)
        await self.write(context, command_at(process, buffer), *words)
        return self._tag

    async def end(self, context, tag, buffer=0, process=0):
        """Wait for a command's flag; gives its status."""
        at, flags = FLAG_BYTES * buffer + FLAG_AT, self.pages[process + 1 << 16]
        while int.from_bytes(flags[at : at + 3], "big") != tag:
            await context.tick()
        return Status(flags[at + 3])

    async def command(self, context, *args, buffer=0, process=0, **options):
        tag = await self.start(context, *args, buffer=buffer, process=process, **options)
        return await self.end(context, tag, buffer, process)

    def result(self, buffer=0, wide=0):
        """Return the number that the last ATOMIC of this buffer found."""
        at = WIDE_RESULT_AT if wide else RESULT_AT
        return int.from_bytes(self.pages[0x10000][FLAG_BYTES * buffer :][at:FLAG_AT], "big")

    async def rest(self, context, slots=2000):
        """Until the adapter has been idle for some slots, in which nothing has arrived."""
        quiet = 0
        for _ in range(slots):
            await context.tick()
            quiet = quiet + 1 if context.get(self.dut.idle) and not self.arriving else 0
            if quiet == 8:
                return
        raise AssertionError("the adapter does not come to rest")


class Simulated:
    """The adapters of these sides, and their bench. `seen`: of each, what it counts and what it
    raises."""

    def __init__(self, sides, slots):
        self.duts = [side.dut for side in sides]
        self.resets = [Signal(name=f"reset_{n}") for n in range(len(sides))]
        self.seen = []
        top = Module()
        for n, (dut, reset) in enumerate(zip(self.duts, self.resets, strict=True)):
            top.submodules[f"side_{n}"] = ResetInserter(reset)(dut)
            events = [Cat(one.signal for one in events) for events in (dut.counts(), dut.raises())]
            self.seen.append([Signal(len(bits), name=f"seen_{n}_{at}") for at, bits in enumerate(events)])
            top.d.comb += [seen.eq(bits) for seen, bits in zip(self.seen[-1], events, strict=True)]
        self.bench = Bench(top, slots)


def play(sides, script, *, slots=30_000, wire=None, watch=None):
    """Runs `async def script(context)` with the sides' models; `wire(context)` carries packets
    between them, `watch(context)` looks on."""
    simulated = SIMULATIONS.take(tuple(side.config for side in sides), slots, lambda: Simulated(sides, slots))
    bench = simulated.bench
    for side, dut, reset, seen in zip(sides, simulated.duts, simulated.resets, simulated.seen, strict=True):
        side.dut, side.resets, (side.happened, side.raised) = dut, reset, seen
    for side in sides:
        for model in (side.memory, side.transmits, side.receives, side.counting, side.watching):
            bench.add_background(model)
    for background in (wire, watch):
        if background is not None:
            bench.add_background(background)
    bench.add(script)
    bench.run()


__all__ = ["ALL", "BOOT", "KEY", "NIC", "PAGE", "ROUTE", "SESSION", "SMALL", "Atomic", "Op", "Side", "Status", "play"]
