"""Adapters of which some are reset while the others go on: what ended well was carried out, once and in
order; nothing is carried out twice; and all talk to each other again."""

import random

import pytest

from lanai_hdl.remote.csr import PEER_LOST
from lanai_hdl.remote.packets import REPLY_WORDS
from lanai_hdl.remote.tables import exposure_at

from .bench import ALL, SMALL, Atomic, Op, Side, Status, play

COUNTER = 0x200  # of side n, at this offset and 8 * n more
OPTIONS = {"timeout": 400, "retries": 3}


class Fabric:
    """Carries packets by the number of the NIC for which they are. `out`: the cables are out. `holds`:
    replies are kept in `held`. `seen` has all packets, each with its target."""

    def __init__(self, sides, fate=lambda words: [words]):
        self.sides, self.fate = sides, fate
        self.out, self.holds = False, False
        self.held, self.seen = [], []

    async def carry(self, context):
        while True:
            await context.tick()
            for side in self.sides:
                while side.sent:
                    words, route = side.sent.pop(0), side.sent_along.pop(0)
                    self._carry(words, self.sides[route & 0xF])

    def _carry(self, words, target):
        self.seen.append((words, target))
        if self.out:
            return
        if self.holds and len(words) <= REPLY_WORDS + 2 and words[0] >> 24 & 0xF >= Op.ACK:
            self.held.append((words, target))
            return
        for one in self.fate(words):
            target.arrive(one)

    def let_go(self):
        self.holds = False
        for words, target in self.held:
            target.arrive(words)
        self.held.clear()


async def set_up(context, side, *, alone=False):
    await side.boot(context, alone=alone)
    await side.expose(context, 5, 0, 3 * 4096)
    await side.expose(context, 2, 0, 3 * 4096, **ALL)


def run(script, count=2, fate=lambda words: [words], **options):
    """`script(context, fabric, *sides)`; each exposes 3 pages as exposure 2 for others, and as 5 for
    itself."""
    sides = [Side(n, **{**OPTIONS, **options}) for n in range(count)]
    fabric = Fabric(sides, fate)

    async def whole(context):
        for side in sides:
            await set_up(context, side)
        await script(context, fabric, *sides)
        for side in sides:
            await side.rest(context, 5000)

    play(sides, whole, slots=120_000, wire=fabric.carry)
    return sides


async def add(context, side, peer, buffer=0):
    """Begin to add 1 to the counter of this side at a peer."""
    return await side.start(
        context, Op.ATOMIC, peer, 2, COUNTER + 8 * side.number, 4, atomic=Atomic.ADD, operand=1, buffer=buffer
    )


def counter(side, of):
    return int.from_bytes(side.dump(COUNTER + 8 * of.number, 4), "big")


async def adds(context, side, peer, count):
    """Adds, one by one: of each the status, and what it found."""
    found = []
    for _ in range(count):
        status = await side.end(context, await add(context, side, peer))
        found.append((status, side.result()))
    return found


def check_adds(found, first, last):
    """Check that the adds that ended well have each found another number, in order, within the range."""
    well = [number for status, number in found if status is Status.OK]
    assert well == sorted(set(well))
    assert all(first <= number < last for number in well)
    assert last - first >= len(well)


async def lost_peers(context, side):
    found = []
    for peer in range(SMALL.peers + 1):  # one more than there may be
        context.set(side.dut.wdata, peer)
        context.set(side.dut.set_peer, 1)
        await context.tick()
        context.set(side.dut.set_peer, 0)
        if context.get(side.dut.lost) & PEER_LOST:
            found.append(peer)
    return found


async def put(context, side, peer, data, offset=0):
    side.load(0, data)
    return await side.command(context, Op.WRITE, peer, 2, offset, len(data), 5, 0)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("before", [3, pytest.param(20, marks=pytest.mark.ci)])
