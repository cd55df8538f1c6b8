"""Walked exposures at the lookup: pages from directories in host memory, and the lines that keep
them."""

import random

import pytest

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.lookup import Lookup
from lanai_hdl.remote.lookup_port import Need
from lanai_hdl.remote.packets import Status, word
from lanai_hdl.remote.reference import ReferenceExposure, ReferenceNic
from lanai_hdl.remote.tables import DIRECTORY_PAGES, DirectoryWord, PlaceWord, Rights

CONFIG = Remote(processes=2, peers=2, pages=8, payload=16)
LINES = 8
PAGE = 4096
KEY = 0x77
FIRST = 2  # entry of the page table that names an exposure's first directory
FOREIGN = 0x30000  # a page in no window that the tests use
END = 2 * DIRECTORY_PAGES * PAGE  # of the exposures: of two directories
RIGHTS = {"valid": True, "read": True, "write": True}


def entry(page, valid=1):
    return word(DirectoryWord, page=page, valid=valid)


class Host:
    """A lookup with two clients, the memory behind it, and what the reference model says of both."""

    def __init__(self):
        self.chance = random.Random(1)
        self.dut = Lookup(CONFIG, 2, LINES)
        self.model = ReferenceNic(CONFIG, windows={0: 1, 1: 2})
        self.reads = []  # bus addresses that were read for the walker
        self.stall = 0.0  # share of the slots in which the bus rests
        self.missed = 0

    async def memory(self, context):
        """Answers bursts; those of two words are the engine's."""
        bus = self.dut.bus
        while True:
            while self.chance.random() < self.stall:
                await context.tick()
            context.set(bus.burst.ready, 1)
            _, _, valid, burst = await context.tick().sample(bus.burst.valid, bus.burst.payload)
            context.set(bus.burst.ready, 0)
            for at in range(burst.words if valid else 0):
                while self.chance.random() < self.stall:
                    await context.tick()
                address = 4 * (burst.word + at)
                if burst.words == 1:
                    self.reads.append(address)
                found = self.model.read(address, 4)
                value = 0xFFFFFFFF if found is None else int.from_bytes(found, "big")
                context.set(bus.read.payload, {"data": value, "error": found is None})
                context.set(bus.read.valid, 1)
                while not (await context.tick().sample(bus.read.ready))[2]:
                    pass
                context.set(bus.read.valid, 0)

    async def engine(self, context):
        """Another part of the adapter, which reads two words now and then, and checks them."""
        port, at = self.dut.engine, PAGE * 0x10000
        while True:
            while self.chance.random() < 0.9:
                await context.tick()
            context.set(port.burst.payload, {"write": 0, "word": at >> 2, "words": 2})
            context.set(port.burst.valid, 1)
            while not (await context.tick().sample(port.burst.ready))[2]:
                pass
            context.set(port.burst.valid, 0)
            for _ in range(2):
                while self.chance.random() < self.stall:
                    await context.tick()
                context.set(port.read.ready, 1)
                valid = 0
                while not valid:
                    _, _, valid, found = await context.tick().sample(port.read.valid, port.read.payload)
                context.set(port.read.ready, 0)
                assert found.data == 0x11111111

    async def counting(self, context):
        async for _, _, missed in context.tick().sample(self.dut.missed):
            self.missed += missed

    # What the host writes.

    async def write(self, context, owner, index, value, field=None):
        dut = self.dut
        which = dut.page_write if field is None else dut.exposure_write
        for signal, content in ((dut.owner, owner), (dut.index, index), (dut.wdata, value), (dut.field, field or 0)):
            context.set(signal, content)
        context.set(which, 1)
        await context.tick()
        context.set(which, 0)

    async def set_page(self, context, owner, index, page):
        self.model.pages[owner, index] = page
        await self.write(context, owner, index, page)

    async def expose(self, context, owner, number, exposure):
        self.model.exposures[owner, number] = exposure
        rights = {name: getattr(exposure, name) for name in ("valid", "read", "write")}
        place = word(PlaceWord, key=exposure.key, page=exposure.page, walked=exposure.walked)
        for field, value in enumerate((exposure.first, exposure.end, place, word(Rights, **rights))):
            await self.write(context, owner, number, value, field)

    def put(self, directory, item, value):
        """A word of a directory."""
        page = self.model.memory.setdefault(directory, bytearray(PAGE))
        page[4 * item : 4 * item + 4] = value.to_bytes(4, "big")

    async def set_up(self, context):
        """Exposure 0 of both processes, of two directories, whose words are pages in the window."""
        context.set(self.dut.windows, [{"nibble": owner + 1, "valid": 1} for owner in range(2)])
        self.model.memory[0x10000] = bytearray(b"\x11" * PAGE)
        while not context.get(self.dut.ready):
            await context.tick()
        for owner in range(2):
            for at in range(2):
                directory = (owner + 1 << 16) + 0x100 + at
                await self.set_page(context, owner, FIRST + at, directory)
                for item in range(DIRECTORY_PAGES):
                    self.put(directory, item, entry((owner + 1 << 16) + 0x1000 * (at + 1) + item))
            exposure = ReferenceExposure(0, END, KEY, FIRST, walked=True, **RIGHTS)
            await self.expose(context, owner, 0, exposure)

    # Questions.

    async def ask(self, context, offset, *, owner=0, number=0, port=0, wanted=0):
        """(status, bus address, slots) of an access of 4 bytes."""
        client = self.dut.port(port)
        question = {"owner": owner, "exposure": number, "need": Need.READ, "key": KEY, "offset": offset, "length": 4}
        for name, value in question.items():
            context.set(getattr(client, name), value)
        context.set(client.start, 1)
        done, slots = 0, 0
        while not done:
            context.set(client.wanted, slots >= wanted)
            _, _, done, status, address = await context.tick().sample(client.done, client.status, client.address)
            context.set(client.start, 0)
            slots += 1
        return Status(status), address, slots

    def expected(self, offset, *, owner=0, number=0):
        status, address, _ = self.model.lookup(owner, number, Need.READ, KEY, offset, 4)
        return status, address

    async def check(self, context, offset, **options):
        """Ask, and compare with the model; gives the bus addresses that were read for it."""
        before = len(self.reads)
        status, address, _ = await self.ask(context, offset, **options)
        options.pop("port", None)
        options.pop("wanted", None)
        expected = self.expected(offset, **options)
        assert status is expected[0], (hex(offset), status, expected)
        if status is Status.OK:
            assert address == expected[1], (hex(offset), hex(address), hex(expected[1]))
        return self.reads[before:]

    async def empty(self, context):
        """Until no lines are left from before."""
        while not context.get(self.dut.idle):
            await context.tick()


