"""The network of the NICs: cables and switches, and the source routes through them."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.link.format import MOST_BYTES, route_bytes, route_word
from lanai_hdl.switch_config import SwitchConfig

from ..engines.base import BarrierRole, Cable, Layout

# The barrier tree over several switches: which switch is at the top, and the ports between.


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


# Deadlock of wormhole routing: which channels wait for which, and whether some wait for each other
# in a ring.
#
# A channel is one direction of a cable between two switches. A packet that holds a channel may wait
# for the next channel of its route. If these dependencies have no cycle, the routes cannot deadlock
# (Dally and Seitz, 1987). NICs always take what arrives, or drop it, so a channel into a NIC waits
# for nothing.

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


def has_barrier(config: NicConfig) -> bool:
    """These NICs have the barrier tree's block."""
    return any(isinstance(block, BarrierTree) for block in config.blocks)


@dataclass(frozen=True)
class Fabric:
    """`nics` NICs (units 0 ..) and `switches` switches (units after them) of `ports` ports, and the
    cables between.

    `kind` is how it was described. A NIC has the one port 0. Routes are the shortest; a subclass
    may choose others.
    """

    kind: str
    nics: int
    switches: int
    ports: int
    cables: tuple[Cable, ...]

    broadcasts: ClassVar[bool] = False  # it repeats a packet to any set of NICs: `lanai_hdl.link.format`

    def __post_init__(self) -> None:
        used: set[tuple[int, int]] = set()
        for cable in self.cables:
            for unit, port in ((cable.unit, cable.port), (cable.other_unit, cable.other_port)):
                if not 0 <= unit < self.nics + self.switches:
                    raise UserError(f"a cable of fabric {self.kind!r} goes to {self.name(unit)}, which is not there")
                if not 0 <= port < (1 if unit < self.nics else self.ports):
                    raise UserError(
                        f"a cable of fabric {self.kind!r} goes to port {port} of {self.name(unit)}, "
                        "which has no such port"
                    )
                if (unit, port) in used:
                    raise UserError(f"two cables of fabric {self.kind!r} go to port {port} of {self.name(unit)}")
                used.add((unit, port))
        for nic in range(self.nics):
            if (nic, 0) not in used:
                raise UserError(f"no cable of fabric {self.kind!r} goes to {self.name(nic)}")

    def name(self, unit: int) -> str:
        return f"nic{unit}" if unit < self.nics else f"switch{unit - self.nics}"

    def layout(self, config: NicConfig) -> Layout:
        """For an engine. `check` and `check_nics` must have passed."""
        if not self.switches:
            return Layout(config, self.nics, self.cables)
        if has_barrier(config) and self.switches > 1:
            switch = SwitchConfig(self.ports, config, barrier=(1 << self.ports) - 1, cascaded=True)
            tree = roles(self.nics, self.switches, self.cables)
            return Layout(config, self.nics, self.cables, self.switches, switch, tree)
        barrier = sum(1 << self.path(nic, nic)[0] for nic in range(self.nics)) if has_barrier(config) else 0
        switch = SwitchConfig(self.ports, config, barrier=barrier)
        return Layout(config, self.nics, self.cables, self.switches, switch)

    def passage(self, config: NicConfig, size: int) -> int:
        """Slots until a packet of `size` bytes has passed, behind one of each other NIC that wants the
        same output."""
        return max(1, self.nics - 1) * self.packet_slots(config, size)

    def packet_slots(self, config: NicConfig, size: int) -> int:
        """Slots of a packet of `size` bytes on a cable."""
        return -(-size * config.slot_khz // config.link_kbytes)

    def check_nics(self, config: NicConfig) -> None:
        """UserError for NICs with the barrier tree where no switches join them. A subclass with a
        `layout` of its own has something else in their place."""
        if has_barrier(config) and (not self.switches or type(self).layout is not Fabric.layout):
            raise UserError(
                f"fabric {self.kind!r} has no barrier tree, which these NICs have (block 'barrier'): switches "
                "combine their bits; take switch, switches:N, torus: or mesh:, or NICs without that block"
            )

    @cached_property
    def _neighbours(self) -> Mapping[int, list[tuple[int, int]]]:
        """unit -> (its port, unit there), by port."""
        found: dict[int, list[tuple[int, int]]] = {unit: [] for unit in range(self.nics + self.switches)}
        for cable in self.cables:
            found[cable.unit].append((cable.port, cable.other_unit))
            found[cable.other_unit].append((cable.other_port, cable.unit))
        return {unit: sorted(ports) for unit, ports in found.items()}

    def path(self, source: int, dest: int) -> list[int]:
        """Output ports of the switches on a way from one NIC to another, or back to itself through
        its switch.

        UserError if there is none.
        """
        start = self._neighbours[source][0][1]
        if start < self.nics:
            if start == dest:
                return []
            raise UserError(
                f"fabric {self.kind!r} has no way from {self.name(source)} to {self.name(dest)}; join them by a switch"
            )
        came: dict[int, tuple[int, int]] = {start: (-1, -1)}
        queue = deque([start])
        while queue:
            unit = queue.popleft()
            for port, neighbour in self._neighbours[unit]:
                if neighbour == dest:
                    ports = [port]
                    while came[unit][0] >= 0:
                        unit, port = came[unit]
                        ports.append(port)
                    return ports[::-1]
                if neighbour >= self.nics and neighbour not in came:
                    came[neighbour] = (unit, port)
                    queue.append(neighbour)
        raise UserError(
            f"fabric {self.kind!r} has no way from {self.name(source)} to {self.name(dest)}; "
            "add cables between their switches"
        )

    def route(self, source: int, dest: int) -> int:
        """The route word for a HEAD. UserError if the way is too long for one."""
        ports = self.path(source, dest)
        taken = len(route_bytes(ports))
        if taken > MOST_BYTES:
            raise UserError(
                f"the way from {self.name(source)} to {self.name(dest)} in fabric {self.kind!r} passes {len(ports)} "
                f"switches and takes {taken} route bytes; a packet holds {MOST_BYTES}"
            )
        return route_word(ports)

    @cached_property
    def _beyond(self) -> Mapping[Channel, int]:
        """(unit, its port) -> the unit at the other end."""
        return {(unit, port): there for unit, ports in self._neighbours.items() for port, there in ports}

    def channels(self, source: int, dest: int) -> list[Channel]:
        """Outputs of switches to other switches that a packet holds on its way, in order."""
        unit = self._beyond[source, 0]
        found = []
        for port in self.path(source, dest):
            after = self._beyond[unit, port]
            if after >= self.nics:
                found.append((unit, port))
            unit = after
        return found

    def check(self) -> None:
        """UserError for a NIC that cannot reach another, and for routes that can deadlock."""
        for source, dest in self._pairs():
            self.route(source, dest)
        ring = find_cycle(dependencies(self.channels(source, dest) for source, dest in self._pairs()))
        if ring:
            names = ", ".join(f"{self.name(unit)}.{port}" for unit, port in ring)
            raise UserError(
                f"packets on fabric {self.kind!r} can deadlock: each of these switch outputs waits for the next, "
                f"and the last for the first: {names}; leave out a cable of this ring, or take torus: or mesh:"
            )

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return ((source, dest) for source in range(self.nics) for dest in range(self.nics) if source != dest)
