"""Collectives that the adapter carries on by itself: words, addresses, ends, and the program of a group.

A process is in groups. A group's program is a list of steps. In a step the adapter sends the process's value to
another member, a COLLECT, and then takes the value that another member has sent to that step, which it combines with
its own. The last step ends the collective, and its value is written to host memory.

A collective begins when the process writes a `StartWord`, behind the value, to one of its group's lanes. In each lane
collectives are numbered, and `TURNS` in a row have cells of their own for what comes in. A member may begin one only
if all have ended the one that had its cells before. A collective that combines ends when all have begun it, so that is
so if at least one of any three in a row combines.

A SPREAD takes the same program, and of it only the steps by which one member's value reaches all: a tree. Its members
wait for nobody else.

When it has ended, its receipt stands in page 0 of the page table: the value, and a `FlagWord` with the `ended` tag of
its name.
"""

from collections.abc import Sequence
from enum import IntEnum

from ..words import NOTHING, Judged, Names, Word, judged
from .messages import RECEIPT_BYTES, RECEIPTS_AT, SLOT_WORDS, SLOTS, SLOTS_AT
from .packets import SizeWord, word
from .tables import PAGES_AT, PROCESS_BYTES, WINDOW_HOST

MOST_GROUPS = 8  # of a process
LANES = 4  # of a group: collectives that may be under way
STEPS = 16  # of a program, at most
GROUP_BITS, LANE_BITS, STEP_BITS = ((count - 1).bit_length() for count in (MOST_GROUPS, LANES, STEPS))
TURNS = 4  # of the collectives of a lane
TURN_BITS = (TURNS - 1).bit_length()
NAME_BITS = 19
VALUE_BYTES = 8
START_WORDS = 3  # the value, lower half first, and what starts it
START_BYTES = 16  # from one lane to the next
STARTS_AT = SLOTS_AT + SLOTS * SLOT_WORDS * 4  # in a process's page
STEPS_AT = 0xC00  # in a process's page: the page table of an adapter with groups ends before
MOST_PAGES = (STEPS_AT - PAGES_AT) // 4
RESULTS_AT = RECEIPTS_AT + RECEIPT_BYTES * SLOTS  # in page 0 of its page table


class Combine(IntEnum):
    """The way in which two values become one: bits, or numbers."""

    CLEAR = 0  # no collective: whatever has come for this group is forgotten, in all its lanes
    OR = 1
    AND = 2
    XOR = 3
    ADD = 4
    MIN = 5  # of numbers with a sign
    MAX = 6
    ADD_REAL = 7  # of IEEE 754 binary64: the one of the lower rank first
    SPREAD = 8  # the value of one member, which the others take


class Take(IntEnum):
    """The place of the value that comes in a step."""

    AFTER = 0  # behind the process's own: it comes from higher ranks
    BEFORE = 1
    INSTEAD = 2  # it replaces the own one


class PlaceWord(Word):
    """Fourth word of a COLLECT: the cell for which its value is, and the name of its collective."""

    _zero: 2
    step: STEP_BITS  # of the receiver's program
    turn: TURN_BITS
    lane: LANE_BITS
    group: GROUP_BITS
    name: NAME_BITS


class StartWord(Word):
    """Last word of a lane. `name`: the lower bits of what the process calls the collective, which is the same at all
    members: one that meets another name ends as MIXED, and so do all that take a value of it. Of a SPREAD, `enters`
    is the step in which the value comes, and `gives` says that the value is this member's: it sends from the first
    step on, and the others after the one in which it came."""

    combine: 4  # `Combine`
    turn: TURN_BITS
    enters: STEP_BITS
    gives: 1
    _reserved: 2
    name: NAME_BITS


class StepWord(Word):
    """A step of a program. `node`, `process` and `cell` say to whom the value goes if it `sends`, and to which of that
    one's steps; `from_node` and `from_process` from whom one comes if it `receives`."""

    node: 8
    process: 3
    cell: STEP_BITS
    from_node: 8
    from_process: 3
    take: Take
    sends: 1
    receives: 1
    last: 1
    _reserved: 1


def start_at(process: int, group: int, lane: int) -> int:
    """Offset of a lane in the host's window."""
    return WINDOW_HOST + process * PROCESS_BYTES + STARTS_AT + START_BYTES * (group * LANES + lane)


