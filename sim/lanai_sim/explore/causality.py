"""The order of what happens in a run, by vector clocks over its ranks' records.

A message that was sent only after a wildcard had made its choice cannot be an alternative of it: its sender waits,
over whatever ranks, for what the receiver does afterwards. Such an alternative need not be tried. An edge leads from
a send to the moment at which the program is told that its receive has ended; what only the library knows counts
for nothing, so that too few alternatives are left out rather than too many.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lanai_host.orders import GOT, MATCH, SENT

Record = dict[str, Any]
Clock = list[int]


def impossible(ranks: Sequence[Sequence[Record]]) -> set[tuple[int, int, int]]:
    """Return (rank, number of its match, sender) of late messages that were sent after the match, and because of it."""
    sends, matches = _clocks(ranks)
    found = set()
    for rank, records in enumerate(ranks):
        for one in records:
            if one["k"] == "late" and "i" in one:
                clock = sends.get((one["of"], rank, one["i"]))
                if clock is not None and clock[rank] >= matches[rank, one["n"]]:
                    found.add((rank, one["n"], one["of"]))
    return found


def _clocks(
    ranks: Sequence[Sequence[Record]],
) -> tuple[Mapping[tuple[int, int, int], Clock], Mapping[tuple[int, int], int]]:
    """Return the clock of each send, by sender, receiver and number, and the own time of each match."""
    sends: dict[tuple[int, int, int], Clock] = {}
    matches: dict[tuple[int, int], int] = {}
    clocks = [[0] * len(ranks) for _ in ranks]
    places = [0] * len(ranks)

    def step(rank: int, blind: bool) -> bool:
        """Take the next record of a rank, unless it waits for a send that is not known yet."""
        if places[rank] == len(ranks[rank]):
            return False
        one, clock = ranks[rank][places[rank]], clocks[rank]
        if one["k"] == GOT:
            known = sends.get((one["of"], rank, one["i"]))
            if known is None and not blind:
                return False
            clock[:] = map(max, clock, known or clock)
        clock[rank] += 1
        if one["k"] == SENT:
            sends[rank, one["to"], one["i"]] = list(clock)
        elif one["k"] == MATCH:
            matches[rank, one["n"]] = clock[rank]
        places[rank] += 1
        return True

    while True:
        moved = False
        for rank in range(len(ranks)):
            while step(rank, blind=False):
                moved = True
        if not moved and not any(step(rank, blind=True) for rank in range(len(ranks))):
            return sends, matches