def test_a_nic_that_is_reset_alone_has_nothing_end_well_that_was_not_carried_out(alone, before):
    """Without `alone` the boot claims that all were reset: then its requests are lost, and not OK."""

    async def script(context, fabric, source, target):
        for n in range(before):
            assert await put(context, source, 1, b"AAAA", 4 * n) is Status.OK
        await source.reset(context)
        await set_up(context, source, alone=alone)
        for n in range(before):
            status = await put(context, source, 1, b"BBBB", 4 * n)
            assert status is (Status.OK if alone else Status.LOST)
            assert target.dump(4 * n, 4) == (b"BBBB" if alone else b"AAAA")
        found = await adds(context, source, 1, 2)
        assert counter(target, source) == (2 if alone else 0)
        if not alone:
            assert {status for status, _ in found} == {Status.LOST}
            await source.open_session(context, 1)
            assert await put(context, source, 1, b"CCCC") is Status.OK
            assert target.dump(0, 4) == b"CCCC"

    run(script)


@pytest.mark.ci
@pytest.mark.parametrize("victim", [0, 1])
def test_a_reset_in_the_midst_of_traffic_loses_what_was_under_way_and_doubles_nothing(victim):
    """The phases are so many slots after the first of three commands."""

    async def script(context, fabric, source, target):
        sides = source, target
        for phase in range(1, 160, 12):
            first = counter(target, source)
            tags = [await add(context, source, 1, buffer) for buffer in range(3)]
            for _ in range(phase):
                await context.tick()
            await sides[victim].reset(context)
            await set_up(context, sides[victim], alone=True)
            found = []
            if victim == 1:
                found = [(await source.end(context, tag, n), source.result(n)) for n, tag in enumerate(tags)]
                statuses = [status for status, _ in found]
                assert statuses == sorted(statuses, key=lambda one: one is Status.LOST)
                if Status.LOST in statuses or (await adds(context, source, 1, 1))[0][0] is Status.LOST:
                    await source.open_session(context, 1)
                    found += await adds(context, source, 1, 3)
            else:
                found = await adds(context, source, 1, 3)
                assert {status for status, _ in found} == {Status.OK}
            check_adds(found, first, counter(target, source))
            assert first + 3 <= counter(target, source) <= first + 7

    run(script)


def test_a_peer_whose_cable_was_out_comes_back_when_the_host_asks():
    async def script(context, fabric, source, target):
        assert await put(context, source, 1, b"AAAA") is Status.OK
        fabric.out = True
        assert await put(context, source, 1, b"BBBB") is Status.LOST
        fabric.out = False
        assert await put(context, source, 1, b"CCCC") is Status.LOST, "until the host asks"
        await source.open_session(context, 1)
        assert await put(context, source, 1, b"DDDD") is Status.OK
        assert target.dump(0, 4) == b"DDDD"
        assert await put(context, target, 0, b"EEEE") is Status.OK, "the other way nothing was lost"

    run(script)


def test_what_was_sent_before_a_session_does_not_end_well_in_it():
    async def script(context, fabric, source, target):
        fabric.out = True
        source.load(0, b"AAAABBBBCCCC")
        tags = [await source.start(context, Op.WRITE, 1, 2, 4 * n, 4, 5, 4 * n, buffer=n) for n in range(3)]
        for _ in range(30):
            await context.tick()
        await source.open_session(context, 1)
        fabric.out = False
        for buffer, tag in enumerate(tags):
            assert await source.end(context, tag, buffer) is Status.LOST
        assert [status for status, _ in await adds(context, source, 1, 2)] == [Status.OK, Status.OK]
        assert target.dump(0, 12) == bytes(12)

    run(script)


def test_packets_of_earlier_sessions_do_nothing():
    """Requests and answers from before the reset come again behind it."""

    async def script(context, fabric, source, target):
        await adds(context, source, 1, 5)
        fabric.holds = True
        for buffer in range(3):
            await add(context, source, 1, buffer)
        for _ in range(150):
            await context.tick()
        old = list(fabric.seen)
        await source.reset(context)
        await set_up(context, source, alone=True)
        first = counter(target, source)
        assert first >= 6
        fabric.let_go()
        for round_ in range(4):
            tag = await add(context, source, 1)
            for words, side in old:
                side.arrive(words)
            assert await source.end(context, tag) is Status.OK
            assert source.result() == first + round_
            assert counter(target, source) == first + round_ + 1

    run(script)


