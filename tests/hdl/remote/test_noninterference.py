"""Two processes of each of two NICs. A random script is run twice, with other bytes of process 0: all that process 1
sees is equal, and so is the time of everything. It needs no list of the checks that protect memory."""

import random

import pytest
from pairs import first_of

from lanai_hdl.remote.packets import Order
from lanai_hdl.remote.tables import BUSY_AT, PROCESS_BYTES, WINDOW_HOST, command_at, exposure_at, page_at

from .bench import ALL, KEY, PAGE, Atomic, Op, Side, Status, play
from .test_fifo_append import CONTROL, fifo_words
from .test_session import Fabric

OTHER_KEY = 0x77  # of process 1
BUSY = WINDOW_HOST + PROCESS_BYTES + BUSY_AT  # where process 1 reads which of its buffers are in use
BUFFERS = 4  # that are used of each process
COMMANDS = 40
OWN, SHARED = 5, 2  # exposures: for the process itself, one page, and for others, three: that of a FIFO's records, one
# of data, and that of the FIFO's control words
SIZES = (1, 4, 8, 63, 64, 200)


class Story:
    """One run: `chance` draws what is done, `secrets` the bytes of process 0. `seen`: the ends of commands, each
    with its time, and what process 1 finds in memory then."""

    def __init__(self, seed, secret):
        self.chance, self.secrets = random.Random(f"script {seed}"), random.Random(f"bytes {secret}")
        self.wire = random.Random(f"wire {seed}")
        self.loss = self.chance.choice([0, 0, 0.1])
        self.sides = [Side(n, timeout=600, retries=40) for n in range(2)]
        self.slots, self.seen = 0, []

    def fate(self, words):
        self.seen.append(("packet", self.slots, len(words)))
        return [] if self.wire.random() < self.loss else [words]

    async def count(self, context):
        while True:
            await context.tick()
            self.slots += 1

    async def script(self, context):
        for side in self.sides:
            await side.boot(context)
            await side.boot_second(context)
            for process, key in ((0, KEY), (1, OTHER_KEY)):
                await side.expose(context, OWN, 0, PAGE, process=process, page=2)
                await side.expose(context, SHARED, 0, 3 * PAGE, key=key, process=process, append=1, **ALL)
                words, at = fifo_words(free=1000), CONTROL % PAGE
                side.pages[(process + 1 << 16) + 3][at : at + len(words)] = words
            side.pages[0x10002][:] = self.secrets.randbytes(PAGE)
        running = {}
        for _ in range(COMMANDS):
            await self._start(context, running)
            if self.chance.random() < 0.2:
                await self._write_tables(context)
            if self.chance.random() < 0.3:
                await context.tick().repeat(self.chance.randrange(1, 60))
            self.seen.append(("busy", self.slots, await self.sides[0].read(context, BUSY)))
        for (process, buffer), tag in running.items():
            await self._end(context, process, buffer, tag)
        for side in self.sides:
            await side.rest(context, 20_000)
            self.seen.append(side.counted())

    async def _start(self, context, running):
        """Start a random command of either process, once its buffer is free."""
        chance, process, buffer = self.chance, self.chance.randrange(2), self.chance.randrange(BUFFERS)
        if (process, buffer) in running:
            await self._end(context, process, buffer, running.pop((process, buffer)))
        op = chance.choice([Op.WRITE, Op.READ, Op.ATOMIC, Op.ATOMIC, Op.APPEND])
        key = OTHER_KEY if process else KEY
        options = {"key": chance.choice([key, key, key, 0xBAD]), "process": process, "buffer": buffer}
        length, there = chance.choice(SIZES), PAGE + 8 * chance.randrange(PAGE // 8)
        if op is Op.ATOMIC:
            source = chance if process else self.secrets
            options |= {"atomic": chance.choice(list(Atomic)), "wide": chance.randrange(2)}
            options |= {"operand": source.getrandbits(64), "comparand": source.getrandbits(64)}
        elif op is Op.WRITE:
            options["atomic"] = chance.choice(list(Order))
        offset = CONTROL if op is Op.APPEND else there + chance.choice([0, 0, 0, 1, 2])
        memory = chance.choice([OWN, OWN, OWN, OWN, 9]), chance.randrange(PAGE)
        tag = await self.sides[0].start(context, op, 1, process << 4 | SHARED, offset, length, *memory, **options)
        running[process, buffer] = tag

    async def _end(self, context, process, buffer, tag):
        status = await self.sides[0].end(context, tag, buffer, process)
        pages = [bytes(data) for side in self.sides for number, data in side.pages.items() if number >= 0x20000]
        self.seen.append((process, buffer, Status(status), self.slots, hash(tuple(pages))))

    async def _write_tables(self, context):
        """Process 1 writes its tables, and words of its commands: also such as name memory of process 0."""
        chance, side = self.chance, self.sides[0]
        at, values = chance.choice(
            [
                (page_at(1, chance.randrange(1, 8)), [0x10002, 0x20001, 0x20002, chance.getrandbits(20)]),
                (exposure_at(1, chance.randrange(8)) + 4 * chance.randrange(4), [chance.getrandbits(32), 0x3000]),
                (command_at(1, BUFFERS) + 4 * chance.randrange(7), [chance.getrandbits(32), 0x0103_0000]),
            ]
        )
        await side.write(context, at, chance.choice(values))


def run(seed, secret):
    story = Story(seed, secret)
    play(story.sides, story.script, slots=300_000, wire=Fabric(story.sides, story.fate).carry, watch=story.count)
    return story.seen


@pytest.mark.parametrize("seed", first_of(*range(12)))
def test_no_process_learns_the_bytes_of_another(seed):
    first, second = run(seed, 1), run(seed, 2)
    assert len(first) > 2 * COMMANDS
    for one, other in zip(first, second, strict=True):
        assert one == other
