"""Collectives that adapters carry on: by the packets between them."""

import random
import struct

import pytest
from pairs import first_of

from lanai_hdl.remote.groups import (
    LANES,
    STEPS,
    TURNS,
    Combine,
    PlaceWord,
    StepWord,
    doubling,
    spread,
    start_at,
    step_at,
)
from lanai_hdl.remote.packets import word
from lanai_hdl.remote.reference_groups import ReferenceGroups
from lanai_hdl.remote.reference_nic import ReferenceNic

from .bench import PAGE, Op, Status
from .collecting import COLLECTING, NAME, between, started, told
from .test_bad_packets import request

LARGE = 0x123456789ABCDEF


async def ends(context, members, group=0, lane=0):
    return [await one.end(context, group, lane) for one in members]


@pytest.mark.parametrize(("count", "sides"), first_of((3, 2), (2, 2), (4, 2), (5, 4), (8, 4)))
def test_all_members_get_the_sum_once_the_last_has_begun(count, sides):
    async def script(context, fabric, *all_members):
        members = all_members[:count]
        for one in members:
            await one.join(context, 1, members)
        for one in members[1:]:
            await one.start(context, 1, 2, LARGE + one.side.number)
        for _ in range(500):
            await context.tick()
        assert all(one.ended(1, 2) is None for one in members)
        await members[0].start(context, 1, 2, LARGE)
        total = sum(LARGE + one.side.number for one in members) % (1 << 64)
        assert await ends(context, members, 1, 2) == [(Status.OK, total)] * count

    played = between(script, sides)
    assert sum(side.counts["REMOTE_PASSED"] for side in played) == 2 * count


def test_values_are_combined():
    reals = [struct.unpack("<Q", struct.pack("<d", number))[0] for number in (0.1, 0.2, 0.1 + 0.2)]
    low, high = 0x0123456789ABCDEF, 0xFEDCBA9800000003
    expected = {
        Combine.OR: low | high,
        Combine.AND: low & high,
        Combine.XOR: low ^ high,
        Combine.ADD: low + high,
        Combine.MIN: high,
        Combine.MAX: low,
    }

    async def script(context, fabric, one, other, *others):
        for member in (one, other):
            await member.join(context, 0, [one, other])
        cases = [(combine, low, high, value % (1 << 64)) for combine, value in expected.items()]
        for turn, (combine, own, its, value) in enumerate([*cases, (Combine.ADD_REAL, *reals)]):
            await one.start(context, 0, 0, own, combine, turn=turn % 2)
            await other.start(context, 0, 0, its, combine, turn=turn % 2)
            assert await ends(context, (one, other)) == [(Status.OK, value)] * 2, combine

    between(script)


def test_a_member_may_begin_the_next_one_before_others_have_begun_this_one():
    async def script(context, fabric, one, other, *others):
        for member in (one, other):
            await member.join(context, 0, [one, other])
        for lane in range(LANES):
            await one.start(context, 0, lane, 1 + lane)
        for lane in reversed(range(LANES)):
            await other.start(context, 0, lane, 10)
            assert await ends(context, (one, other), lane=lane) == [(Status.OK, 11 + lane)] * 2
        await one.start(context, 0, 0, 1, turn=1)
        await other.start(context, 0, 0, 2, turn=1)
        assert await one.end(context, 0, 0) == (Status.OK, 3)
        await one.start(context, 0, 0, 3)  # the other one may not have looked yet
        assert await other.end(context, 0, 0) == (Status.OK, 3)
        await other.start(context, 0, 0, 4)
        assert await ends(context, (one, other)) == [(Status.OK, 7)] * 2

    between(script)


def test_calls_that_do_not_fit_end_at_all_members_that_wait():
    """Also at those to whom only values of their own name would have come."""

    async def script(context, fabric, *all_members):
        members = all_members[:6]
        for one in members:
            await one.join(context, 0, members)
        for odd in (0, 3):
            for n, one in enumerate(members):
                await one.start(context, 0, 0, n, turn=odd % 2, name=n == odd)
            assert [status for status, _ in await ends(context, members)] == [Status.MIXED] * 6
        for one in members:
            await one.start(context, 0, 0, 1, turn=2)
        assert await ends(context, members) == [(Status.OK, 6)] * 6

    between(script, 4)