def test_what_may_have_been_carried_out_is_not_sent_to_the_next_boot():
    async def script(context, fabric, source, target):
        fabric.holds = True
        tag = await add(context, source, 1)
        while counter(target, source) == 0:
            await context.tick()
        await target.reset(context)
        await set_up(context, target, alone=True)
        fabric.held.clear()
        fabric.holds = False
        assert await source.end(context, tag) is Status.LOST
        assert counter(target, source) == 1

    run(script)


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_put_whose_memory_is_concealed_fails_unless_it_was_carried_out(lost):
    """Its first packet, or the answer to that, is lost; what is sent again is a NOP."""

    async def script(context, fabric, source, target):
        fabric.out, fabric.holds = lost == "request", True
        source.load(0, b"AAAABBBB")
        tag = await source.start(context, Op.WRITE, 1, 2, 0, 4, 5, 0)
        behind = await source.start(context, Op.WRITE, 1, 2, 4, 4, 6, 4, buffer=1)
        for _ in range(150):
            await context.tick()
        fabric.held.clear()
        fabric.out = fabric.holds = False
        await source.write(context, exposure_at(0, 5) + 12, 0)  # not valid
        assert await source.end(context, tag) is (Status.EXPOSURE if lost == "request" else Status.OK)
        assert await source.end(context, behind, 1) is Status.EXPOSURE, "of no memory from the first"
        assert target.dump(0, 8) == (bytes(8) if lost == "request" else b"AAAA" + bytes(4))
        assert source.counts["REMOTE_FAILED"] >= 2
        await source.expose(context, 5, 0, 4096)
        assert await put(context, source, 1, b"CCCC") is Status.OK

    run(script)


def test_a_put_whose_memory_comes_back_is_not_read_again():
    """It went out as a NOP, which was lost: what is sent again is one too."""

    async def script(context, fabric, source, target):
        fabric.out = True
        source.load(0, b"AAAA")
        await source.write(context, exposure_at(0, 5) + 12, 0)  # not valid
        tag = await source.start(context, Op.WRITE, 1, 2, 0, 4, 5, 0)
        await context.tick().repeat(150)
        assert source.counts["REMOTE_PACKETS"] == source.counts["REMOTE_FAILED"] == 1
        await source.expose(context, 5, 0, 4096)
        fabric.out = False
        assert await source.end(context, tag) is Status.EXPOSURE
        assert source.counts["REMOTE_TIMEOUTS"] == 1
        assert source.reads == []
        assert target.dump(0, 4) == bytes(4)

    run(script)


def test_a_put_that_is_answered_while_it_fails_to_be_sent_again_ends_well():
    """The answer to the first packet comes in any slot about the one in which the second fails."""

    async def script(context, fabric, source, target):
        async def answered(slots):
            """Give the answer so many slots after it was sent, or when the time is over; return those slots."""
            await source.expose(context, 5, 0, 4096)
            fabric.holds = True
            tag = await source.start(context, Op.WRITE, 1, 2, 0, 4, 5, 0)
            while not fabric.held:
                await context.tick()
            await source.write(context, exposure_at(0, 5) + 12, 0)  # not valid
            timeouts, waited = source.counts["REMOTE_TIMEOUTS"], 0
            while waited != slots and source.counts["REMOTE_TIMEOUTS"] == timeouts:
                await context.tick()
                waited += 1
            fabric.let_go()
            assert await source.end(context, tag) is Status.OK
            await context.tick().repeat(200)  # until no packet is on its way
            return waited

        longest = await answered(None)
        failed = source.counts["REMOTE_FAILED"]
        for before in range(1, 24):
            await answered(longest - before)
        assert failed < source.counts["REMOTE_FAILED"] < failed + 23

    run(script)


