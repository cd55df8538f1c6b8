"""A receiver's state of its senders."""

import random

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import WINDOW, Status
from lanai_hdl.remote.receive_order import OWNERS, Place, ReceiveOrder

SMALL = Remote(processes=2, peers=2, pages=4, payload=16)
NUMBERS = 1 << 16


class Asker:
    """Shows requests to a `ReceiveOrder`, and knows what it must answer."""

    def __init__(self, context, dut):
        self.context, self.dut = context, dut
        self.done = [{}, {}]  # outcomes by number from 0 on, of each sender
        self.expected = [0, 0]

    async def ready(self):
        while not self.context.get(self.dut.ready):
            await self.context.tick()

    async def ask(self, source, number, status=Status.OK, result=0):
        """Its place; it stands until the next request."""
        context, dut = self.context, self.dut
        for signal, value in (
            (dut.source, source), (dut.sequence, number % NUMBERS), (dut.outcome, status), (dut.atomic, 1),
            (dut.result, result),
        ):  # fmt: skip
            before = context.get(dut.place), context.get(dut.status)
            context.set(signal, value)
            assert (context.get(dut.place), context.get(dut.status)) == before, "from registers"
        slots = 0
        while context.get(dut.catching_up):
            await context.tick()
            slots += 1
        assert slots < WINDOW
        for _ in range(2):  # the place stands in the slot after the next, all else in the next
            await context.tick()
        return Place(context.get(dut.place))

    async def accept(self, source, number, outcome):
        self.context.set(self.dut.accept, 1)
        await self.context.tick()
        self.context.set(self.dut.accept, 0)
        self.done[source][number] = outcome
        while self.expected[source] in self.done[source]:
            self.expected[source] += 1

    def place(self, source, number):
        ahead = number - self.expected[source]
        if ahead == 0:
            return Place.NEXT
        if (number >= 0 and -WINDOW <= ahead < 0) or (0 < ahead < WINDOW and number in self.done[source]):
            return Place.DUPLICATE
        return Place.EARLY if 0 < ahead < WINDOW else Place.AHEAD


def run(script):
    dut = ReceiveOrder(SMALL)
    bench = Bench(dut, 60_000)

    async def play(context):
        asker = Asker(context, dut)
        await asker.ready()
        await script(context, asker)

    bench.add(play)
    bench.run()


def test_each_request_is_next_once_and_a_duplicate_for_as_long_as_it_may_come_again():
    chance = random.Random(5)

    async def script(context, asker):
        for _ in range(3000):
            source = chance.randrange(2)
            distance = chance.choice([0, 0, 0, 1, 2, -1, -2, -WINDOW, -WINDOW - 1, 300, chance.randrange(1 << 15)])
            number = asker.expected[source] + distance
            outcome = chance.choice(list(Status)), chance.getrandbits(32)
            place = await asker.ask(source, number, *outcome)
            assert place == asker.place(source, number)
            if place is Place.DUPLICATE and number in asker.done[source]:
                assert context.get(asker.dut.status) == asker.done[source][number][0]
                if distance == -1:
                    assert context.get(asker.dut.value) == asker.done[source][number][1]
            if place is Place.NEXT:
                await asker.accept(source, number, outcome)
            else:
                await context.tick()
        assert min(asker.expected) > 300

    run(script)


def test_numbers_below_the_first_were_not_carried_out():
    """Numbers of a sender that has some about to come round, when its receiver was powered up alone."""

    async def script(context, asker):
        for count in range(2 * WINDOW):
            for number in (-1, -WINDOW, count - WINDOW, count - 1):
                assert await asker.ask(0, number) is asker.place(0, number)
            assert await asker.ask(0, count) is Place.NEXT
            await asker.accept(0, count, (Status.OK, 0))

    run(script)


def test_each_request_within_the_window_is_early_once():
    """Random requests of two senders, carried out at once if they are next or early; some are not."""
    chance, seen = random.Random(6), dict.fromkeys(list(Place)[:4], 0)

    async def script(context, asker):
        for _ in range(6000):
            source = chance.randrange(2)
            number = max(0, asker.expected[source] + chance.randrange(-3, WINDOW + 2))
            outcome = chance.choice(list(Status)), 0
            place = await asker.ask(source, number, *outcome)
            assert place == asker.place(source, number)
            seen[place] += 1
            if place is Place.DUPLICATE and number + WINDOW not in asker.done[source]:
                assert context.get(asker.dut.status) == asker.done[source][number][0]
            if place in (Place.NEXT, Place.EARLY) and chance.random() < 0.9:
                await asker.accept(source, number, outcome)
        assert min(asker.expected) > 700
        assert min(seen.values()) > 200

    run(script)


def test_a_process_is_marked_until_it_is_unmarked():
    """Random requests of two senders, some early; each is of one of their processes."""
    chance = random.Random(7)

    async def script(context, asker):
        dut, marked = asker.dut, set()
        for _ in range(2000):
            source, owner = chance.randrange(2), chance.randrange(OWNERS)
            context.set(dut.owner, owner)
            number = asker.expected[source] + chance.choice([0, 0, 1, 2])
            place = await asker.ask(source, number)
            assert context.get(dut.marked) == ((source, owner) in marked)
            change = chance.choice(["mark", "unmark", "neither"])
            context.set(dut.mark, change == "mark")
            context.set(dut.unmark, change == "unmark")
            if place is Place.DUPLICATE:
                continue
            await asker.accept(source, number, (Status.OK, 0))
            marked |= {(source, owner)} if change == "mark" else set()
            marked -= {(source, owner)} if change == "unmark" else set()
        assert marked

    run(script)


def test_when_the_missing_one_has_come_all_that_came_before_it_are_passed():
    async def script(context, asker):
        for number in range(1, WINDOW):
            assert await asker.ask(0, number) is Place.EARLY
            await asker.accept(0, number, (Status.OK, 0))
        assert await asker.ask(0, WINDOW) is Place.AHEAD, "too far"
        assert await asker.ask(0, 0) is Place.NEXT
        await asker.accept(0, 0, (Status.OK, 0))
        assert await asker.ask(1, 0) is Place.NEXT, "the other sender's do not wait"
        assert await asker.ask(0, WINDOW) is Place.NEXT

    run(script)
