"""The barrier tree over several switches: which switch is at the top, and the ports between."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..engines.base import BarrierRole, Cable


class Way(NamedTuple):
    """A cable as seen from a switch: the port here, the unit at the other end, and its port."""

    port: int
    there: int
    port_there: int


Ways = Mapping[int, Sequence[Way]]  # by switch, in the order of ports
FAR = 1 << 30  # no way


def roles(nics: int, switches: int, cables: Sequence[Cable]) -> tuple[BarrierRole, ...]:
    """The part of each switch. Units are NICs first, then switches. Every NIC must be at a switch,
    and reach all others.

    The tree has the shortest ways from the switch at its top to all NICs. At the top is the switch
    whose longest way is the shortest, the first of these. Switches on no way have no part.
    """
    ways = _ways(nics, switches, cables)
    used = [unit for unit in ways if any(way.there < nics for way in ways[unit])]
    trees = {top: _tree(nics, top, ways) for top in ways}
    top = min(ways, key=lambda unit: max(_depth(trees[unit], unit, one) for one in used))
    members, parent = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
    for unit in used:
        members[unit] |= sum(1 << way.port for way in ways[unit] if way.there < nics)
        while unit != top:
            above, way = trees[top][unit]
            members[above] |= 1 << way.port
            parent[unit] = 1 << way.port_there
            unit = above
    return tuple(BarrierRole(members[unit], parent[unit]) for unit in ways)


def _ways(nics: int, switches: int, cables: Sequence[Cable]) -> Ways:
    found: dict[int, list[Way]] = {unit: [] for unit in range(nics, nics + switches)}
    for unit, port, other, other_port in cables:
        if unit >= nics:
            found[unit].append(Way(port, other, other_port))
        if other >= nics:
            found[other].append(Way(other_port, unit, port))
    return {unit: sorted(ways) for unit, ways in found.items()}


def _tree(nics: int, top: int, ways: Ways) -> dict[int, tuple[int, Way]]:
    """switch -> the one above it, and the way from there, for all that can be reached from `top`."""
    found: dict[int, tuple[int, Way]] = {}
    queue = deque([top])
    while queue:
        unit = queue.popleft()
        for way in ways[unit]:
            if way.there >= nics and way.there != top and way.there not in found:
                found[way.there] = unit, way
                queue.append(way.there)
    return found


def _depth(tree: Mapping[int, tuple[int, Way]], top: int, unit: int) -> int:
    """Cables from the top to a switch."""
    steps = 0
    while unit != top:
        if unit not in tree:
            return FAR
        unit = tree[unit][0]
        steps += 1
    return steps