def step_at(process: int, group: int, step: int) -> int:
    """Offset of a step of a program in the host's window."""
    return WINDOW_HOST + process * PROCESS_BYTES + STEPS_AT + 4 * (group * STEPS + step)


def result_at(group: int, lane: int) -> int:
    """Offset of a lane's receipt in page 0 of the page table."""
    return RESULTS_AT + RECEIPT_BYTES * (group * LANES + lane)


def ended(name: int) -> int:
    """Return the tag of the flag of a collective that has ended. It is never 0."""
    return 1 << NAME_BITS | name


def doubling(members: Sequence[tuple[int, int]], rank: int) -> list[int]:
    """The program by which all members get the same value: partners at distance 1, 2, 4... exchange what they have.
    Ranks beyond a power of two first join a neighbour. Values are combined in the order of ranks.

    Args:
        members: by rank, the NIC of each and its process there; two at least.
    """
    size = len(members)
    core = 1 << (size.bit_length() - 1)
    paired = 2 * (size - core)  # ranks below: an even one gives its value to the next one, and gets the result

    def step(to: int | None = None, cell: int = 0, source: int | None = None, take: Take = Take.AFTER) -> int:
        node, process = (0, 0) if to is None else members[to]
        from_node, from_process = (0, 0) if source is None else members[source]
        return word(
            StepWord,
            node=node,
            process=process,
            cell=cell,
            from_node=from_node,
            from_process=from_process,
            take=take,
            sends=to is not None,
            receives=source is not None,
        )

    last = word(StepWord, last=1)
    if rank < paired and rank % 2 == 0:
        return [step(rank + 1, 0, rank + 1, Take.INSTEAD) | last]
    joins = rank < paired
    place = rank // 2 if joins else rank - paired // 2
    steps = [step(source=rank - 1, take=Take.BEFORE)] if joins else []
    for number in range(core.bit_length() - 1):
        other = place ^ 1 << number
        partner = other * 2 + 1 if other < paired // 2 else other + paired // 2
        cell = number + (partner < paired)
        steps.append(step(partner, cell, partner, Take.BEFORE if partner < rank else Take.AFTER))
    if joins:
        steps.append(step(rank - 1))
    return [*steps[:-1], steps[-1] | last]


def spread(size: int, rank: int, root: int) -> tuple[int, bool]:
    """`enters` and `gives` of a SPREAD from `root` by a program of `doubling`."""
    paired = 2 * (size - (1 << (size.bit_length() - 1)))

    def place(one: int) -> int:
        return one // 2 if one < paired else one - paired // 2

    apart = place(rank) ^ place(root)
    if rank == root and (rank >= paired or rank % 2):
        return STEPS - 1, True
    if not apart or (rank < paired and rank % 2 == 0):  # from its neighbour, to whom the value goes first
        return 0, rank == root
    return apart.bit_length() - 1 + (rank < paired), False


assert PlaceWord.fields["name"].width == StartWord.fields["name"].width
assert StepWord.fields["process"].width == SizeWord.fields["process"].width
assert STARTS_AT + START_BYTES * LANES * MOST_GROUPS <= PAGES_AT
assert STEPS_AT + 4 * STEPS * MOST_GROUPS <= PROCESS_BYTES

STAGE = "collect.Collect"
JUDGES: Judged = {
    PlaceWord: {
        "_zero": NOTHING,
        "step": judged(Names.INDEX, STAGE),
        "turn": NOTHING,
        "lane": NOTHING,
        "group": judged(Names.INDEX, STAGE),
        "name": NOTHING,
    },
    StartWord: {
        "combine": NOTHING,
        "turn": NOTHING,
        "enters": NOTHING,
        "gives": NOTHING,
        "_reserved": NOTHING,
        "name": NOTHING,
    },
    StepWord: {
        "node": judged(Names.PEER, STAGE),
        "process": judged(Names.PEER, STAGE, of="there"),
        "cell": judged(Names.INDEX, STAGE, of="there"),
        "from_node": NOTHING,
        "from_process": NOTHING,
        "take": NOTHING,
        "sends": NOTHING,
        "receives": NOTHING,
        "last": NOTHING,
        "_reserved": NOTHING,
    },
}
