"""Lab 4: the student's two ends on real cables, the one back losing flits."""

import random
from pathlib import Path
from typing import Any, NamedTuple

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.bfm import Bench, stream_put
from lanai_hdl.link.cable import Cable
from lanai_hdl.link.flit import Kind, LinkPort

from ..task import Values, Wrong
from ._gateware import ENDLESS as ENDLESS
from ._gateware import PERCENT, check_ports, loaded

COUNT_BITS = 8  # of a credit that pass the cable
REST = 8  # slots after the last word in which nothing more may come
SENDER = {"i": In(stream.Signature(32)), "link": Out(LinkPort()), "back": In(LinkPort())}
RECEIVER = {"link": In(LinkPort()), "back": Out(LinkPort()), "o": Out(stream.Signature(32))}


class Ends(NamedTuple):
    """The classes that the student has written."""

    sender: Any
    receiver: Any


def load(folder: Path) -> Ends:
    return Ends(*(loaded(folder, "credits.py", name) for name in ("CreditSender", "CreditReceiver")))


def word(number: int) -> int:
    return 0xC0DE_0000 | number


def run(ends: Ends, values: Values) -> int:
    """Send `words` over cables of `latency` slots to a queue with `room` for some. The words' source has none in
    `idle` of 100 slots, their user takes none in `pause` of 100, and `lost` of 100 credits get lost."""
    return Play(ends, values).run()


class Play:
    """One case."""

    def __init__(self, ends: Ends, values: Values) -> None:
        self.values, self.words, self.room = values, values["words"], values["room"]
        self.sender, self.receiver = ends.sender(self.room), ends.receiver(self.room)
        check_ports(self.sender, SENDER)
        check_ports(self.receiver, RECEIVER)
        self.slot = self.sent = self.taken = self.ended = 0
        self.lost = Signal()
        self.top = Module()
        there, back = Cable(values["latency"]), Cable(values["latency"])
        parts = {"sender": self.sender, "receiver": self.receiver, "there": there, "back": back}
        for name, part in parts.items():
            setattr(self.top.submodules, name, part)
        wiring.connect(self.top, self.sender.link, there.i)
        wiring.connect(self.top, there.o, self.receiver.link)
        wiring.connect(self.top, back.o, self.sender.back)
        self.top.d.comb += [
            back.i.kind.eq(Mux(self.lost, Kind.IDLE, self.receiver.back.kind)),
            back.i.data.eq(self.receiver.back.data[:COUNT_BITS]),
        ]

    def _limit(self) -> int:
        limit = float(self.words * (2 * self.values["latency"] + 16))
        for chance in ("idle", "pause", "lost"):
            limit *= PERCENT / (PERCENT - self.values[chance])
        return 200 + int(limit)

    def run(self) -> int:
        limit = self._limit()
        bench = Bench(self.top, limit)
        bench.add_background(self.watch)
        bench.add_background(self.lose)
        bench.add_background(self.put)
        bench.add(self.take)
        try:
            bench.run()
        except TimeoutError:
            text = f"after {limit} slots {self.taken} of {self.words} words have come, {self.sent} were sent"
            raise Wrong(text) from None
        return self.ended

    async def put(self, context: Any) -> None:
        words = [word(number) for number in range(self.words)]
        await stream_put(context, self.sender.i, words, idle=self.values["idle"] / PERCENT, seed=1)

    async def lose(self, context: Any) -> None:
        chance = random.Random(2)
        while True:
            context.set(self.lost, chance.randrange(PERCENT) < self.values["lost"])
            await context.tick()

    async def watch(self, context: Any) -> None:
        """Count words that are sent and taken: the difference must fit into the queue."""
        link, o = self.sender.link, self.receiver.o
        async for *_, kind, data, valid, ready, got in context.tick().sample(
            link.kind, link.data, o.valid, o.ready, o.payload
        ):
            self.slot += 1
            if kind.value == Kind.DATA.value:
                self._check_sent(data)
            if valid and ready:
                self._check_taken(got)

    def _check_sent(self, data: int) -> None:
        if data != word(self.sent):
            raise Wrong(f"slot {self.slot}: {data:#010x} is sent, expected {word(self.sent):#010x}, word {self.sent}")
        self.sent += 1
        if self.sent - self.taken > self.room:
            raise Wrong(
                f"slot {self.slot}: {self.sent} words are sent and {self.taken} taken, "
                f"but the receiver has room for {self.room}"
            )

    def _check_taken(self, got: int) -> None:
        if got != word(self.taken):
            raise Wrong(f"slot {self.slot}: word {self.taken} comes as {got:#010x}, expected {word(self.taken):#010x}")
        self.taken += 1

    async def take(self, context: Any) -> None:
        chance, o = random.Random(3), self.receiver.o
        while self.taken < self.words:
            context.set(o.ready, chance.randrange(PERCENT) >= self.values["pause"])
            await context.tick()
        self.ended = self.slot
        context.set(o.ready, 0)
        for _ in range(REST):
            await context.tick()
        if context.get(o.valid):
            raise Wrong(f"a word too many comes after all {self.words}")