def run(script, *, slots=30_000, engine=False, second=None):
    host = Host()

    async def whole(context):
        await host.set_up(context)
        await script(context, host)

    bench = Bench(host.dut, slots)
    for model in (host.memory, host.counting, *([host.engine] if engine else [])):
        bench.add_background(model)
    if second is not None:

        async def run_second(context):
            await second(context, host)

        bench.add_background(run_second)
    bench.add(whole)
    bench.run()
    assert host.missed == len(host.reads)
    return host


def test_a_page_is_read_once():
    async def script(context, host):
        await host.empty(context)
        for offset in (0, 5 * PAGE + 8, END - 4):
            directory, item = 0x10100 + offset // (PAGE * DIRECTORY_PAGES), offset // PAGE % DIRECTORY_PAGES
            assert await host.check(context, offset) == [directory * PAGE + 4 * item]
            assert await host.check(context, offset) == []
            assert await host.check(context, offset, port=1) == []
        _, _, slots = await host.ask(context, 0)
        assert slots == 10

    run(script)


def test_lines_with_the_same_number_take_turns():
    """Pages that differ in the tag alone: of the same directory, of another one, of another process."""

    async def script(context, host):
        await host.empty(context)
        places = [(0, 3 * PAGE), (0, (3 + LINES) * PAGE), (0, (3 + DIRECTORY_PAGES) * PAGE), (1, 3 * PAGE)]
        for _ in range(2):
            for owner, offset in places:
                assert len(await host.check(context, offset, owner=owner)) == 1

    run(script)


def test_a_write_of_one_process_leaves_the_lines_of_the_others():
    """While the lines of the process are emptied, and behind that."""

    async def script(context, host):
        await host.empty(context)
        mine, others = [(0, 1), (0, LINES - 1)], [(1, 0), (1, 3)]
        for owner, item in mine + others:
            assert len(await host.check(context, item * PAGE, owner=owner)) == 1
        await host.set_page(context, 0, 0, 0)
        for _ in range(2):
            for owner, item in others:
                assert await host.check(context, item * PAGE, owner=owner) == []
            await host.empty(context)
        for owner, item in mine:
            assert len(await host.check(context, item * PAGE, owner=owner)) == 1

    run(script)


@pytest.mark.parametrize(
    ("bad", "status"), [(entry(0x11000, valid=0), Status.PAGE), (entry(FOREIGN), Status.PAGE), (0, Status.PAGE)]
)
def test_a_bad_word_is_refused_until_it_is_good(bad, status):
    async def script(context, host):
        await host.empty(context)
        host.put(0x10100, 9, bad)
        for _ in range(2):
            await host.check(context, 9 * PAGE)
            assert host.expected(9 * PAGE)[0] is status
        host.put(0x10100, 9, entry(0x11234))
        await host.set_page(context, 0, 0, 0)
        await host.check(context, 9 * PAGE)
        assert host.expected(9 * PAGE) == (Status.OK, 0x11234 * PAGE)

    run(script)


