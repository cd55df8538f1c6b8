"""Deadlock of wormhole routing: which channels wait for which, and whether some wait for each other
in a ring.

A channel is one direction of a cable between two switches. A packet that holds a channel may wait
for the next channel of its route. If these dependencies have no cycle, the routes cannot deadlock
(Dally and Seitz, 1987). NICs always take what arrives, or drop it, so a channel into a NIC waits
for nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

Channel = tuple[int, int]  # the unit that sends, its output port


def dependencies(routes: Iterable[Sequence[Channel]]) -> dict[Channel, list[Channel]]:
    """channel -> those that follow it in some route, each once, in the order met. A route is its
    channels in order."""
    found: dict[Channel, dict[Channel, None]] = {}
    for route in routes:
        for channel in route:
            found.setdefault(channel, {})
        for channel, following in pairwise(route):
            found[channel][following] = None
    return {channel: list(following) for channel, following in found.items()}


def find_cycle(follows: Mapping[Channel, Sequence[Channel]]) -> list[Channel]:
    """Channels of which each waits for the next and the last for the first; empty if there is no
    such cycle."""
    finished: set[Channel] = set()
    for start in follows:
        held: dict[Channel, None] = {}  # from start to here, in order
        branches = [iter((start,))]
        while branches:
            channel = next(branches[-1], None)
            if channel is None:
                branches.pop()
                if held:
                    finished.add(held.popitem()[0])
            elif channel in held:
                ring = list(held)
                return ring[ring.index(channel) :]
            elif channel not in finished:
                held[channel] = None
                branches.append(iter(follows[channel]))
    return []
