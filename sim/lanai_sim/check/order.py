"""The order of events by MPI's own rules: vector clocks over the calls of all ranks.

Records of all ranks are taken in the order of the machine's clock. An edge leads from the beginning of
one call to the end of another: a message from its send to the end of its receive, a collective call
from the ranks that it waits for.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from .records import Call, Rank

Clock = tuple[int, ...]
Node = tuple[int, int]  # rank, number of its call
NEVER = 1 << 60
MOST_CALLS = 400_000


class Order:
    """Attributes: `begin` and `end`: the clock of each call when it began, and when it had ended."""

    def __init__(self, ranks: Sequence[Rank], edges: Iterable[tuple[Node, Node]]) -> None:
        """`edges`: (the call whose beginning, the call before whose end)."""
        self.begin: dict[Node, Clock] = {}
        self.end: dict[Node, Clock] = {}
        self._place = {rank.rank: index for index, rank in enumerate(ranks)}
        incoming: dict[Node, list[Node]] = defaultdict(list)
        for source, target in edges:
            incoming[target].append(source)
        events = [(call.begin, 0, rank.rank, call.number) for rank in ranks for call in rank.calls.values()]
        self.complete = len(events) <= MOST_CALLS
        if not self.complete:
            return
        events += [
            (call.end, 1, rank.rank, call.number)
            for rank in ranks
            for call in rank.calls.values()
            if call.end is not None
        ]
        clocks = {rank.rank: [0] * len(ranks) for rank in ranks}
        for _, ends, rank_, number in sorted(events):
            clock, node = clocks[rank_], (rank_, number)
            if ends:
                for source in incoming.get(node, ()):
                    known = self.begin.get(source)
                    if known is not None:
                        clock[:] = map(max, clock, known)
            clock[self._place[rank_]] += 1
            (self.end if ends else self.begin)[node] = tuple(clock)

    def tick(self, node: Node) -> int:
        """Return the time of its own rank at which a call began; NEVER if it did not."""
        clock = self.begin.get(node)
        return NEVER if clock is None else clock[self._place[node[0]]]

    def own(self, node: Node) -> int:
        """Return the time of its own rank at which a call had ended."""
        clock = self.end.get(node)
        return NEVER if clock is None else clock[self._place[node[0]]]

    def reached(self, rank: int, tick: int, clock: Clock) -> bool:
        """Return if what a rank had done by its time `tick` is done for all who have this clock."""
        return tick <= clock[self._place[rank]]

    def begun(self, first: Call, then: Call) -> bool:
        """Return if a call had begun, whatever the timing, when another began."""
        known = self.begin.get((then.rank, then.number))
        return known is not None and self.reached(first.rank, self.tick((first.rank, first.number)), known)