def test_a_directory_outside_the_window_is_not_read():
    async def script(context, host):
        host.put(FOREIGN, 0, entry(0x11000))
        await host.set_page(context, 0, FIRST, FOREIGN)
        for _ in range(3):
            assert await host.check(context, 0) == []
            assert host.expected(0)[0] is Status.PAGE
            await host.empty(context)

    run(script)


def test_a_directory_that_the_host_refuses():
    async def script(context, host):
        await host.set_page(context, 0, FIRST, 0x10666)
        for _ in range(2):
            assert await host.check(context, 0) == [0x10666 * PAGE]
            assert host.expected(0)[0] is Status.BUS
            await host.empty(context)

    run(script)


def test_an_exposure_that_is_not_valid_is_not_walked():
    async def script(context, host):
        await host.check(context, 0)
        await host.write(context, 0, 0, word(Rights, valid=0), 3)
        host.model.exposures[0, 0].valid = False
        assert await host.check(context, 0) == []
        assert host.expected(0)[0] is Status.EXPOSURE

    run(script)


@pytest.mark.parametrize("stall", [pytest.param(0, marks=pytest.mark.ci), 0.6])
def test_no_stale_line_answers_after_a_write_of_the_tables(stall):
    """The tables are written at each time from the start of a question on; the next question must be
    answered by what the directory holds then. Lines 0 and 1 are the first to be emptied."""

    async def script(context, host):
        host.stall = stall
        page = 0x10000
        for delay in range(24):
            for item in (0, 1, 2, 7):
                await host.empty(context)
                if delay % 2:
                    await host.check(context, item * PAGE)  # a line, which the question below finds
                question = host.dut.port(1)
                for name, value in {
                    "owner": 0, "exposure": 0, "need": Need.READ, "key": KEY, "offset": item * PAGE, "length": 4
                }.items():  # fmt: skip
                    context.set(getattr(question, name), value)
                context.set(question.wanted, 0)
                context.set(question.start, 1)
                await context.tick()
                context.set(question.start, 0)
                for _ in range(delay):
                    await context.tick()
                page += 1
                if delay % 3:
                    directory = 0x10200 + page % 2
                    host.put(directory, item, entry(0x10000 + page % 0x1000))
                    await host.set_page(context, 0, FIRST, directory)
                else:
                    host.put(host.model.pages[0, FIRST], item, entry(0x10000 + page % 0x1000))
                    await host.write(context, 0, 5, word(Rights, valid=0), 3)
                context.set(question.wanted, 1)
                while not (await context.tick().sample(question.done))[2]:
                    pass
                for port in (0, 1, 0):
                    await host.check(context, item * PAGE, port=port)

    run(script, slots=60_000)


@pytest.mark.parametrize("stall", [0.3, *(pytest.param(stall, marks=pytest.mark.ci) for stall in (0, 0.8))])
def test_random_questions(stall):
    """Two clients ask at once, direct and walked, between bursts of another engine; then the tables are
    written."""
    asking, resting, seen = [False], [True], set()

    async def ask_any(context, host, port):
        chance = host.chance
        owner, number = chance.randrange(2), chance.choice([0, 0, 0, 1])
        offset = chance.choice([0, 1, 2, LINES, 1024, 1025]) * PAGE + chance.randrange(0, PAGE, 4)
        wanted = chance.choice([0, 0, 20, 60])
        seen.add(host.expected(offset, owner=owner, number=number)[0])
        await host.check(context, offset, owner=owner, number=number, port=port, wanted=wanted)

    async def second_client(context, host):
        while True:
            resting[0] = not asking[0]
            if asking[0]:
                await ask_any(context, host, 1)
            else:
                await context.tick()

    async def change(context, host):
        """Directories with good words and bad ones, some in another process's window, and one that the
        host refuses."""
        chance = host.chance
        owner = chance.randrange(2)
        for at in range(2):
            directory = chance.choice([owner, owner, owner, 1 - owner]) + 1 << 16 | chance.choice([0x100, 0x101, 0x102])
            for item in (0, 1, 2, LINES):
                good = owner + 1 << 16 | chance.randrange(0x300, 0x10000)
                bad = chance.choice([entry(good, valid=0), entry(FOREIGN)])
                if directory & 0xFFF != 0x102:
                    host.put(directory, item, bad if chance.random() < 0.2 else entry(good))
            await host.set_page(context, owner, FIRST + at, directory)

    async def script(context, host):
        host.stall = stall
        for owner in range(2):
            await host.set_page(context, owner, 6, owner + 1 << 16 | 0x222)
            await host.expose(context, owner, 1, ReferenceExposure(0, 2 * PAGE, KEY, 6, **RIGHTS))
        for _ in range(20):
            await change(context, host)
            asking[0] = True
            for _ in range(host.chance.choice([3, 40])):
                await ask_any(context, host, 0)
            asking[0] = False
            while not resting[0]:
                await context.tick()
        assert seen >= {Status.OK, Status.PAGE, Status.BUS, Status.RANGE}

    run(script, slots=300_000, engine=True, second=second_client)
