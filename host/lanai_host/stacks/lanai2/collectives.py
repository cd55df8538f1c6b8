"""Collectives that the NICs carry on: of each group of ranks, a queue for each lane."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lanai_hdl.remote import groups as hardware
from lanai_hdl.remote.packets import Status, word

from ...adapter.groups import Groups
from ...adapter.matching import Source
from ...adapter.operation import REASONS
from ...bus.base import Watched
from ...config import HostCost
from ...device import Collectives, Combine, Combined
from ...host_model.meter import Meter, fail
from ...operation import ErrorKind

COMBINES = {one: hardware.Combine[one.name] for one in Combine}


class Call(NamedTuple):
    """A collective: of a SPREAD, also the step in which the value comes, or that it is this member's."""

    operation: Combined
    name: int
    combine: hardware.Combine
    value: int
    enters: int = 0
    gives: bool = False


@dataclass
class Lane:
    """Collectives that wait, oldest first: the first one is `running` on the NIC. `turn` is that of the next one,
    `spreads` the number of the last ones in a row in which members need not wait for each other."""

    waiting: deque[Call] = field(default_factory=deque)
    open: bool = False
    running: bool = False
    turn: int = 0
    spreads: int = 0


@dataclass
class Group:
    """Ranks, and their lanes. After a loss nothing of it succeeds: the `error`, and its kind."""

    members: Sequence[int]
    lanes: list[Lane] = field(default_factory=lambda: [Lane() for _ in range(hardware.LANES)])
    error: str = ""
    kind: ErrorKind = ErrorKind.PEER_FAILED


class Lanai2Collectives(Collectives):
    """The groups of a rank.

    Args:
        most: groups that the adapter has for a process.
        silent: called with a peer whose NIC does not take what this one has sent, and why.

    Attributes:
        ended: collectives that have ended.
    """

    def __init__(
        self,
        rank: int,
        groups: Groups,
        most: int,
        places: Mapping[int, Source],
        meter: Meter,
        silent: Callable[[int, str], None],
    ) -> None:
        self._rank = rank
        self._hardware = groups
        self._most = most
        self._places = places
        self._meter = meter
        self._silent = silent
        self._groups: dict[int, Group] = {}
        self._running: list[tuple[int, int, Lane]] = []
        self._lost: dict[int, str] = {}
        self.ended = 0

    def takes(self, number: int, members: Sequence[int]) -> bool:
        return number < self._most and len(members) > 1

    def join(self, number: int, members: Sequence[int]) -> None:
        lost = next((text for rank, text in self._lost.items() if rank in members), "")
        self._groups[number] = Group(members, error=lost)
        self._running = [entry for entry in self._running if entry[0] != number]
        if not lost:
            self._hardware.join(number, [self._places[rank] for rank in members], members.index(self._rank))

    def open(self, number: int, lane: int) -> None:
        self._groups[number].lanes[lane].open = True
        self._advance(number, lane)

    def combine(self, number: int, lane: int, name: int, combine: Combine, value: int) -> Combined:
        self._groups[number].lanes[lane].spreads = 0
        return self._begin(number, lane, Call(Combined(), name, COMBINES[combine], value))

    def spread(self, number: int, lane: int, name: int, root: int, value: int) -> Combined:
        group = self._groups[number]
        rank, at = group.members.index(self._rank), group.lanes[lane]
        if at.spreads == hardware.TURNS - 2:  # one of any three in a row must be such that all wait for all
            return self.combine(number, lane, name, Combine.OR, value if rank == root else 0)
        at.spreads += 1
        way = hardware.spread(len(group.members), rank, root)
        return self._begin(number, lane, Call(Combined(), name, hardware.Combine.SPREAD, value, *way))

    def _begin(self, number: int, lane: int, call: Call) -> Combined:
        group = self._groups[number]
        group.lanes[lane].waiting.append(call)
        if group.error:
            self._fail(group, group.error, group.kind)
        else:
            self._advance(number, lane)
        return call.operation

    def look(self) -> None:
        """Take what has ended, and begin what waits for it."""
        if not self._running:
            return
        for number, at, lane in tuple(self._running):
            result = self._hardware.result(number, at, lane.waiting[0].name) if lane.running else None
            if result is None:
                continue
            self._meter.spend(HostCost.POLL)
            self._end(number, at, lane, result.status, result.value)

    def watched(self) -> list[Watched]:
        """The words that change when a collective ends."""
        return [self._hardware.watched(number, at) for number, at, _ in self._running]

    @property
    def idle(self) -> bool:
        return not self._running

    def lose(self, rank: int, text: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        """A rank is lost, or this rank's NIC."""
        self._lost[rank] = text
        for group in self._groups.values():
            if rank in group.members and not group.error:
                self._fail(group, text, kind)

    def _advance(self, number: int, at: int) -> None:
        lane = self._groups[number].lanes[at]
        if lane.running or not lane.open or not lane.waiting:
            return
        call = lane.waiting[0]
        lane.running = True
        self._running.append((number, at, lane))
        how = word(
            hardware.StartWord,
            combine=call.combine,
            turn=lane.turn,
            enters=call.enters,
            gives=call.gives,
            name=call.name,
        )
        self._hardware.start(number, at, how, call.value)
        lane.turn = (lane.turn + 1) % hardware.TURNS
        call.operation.posted.done = True

    def _end(self, number: int, at: int, lane: Lane, status: Status, value: int) -> None:
        group = self._groups[number]
        self.ended += 1
        if status not in (Status.OK, Status.MIXED):
            peer = self._partner(group, value)
            if status is Status.RIGHT:  # its NIC does not know the group yet, and all members had met
                self._fail(group, f"rank {peer} makes another call", ErrorKind.MIXED)
                return
            text = f"rank {peer} cannot be reached by a collective: {REASONS[status]}"
            self._fail(group, text, ErrorKind.PEER_FAILED)
            self._silent(peer, text)
            return
        self._running.remove((number, at, lane))
        lane.running = False
        operation = lane.waiting.popleft().operation
        operation.value = value
        if status is Status.MIXED:
            fail(operation, ErrorKind.MIXED, "the calls of the members differ in what they are, in root or in length")
        operation.done = True
        self._advance(number, at)

    def _partner(self, group: Group, step: int) -> int:
        """The rank to which a step of the group's program sends."""
        places = [self._places[rank] for rank in group.members]
        program = hardware.doubling(places, group.members.index(self._rank))
        to = hardware.StepWord.from_bits(program[step])
        return group.members[places.index((to.node, to.process))]

    def _fail(self, group: Group, text: str, kind: ErrorKind) -> None:
        """Nothing of a group succeeds any more. Its lanes are used no more until it is joined again."""
        group.error, group.kind = text, kind
        for lane in group.lanes:
            while lane.waiting:
                operation = lane.waiting.popleft().operation
                fail(operation.posted, kind, text)
                fail(operation, kind, text)
            lane.running = False
        self._running = [entry for entry in self._running if entry[2].running]
