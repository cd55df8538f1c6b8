"""The reference model of collectives: what the adapters keep of each lane, and what they send each other."""

import math
import struct
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from .groups import LANES, NAME_BITS, STEPS, VALUE_BYTES, Combine, StartWord, StepWord, Take, ended, result_at
from .packets import Status, word
from .reference_nic import ReferenceNic
from .tables import FlagWord

MASK = (1 << 8 * VALUE_BYTES) - 1
MIXED_NAME = (1 << NAME_BITS) - 1
QUIET, NO_NUMBER = 1 << 51, 0xFFF8 << 48
Source = tuple[int, int]  # a NIC, and a process of its host
Address = tuple[int, int, int, int]  # NIC, process, group, lane


@dataclass
class ReferenceLane:
    """A lane: its collective, which waits in a step while it is `on`, and cells by turn and step, with names and
    values that have come."""

    on: bool = False
    step: int = 0
    sent: bool = False
    mixed: bool = False
    start: StartWord = field(default_factory=lambda: StartWord.from_bits(0))
    value: int = 0
    cells: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)


@dataclass
class ReferenceGroups:
    """The groups of all processes of all NICs. `program` has each step's word, by NIC, process, group and step."""

    nics: Mapping[int, ReferenceNic]
    program: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    lanes: dict[Address, ReferenceLane] = field(default_factory=dict)

    def step(self, node: int, process: int, group: int, number: int) -> StepWord:
        return StepWord.from_bits(self.program.get((node, process, group, number), 0))

    def lane(self, at: Address) -> ReferenceLane:
        return self.lanes.setdefault(at, ReferenceLane())

    def start(self, at: Address, value: int, start: int) -> None:
        """Start a collective; all goes on that can."""
        lane, word_ = self.lane(at), StartWord.from_bits(start)
        if word_.combine == Combine.CLEAR:
            for number in range(LANES):
                self.lanes[(*at[:3], number)] = ReferenceLane(start=word_)
            self._tell((*at[:3], 0), Status.OK, 0)
            return
        lane.on, lane.step, lane.sent, lane.mixed, lane.start, lane.value = True, 0, False, False, word_, value
        self._run(at)

    def _run(self, first: Address) -> None:
        looked_at = deque([first])
        while looked_at:
            at = looked_at.popleft()
            while self.lane(at).on and self._act(at, looked_at):
                pass

    def _act(self, at: Address, looked_at: deque[Address]) -> bool:
        """Send or take the value of a step. Return whether the lane goes on."""
        lane, step = self.lane(at), self.step(*at[:3], self.lane(at).step)
        start, spreads = lane.start, lane.start.combine == Combine.SPREAD
        if step.sends and not lane.sent and (not spreads or start.gives or lane.step > start.enters):
            status = self._send(at, step, looked_at)
            if status is not Status.OK:
                lane.on = False
                self._tell(at, status, lane.step)
            lane.sent = True
            return status is Status.OK
        if step.receives and (not spreads or lane.step == start.enters):
            if (start.turn, lane.step) not in lane.cells:
                return False
            name, value = lane.cells.pop((start.turn, lane.step))
            lane.mixed |= name != start.name
            lane.value = combine(step, start, lane.value, value)
        lane.step, lane.sent, last = lane.step + 1, False, step.last or lane.step + 1 == STEPS
        if last:
            lane.on = False
            self._tell(at, Status.MIXED if lane.mixed else Status.OK, lane.value)
        return not last

    def _send(self, at: Address, step: StepWord, looked_at: deque[Address]) -> Status:
        node, process, group, number = at
        lane, config = self.lane(at), self.nics[node].config
        if step.node >= config.peers:
            return Status.INVALID
        if step.node in self.nics[node].lost:
            return Status.LOST
        there = self.step(step.node, step.process, group, step.cell)
        known = step.process < config.processes and there.receives
        if not known or (there.from_node, there.from_process) != (node, process):
            return Status.RIGHT
        target = (step.node, step.process, group, number)
        name = MIXED_NAME if lane.mixed else lane.start.name
        self.lane(target).cells[lane.start.turn, step.cell] = (name, lane.value)
        looked_at.append(target)
        return Status.OK

    def _tell(self, at: Address, status: Status, value: int) -> None:
        node, process, group, lane = at
        told = value.to_bytes(VALUE_BYTES, "big") + word(
            FlagWord, status=status, tag=ended(self.lane(at).start.name)
        ).to_bytes(4, "big")
        self.nics[node].tell_at(process, result_at(group, lane), told)


def combine(step: StepWord, start: StartWord, own: int, other: int) -> int:
    """Return what the value of a lane becomes."""
    if start.combine == Combine.SPREAD or step.take == Take.INSTEAD:
        return other
    if start.combine == Combine.ADD_REAL:
        return add_reals(other, own) if step.take == Take.BEFORE else add_reals(own, other)
    signed = sorted((own, other), key=lambda value: value - (value >> 63 << 64))
    return {
        Combine.OR: own | other,
        Combine.AND: own & other,
        Combine.XOR: own ^ other,
        Combine.ADD: own + other & MASK,
        Combine.MIN: signed[0],
        Combine.MAX: signed[1],
    }.get(start.combine, 0)


def add_reals(one: int, other: int) -> int:
    """The sum of two numbers of IEEE 754 binary64: of what is not a number the first one, quiet."""
    numbers = [struct.unpack("<d", struct.pack("<Q", value))[0] for value in (one, other)]
    for value, number in zip((one, other), numbers, strict=True):
        if math.isnan(number):
            return value | QUIET
    total = numbers[0] + numbers[1]
    return NO_NUMBER if math.isnan(total) else int(struct.unpack("<Q", struct.pack("<d", total))[0])
