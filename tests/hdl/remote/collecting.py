"""Hosts whose adapters carry on collectives: what they start, and what they are told."""

from dataclasses import replace

from lanai_hdl.remote.groups import VALUE_BYTES, Combine, StartWord, doubling, result_at, start_at, step_at
from lanai_hdl.remote.packets import Status, word
from lanai_hdl.remote.tables import FlagWord

from .bench import MASK, SMALL, Side, play
from .test_session import Fabric

COLLECTING = replace(SMALL, match_cells=2, groups=2)
NAME = 0x5A5A5


def told(page, group, lane):
    """The end of a lane's collective, and its value, as page 0 of a process's page table says. None: it goes on."""
    at = result_at(group, lane)
    flag = FlagWord.from_bits(int.from_bytes(page[at + VALUE_BYTES :][:4], "big"))
    return (Status(flag.status), int.from_bytes(page[at : at + VALUE_BYTES], "big")) if flag.tag else None


def started(combine, turn=0, name=NAME, enters=0, gives=False):
    return word(StartWord, combine=combine, turn=turn, name=name, enters=enters, gives=gives)


class Member:
    """Process `process` of a side."""

    def __init__(self, side, process=0):
        self.side, self.process = side, process
        self.name = (side.number, process)

    @property
    def page(self):
        return self.side.pages[self.process + 1 << 16]

    async def start(self, context, group, lane, value, combine=Combine.ADD, **options):
        at = result_at(group, lane)
        self.page[at : at + 12] = bytes(12)
        words = value & MASK, value >> 32 & MASK, started(combine, **options)
        await self.side.write(context, start_at(self.process, group, lane), *words)

    def ended(self, group, lane):
        return told(self.page, group, lane)

    async def end(self, context, group, lane):
        while self.ended(group, lane) is None:
            await context.tick()
        return self.ended(group, lane)

    async def load(self, context, group, steps):
        """Clear a group and give it a program."""
        await self.start(context, group, 0, 0, Combine.CLEAR)
        assert await self.end(context, group, 0) == (Status.OK, 0)
        await self.side.write(context, step_at(self.process, group, 0), *steps)

    async def join(self, context, group, members):
        names = [one.name for one in members]
        await self.load(context, group, doubling(names, members.index(self)))


def between(script, count=2, fate=lambda words: [words], *, config=COLLECTING, watch=None, slots=60_000, **options):
    """Runs `script(context, fabric, *members)`: process 0 of each side, then process 1 of each."""
    sides = [Side(n, config=config, **options) for n in range(count)]
    members = [Member(side, process) for process in range(config.processes) for side in sides]
    fabric = Fabric(sides, fate)

    async def whole(context):
        for side in sides:
            await side.boot(context)
            await side.boot_second(context)
        await script(context, fabric, *members)
        for side in sides:
            await side.rest(context, 5000)

    play(sides, whole, wire=fabric.carry, watch=watch, slots=slots)
    return sides