def test_each_peer_that_is_lost_is_named_until_it_is_opened():
    async def script(context, fabric, source, *others):
        fabric.out = True
        tags = [await add(context, source, peer, buffer=peer) for peer in (1, 2)]
        for peer, tag in zip((1, 2), tags, strict=True):
            assert await source.end(context, tag, peer) is Status.LOST
        fabric.out = False
        assert await lost_peers(context, source) == [1, 2]
        await source.open_session(context, 2)
        assert await lost_peers(context, source) == [1]
        assert [status for status, _ in await adds(context, source, 2, 1)] == [Status.OK]

    run(script, 3)


def test_both_nics_are_reset():
    async def script(context, fabric, source, target):
        assert await put(context, source, 1, b"AAAA") is Status.OK
        await add(context, source, 1)
        for _ in range(30):
            await context.tick()
        for side in (source, target):
            await side.reset(context)
        for side in (source, target):
            await set_up(context, side)
        assert await put(context, source, 1, b"BBBB") is Status.OK
        assert await put(context, target, 0, b"CCCC") is Status.OK
        assert (target.dump(0, 4), source.dump(0, 4)) == (b"CCCC", b"CCCC")

    run(script)


@pytest.mark.ci
def test_two_nics_go_on_while_a_third_is_reset():
    async def script(context, fabric, *sides):
        first, second, third = sides
        found = [[], []]
        for round_ in range(6):
            others = [await add(context, side, 2, buffer=1) for side in (first, second)]
            tags = [await add(context, first, 1), await add(context, second, 0)]
            if round_ % 2:
                await third.reset(context)
                await set_up(context, third, alone=True)
            for n, side in enumerate((first, second)):
                found[n].append((await side.end(context, tags[n]), side.result()))
                if await side.end(context, others[n], 1) is Status.LOST:
                    await side.open_session(context, 2)
            assert [status for status, _ in await adds(context, third, 0, 1)] == [Status.OK]
        for n in range(2):
            assert found[n] == [(Status.OK, number) for number in range(6)]
        assert counter(first, third) == 6

    run(script, 3)


@pytest.mark.ci
@pytest.mark.parametrize("resets", [1, 7, 8, 15, 16, 17, 40])
def test_however_often_it_was_reset_without_a_word_to_its_peer(resets):
    async def script(context, fabric, source, target):
        await adds(context, source, 1, 3)
        for _ in range(resets):
            await source.reset(context)
        await set_up(context, source, alone=True)
        assert await adds(context, source, 1, 3) == [(Status.OK, number) for number in (3, 4, 5)]

    run(script)


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(3))
def test_random_resets_over_a_wire_that_loses_doubles_and_delays(seed):
    chance = random.Random(seed)
    late = []

    def fate(words):
        come = [one for one in late if chance.random() < 0.3]
        for one in come:
            late.remove(one)
        if chance.random() < 0.2:
            late.append(words)
        return [*come, *[words] * chance.choice([0, 1, 1, 1, 1, 1, 1, 2])]

    async def script(context, fabric, source, target):
        sides, limbo, well, last = (source, target), 0, 0, -1
        for _ in range(20):
            tags = [await add(context, source, 1, buffer) for buffer in range(3)]
            for _ in range(chance.randrange(150)):
                await context.tick()
            victim = chance.choice([None, None, *sides])
            if victim is not None:
                late.clear() if chance.random() < 0.5 else None
                await victim.reset(context)
                await set_up(context, victim, alone=True)
            if victim is source:
                limbo += len(tags)
                continue
            for buffer, tag in enumerate(tags):
                status = await source.end(context, tag, buffer)
                if status is Status.OK:
                    assert source.result(buffer) > last
                    last, well = source.result(buffer), well + 1
                else:
                    limbo += 1
            if status is Status.LOST:
                await source.open_session(context, 1)
        assert well <= counter(target, source) <= well + limbo
        assert well > 5

    run(script, fate=fate, retries=6)