@pytest.mark.parametrize("count", [2, 3, 6])
def test_a_value_spreads_to_all_members_while_others_have_not_begun(count):
    """From each root. Nobody waits for those to whom it sends, but a root for its neighbour beyond a power of two."""

    async def script(context, fabric, *all_members):
        members = all_members[:count]
        for one in members:
            await one.join(context, 0, members)
        for root, chosen in enumerate(members):
            turn, apart = root % TURNS, root < 2 * (count - (1 << count.bit_length() - 1)) and root % 2 == 0
            ways = [spread(count, rank, root) for rank in range(count)]

            async def begin(*ranks, turn=turn, root=root, ways=ways):
                for rank in ranks:
                    enters, gives = ways[rank]
                    value = LARGE + root if gives else rank
                    how = {"turn": turn, "enters": enters, "gives": gives}
                    await members[rank].start(context, 0, 0, value, Combine.SPREAD, **how)

            await begin(root, *([root + 1] if apart else []))
            assert await chosen.end(context, 0, 0) == (Status.OK, LARGE + root)
            await begin(*(rank for rank in range(count) if rank != root and not (apart and rank == root + 1)))
            assert await ends(context, members) == [(Status.OK, LARGE + root)] * count
        assert all(side.counts["REMOTE_REFUSED"] == 0 for side in fabric.sides)

    between(script, max(2, (count + 1) // 2))


def test_a_spread_of_another_name_is_told_and_told_on():
    async def script(context, fabric, *members):
        for one in members:
            await one.join(context, 0, members)
        for rank, one in enumerate(members):
            enters, gives = spread(4, rank, 0)
            await one.start(context, 0, 0, rank, Combine.SPREAD, enters=enters, gives=gives, name=rank == 1)
        found = await ends(context, members)
        assert [status for status, _ in found] == [Status.OK, Status.MIXED, Status.OK, Status.MIXED]  # 0 -> 1 -> 3

    between(script)


def test_three_in_a_row_may_be_ahead_of_a_member_that_is_late():
    """A SPREAD, another one, and one that combines, which waits for it: each has cells of its own."""

    async def script(context, fabric, *members):
        for one in members:
            await one.join(context, 0, members)

        async def begin(rank, turn):
            enters, gives = spread(4, rank, 0)
            combine = Combine.ADD if turn == 2 else Combine.SPREAD
            value = 1 if turn == 2 else LARGE + turn
            await members[rank].start(context, 0, 0, value, combine, turn=turn, enters=enters, gives=gives, name=turn)

        for rank in range(3):
            for turn in range(2):
                await begin(rank, turn)
                assert await members[rank].end(context, 0, 0) == (Status.OK, LARGE + turn)
            await begin(rank, 2)
        for turn in range(2):
            await begin(3, turn)
            assert await members[3].end(context, 0, 0) == (Status.OK, LARGE + turn)
        await begin(3, 2)
        assert await ends(context, members) == [(Status.OK, 4)] * 4

    between(script)


def test_a_value_is_taken_only_from_the_member_that_the_program_names():
    """And for a program that there is: strangers change nothing, and are told."""

    async def script(context, fabric, one, other, second, fourth):
        for member in (one, other):
            await member.join(context, 0, [one, other])
        await one.start(context, 0, 0, 1)
        before = {page: bytes(content) for page, content in one.side.pages.items()}
        bad = (
            {"node": 2},
            {"process": 1},
            {"step": 1, "node": 0},
            {"group": 1},
            {"group": 2},
            {"group": 3},
            {"owner": 1},
            {"owner": 2},
            {"owner": 9},
        )
        for sequence, change in enumerate(bad):
            one.side.arrive(contribution(sequence, **change))
        for _ in range(1500):
            await context.tick()
        assert one.ended(0, 0) is None
        assert {page: bytes(content) for page, content in one.side.pages.items()} == before
        replies = [words for words, to in fabric.seen if to is other.side and len(words) == 2]
        assert [words[1] & 0xF for words in replies] == [Status.RIGHT] * 9
        one.side.arrive(contribution(len(bad), value=41))
        assert await one.end(context, 0, 0) == (Status.OK, 42)

    sides = between(script)
    assert sides[0].counts["REMOTE_REFUSED"] == 9


def contribution(sequence, node=1, process=0, step=0, group=0, owner=0, value=7):
    """A COLLECT from NIC 1 for lane 0 of NIC 0, in a session that begins with it."""
    place = word(PlaceWord, step=step, group=group, name=NAME)
    words = request(Op.COLLECT, sequence, exposure=owner << 4, offset=place, length=8, source=1, data=[value, 0])
    size = words[2] & ~(0x7FF << 21) | node << 21 | process << 29
    return [words[0], words[1], size, *words[3:]]


def test_a_step_may_name_no_nic_that_there_is_not():
    async def script(context, fabric, one, *others):
        await one.load(context, 0, [word(StepWord, last=1), word(StepWord, node=200, sends=1, last=1)])
        await one.start(context, 0, 0, 5)
        assert await one.end(context, 0, 0) == (Status.OK, 5)
        await one.load(context, 0, [0, word(StepWord, node=200, sends=1, last=1)])
        await one.start(context, 0, 0, 5)
        assert await one.end(context, 0, 0) == (Status.INVALID, 1)

    between(script)


def test_a_program_without_an_end_ends():
    """So it holds up no other process."""

    async def script(context, fabric, one, other, *others):
        for member in (one, other):
            await member.load(context, 0, [0] * STEPS)
            await member.start(context, 0, 0, 5)
        assert await ends(context, (one, other)) == [(Status.OK, 5)] * 2

    between(script)


def test_a_collective_that_needs_a_lost_peer_ends_with_its_step():
    async def script(context, fabric, one, other, *others):
        members = [one, other]
        for member in members:
            await member.join(context, 0, members)
        await one.start(context, 0, 1, 1, turn=1)
        await other.start(context, 0, 1, 1, turn=1)
        assert await ends(context, members, lane=1) == [(Status.OK, 2)] * 2
        fabric.out = True
        await one.start(context, 0, 0, 1)
        await one.start(context, 0, 1, 1)
        assert [await one.end(context, 0, lane) for lane in (0, 1)] == [(Status.LOST, 0)] * 2
        assert await one.side.command(context, Op.NOP, 0, 0, 0, 0) is Status.OK  # it is no command's end

    between(script, timeout=200, retries=1)


def test_a_loss_of_before_ends_nothing():
    """A member that only sends in its last step ends before its value has arrived."""

    async def script(context, fabric, one, other, *others):
        await one.load(context, 0, [word(StepWord, node=1, sends=1, last=1), word(StepWord, last=1)])
        await other.load(context, 0, [word(StepWord, from_node=0, receives=1, last=1)])
        fabric.out = True
        await one.start(context, 0, 0, 1)
        assert await one.end(context, 0, 0) == (Status.OK, 1)
        waits = word(StepWord, from_node=1, receives=1, last=1)
        await one.side.write(context, step_at(0, 0, 0), waits)
        await one.start(context, 0, 0, 1, turn=1)
        for _ in range(1500):
            await context.tick()
        assert one.side.counts["REMOTE_TIMEOUTS"] > 1
        assert one.ended(0, 0) is None

    between(script, timeout=200, retries=1)


def test_a_group_that_is_cleared_has_nothing_of_before():
    async def script(context, fabric, one, other, *others):
        members = [one, other]
        for member in members:
            await member.join(context, 0, members)
        await one.start(context, 0, 3, 1, name=1)
        await one.start(context, 0, 2, 1, turn=1)
        await other.start(context, 0, 2, 5, name=7, turn=1)
        for _ in range(500):
            await context.tick()
        for member in members:
            await member.join(context, 0, members)
        for lane in (2, 3):
            await other.start(context, 0, lane, 2, name=1, turn=1)
        for _ in range(500):
            await context.tick()
        assert all(other.ended(0, lane) is None for lane in (2, 3))
        for lane in (2, 3):
            await one.start(context, 0, lane, 3, name=1, turn=1)
            assert await ends(context, members, lane=lane) == [(Status.OK, 5)] * 2

    between(script)


def test_what_is_written_beside_the_lanes_is_a_fault():
    async def script(context, fabric, one, *others):
        await one.side.write(context, start_at(0, COLLECTING.groups, 0), 1)

    sides = between(script)
    assert sides[0].counts["REMOTE_FAULTS"] == 1


@pytest.mark.ci
def test_a_collective_goes_on_while_its_nic_serves_others():
    """Values are right, and commands and messages end, whatever is under way at once."""

    async def script(context, fabric, one, other, *others):
        members = [one, other, *others]
        for member in members:
            await member.join(context, 0, members)
            await member.side.expose(context, 2, 0, PAGE, process=member.process, write=1, page=1)
        for turn in range(2):
            tags = [
                await m.side.start(context, Op.WRITE, 1 - m.side.number, 2, 0, 60, 2, 128, process=m.process)
                for m in members
            ]
            for n, member in enumerate(members):
                await member.start(context, 0, 0, n << turn, turn=turn % 2)
            assert await ends(context, members) == [(Status.OK, 6 << turn)] * 4
            for member, tag in zip(members, tags, strict=True):
                assert await member.side.end(context, tag, process=member.process) is Status.OK

    between(script)


class Story:
    """Random collectives of random groups, on the gateware and on the model: all ends and values are equal. Wires
    lose and double packets, and the hosts' memory is slow."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.loss = self.chance.choice([0.05, 0.2])
        self.turns = {}

    def fate(self, words):
        drawn = self.chance.random()
        return [] if drawn < self.loss else [words] * (2 if drawn < 2 * self.loss else 1)

    async def script(self, context, fabric, *members):
        chance, sides = self.chance, fabric.sides
        model = ReferenceGroups({side.number: model_of(side) for side in sides})
        groups = [chance.sample(members, chance.randrange(2, len(members) + 1)) for _ in range(2)]
        for group, chosen in enumerate(groups):
            names = [one.name for one in chosen]
            for rank, one in enumerate(chosen):
                await one.join(context, group, chosen)
                model.program |= {(*one.name, group, n): step for n, step in enumerate(doubling(names, rank))}
        for turn in range(4):
            lanes = [(group, lane) for group in range(2) for lane in chance.sample(range(LANES), 2)]
            calls = [(one, *lane) for lane in lanes for one in groups[lane[0]]]
            chance.shuffle(calls)
            combines = {lane: chance.choice([Combine.SPREAD, *[*Combine][1:]]) for lane in lanes}
            roots = {lane: chance.randrange(len(groups[lane[0]])) for lane in lanes}
            for one, *lane in calls:
                members = groups[lane[0]]
                enters, gives = spread(len(members), members.index(one), roots[*lane])
                value = chance.getrandbits(64)
                options = {"turn": self.turns.get((*lane,), 0), "name": turn, "enters": enters, "gives": gives}
                await one.start(context, *lane, value, combines[*lane], **options)
                model.start((*one.name, *lane), value, started(combines[*lane], **options))
                for _ in range(chance.choice([0, 0, 20, 300])):
                    await context.tick()
            for one, *lane in calls:
                page = model.nics[one.side.number].memory[one.process + 1 << 16]
                assert await one.end(context, *lane) == told(page, *lane)
            self.turns |= {lane: (self.turns.get(lane, 0) + 1) % TURNS for lane in lanes}


def model_of(side):
    pages = {(process, n): (process + 1 << 16) + n for process in range(2) for n in range(4)}
    memory = {page: bytearray(content) for page, content in side.pages.items()}
    return ReferenceNic(side.config, memory, windows={0: 1, 1: 2}, pages=pages)


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(4))
def test_random_collectives_are_those_of_the_reference(seed):
    story = Story(seed)
    between(
        story.script,
        3,
        story.fate,
        timeout=400,
        retries=60,
        slots=300_000,
        slow=lambda: story.chance.choice([0, 0, 0, 9]),
    )


@pytest.mark.ci
def test_a_reset_in_the_midst_forgets_programs_and_collectives():
    async def script(context, fabric, one, other, *others):
        members = [one, other]
        for member in members:
            await member.join(context, 0, members)
        for delay in (20, 50, 90):
            await one.start(context, 0, 0, 1)
            await other.start(context, 0, 0, 2)
            for _ in range(delay):
                await context.tick()
            await other.side.reset(context)
            await other.side.boot(context, alone=True)
            await one.side.open_session(context, 1)
            await one.side.rest(context, 5000)
            for member in members:
                await member.join(context, 0, members)
            for member in members:
                await member.start(context, 0, 0, 5)
            assert await ends(context, members) == [(Status.OK, 10)] * 2

    between(script, timeout=200, retries=2)
