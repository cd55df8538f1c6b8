"""Meshes and tori: a switch at each node of a grid, and dimension-order routes that cannot
deadlock."""

import re
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from lanai_hdl.errors import UserError
from lanai_hdl.link.format import MOST_PORTS

from ...engines.base import Cable
from ...tables import read_toml
from ..fabric import Fabric
from .base import FabricKind

MOST_NODES = 512
MOST_DIMENSIONS = 3
NIC_PORT = 0


def plus_port(dimension: int) -> int:
    """Return the port of every switch to the next node in this dimension. The port after it leads to the
    node before."""
    return 1 + 2 * dimension


@dataclass(frozen=True)
class Grid(Fabric):
    """NIC n is at node n; coordinate 0 counts fastest. `wraps`: the last node of a line is joined
    to its first.

    Routes go through dimension 0 first, then 1, then 2, so no dimension waits for one before it.
    Within a dimension that wraps, routes take the shorter way as far as the ring of its channels is
    never closed: in a ring of up to 4 nodes, half way round goes up from even coordinates and down
    from odd ones; in a longer ring no route passes through coordinate 0, it goes the other way
    round instead.
    """

    dimensions: tuple[int, ...]
    wraps: bool

    def coordinates(self, node: int) -> tuple[int, ...]:
        found = []
        for size in self.dimensions:
            node, here = divmod(node, size)
            found.append(here)
        return tuple(found)

    def path(self, source: int, dest: int) -> list[int]:
        ports = []
        ends = zip(self.dimensions, self.coordinates(source), self.coordinates(dest), strict=True)
        for dimension, (size, start, end) in enumerate(ends):
            hops = ring_hops(size, start, end) if self.wraps else end - start
            ports += [plus_port(dimension) + (hops < 0)] * abs(hops)
        return [*ports, NIC_PORT]


def ring_hops(size: int, start: int, end: int) -> int:
    """Hops from one coordinate of a ring to another; negative: downwards."""
    up, down = (end - start) % size, (start - end) % size
    upwards = up < down or (up == down and start % 2 == 0)
    if size > 4 and start and end and upwards == (start > end):  # it would pass through 0
        upwards = not upwards
    return up if upwards else -down


def parse_dimensions(kind: str, text: str) -> tuple[int, ...]:
    """`4x4x4` understood. UserError quotes `kind`."""
    if not re.fullmatch(r"[0-9]+(x[0-9]+)*", text):
        raise UserError(f"fabric '{kind}:{text}' is not understood; write sizes, such as {kind}:4x4x4")
    found = tuple(int(size) for size in text.split("x"))
    if len(found) > MOST_DIMENSIONS:
        raise UserError(f"fabric '{kind}:{text}' has {len(found)} dimensions; at most {MOST_DIMENSIONS} are there")
    if not 1 <= prod(found) <= MOST_NODES:
        raise UserError(f"fabric '{kind}:{text}' has {prod(found)} nodes; 1 to {MOST_NODES} are possible")
    return found


def grid(kind: str, text: str, nics: int, *, wraps: bool) -> Fabric:
    """The fabric `kind:text`. Nodes beyond the NICs have a switch and no NIC."""
    dimensions = parse_dimensions(kind, text)
    nodes = prod(dimensions)
    if nics > nodes:
        raise UserError(f"fabric '{kind}:{text}' has {nodes} nodes for {nics} NICs; write larger sizes")
    cables = [Cable(nic, 0, nics + nic, NIC_PORT) for nic in range(nics)]
    for reversed_place in product(*map(range, reversed(dimensions))):
        place = reversed_place[::-1]
        for dimension, size in enumerate(dimensions):
            if size == 1 or (place[dimension] == size - 1 and not wraps):
                continue
            neighbour = (*place[:dimension], (place[dimension] + 1) % size, *place[dimension + 1 :])
            here, there = (nics + _node(dimensions, at) for at in (place, neighbour))
            cables.append(Cable(here, plus_port(dimension), there, plus_port(dimension) + 1))
    ports = 1 + 2 * len(dimensions)
    return Grid(f"{kind}:{text}", nics, nodes, ports, tuple(cables), dimensions, wraps)


def _node(dimensions: tuple[int, ...], place: tuple[int, ...]) -> int:
    node = 0
    for size, here in zip(reversed(dimensions), reversed(place), strict=True):
        node = node * size + here
    return node


class Mesh(FabricKind):
    usage = "mesh:XxYxZ"
    help = "a switch a node, each joined to its neighbours in up to 3 dimensions"

    def make(self, argument: str, nics: int) -> Fabric:
        return grid("mesh", argument, nics, wraps=False)


class Torus(FabricKind):
    usage = "torus:XxYxZ"
    help = "a switch a node, each joined to its neighbours in up to 3 dimensions, the last to the first"

    def make(self, argument: str, nics: int) -> Fabric:
        return grid("torus", argument, nics, wraps=True)


KINDS = {
    "mesh": Mesh(),
    "torus": Torus(),
}


# Fabrics that users describe cable by cable.


SUFFIX = ".toml"
END = re.compile(r"(nic|switch)([0-9]{1,9})(?:\.([0-9]{1,9}))?")
End = tuple[bool, int, int]  # of a cable: whether at a switch, the number of switch or NIC, port
Ends = tuple[tuple[End, End], ...]


def _end(kind: str, text: Any) -> End:
    found = END.fullmatch(str(text))
    if found is None:
        raise UserError(f"cable end {text!r} in {kind!r} is not understood; write nic0 or switch0.3")
    is_switch, number, port = found[1] == "switch", int(found[2]), int(found[3] or 0)
    if is_switch and (number >= MOST_NODES or port >= MOST_PORTS):
        raise UserError(
            f"cable end {text!r} in {kind!r} is not there; switches are numbered from 0 to {MOST_NODES - 1}, "
            f"their ports from 0 to {MOST_PORTS - 1}"
        )
    return is_switch, number, port


def parse_cables(kind: str, lines: Any) -> Ends:
    """Pairs of ends such as ["nic0", "switch0.3"], understood. `kind` is what a complaint calls
    them."""
    if not isinstance(lines, list):
        raise UserError(f"cables = {lines!r} in {kind!r} is not understood; write a list of pairs of ends")
    for line in lines:
        if not isinstance(line, list) or len(line) != 2:
            raise UserError(
                f"cable {line!r} in {kind!r} is not understood; write two ends, such as ['nic0', 'switch0.3']"
            )
    return tuple((_end(kind, line[0]), _end(kind, line[1])) for line in lines)


def from_cables(kind: str, nics: int, ends: Ends) -> Fabric:
    """A fabric of just these cables."""
    both = [one for two in ends for one in two]
    switches = 1 + max((number for is_switch, number, _ in both if is_switch), default=-1)
    ports = max([2, *(1 + port for is_switch, _, port in both if is_switch)])
    cables = tuple(Cable(a[1] + nics * a[0], a[2], b[1] + nics * b[0], b[2]) for a, b in ends)
    return Fabric(kind, nics, switches, ports, cables)


def ends_text(ends: Ends) -> list[list[str]]:
    """Return the cables as `parse_cables` takes them."""
    return [[f"switch{number}.{port}" if switch else f"nic{number}" for switch, number, port in pair] for pair in ends]


class FileEnds(tuple[tuple[End, End], ...]):
    """The cables of a file. Errors name it."""

    path: str


def read(path: str) -> FileEnds:
    """Return the cables of a TOML file with cables = [["nic0", "switch0.0"], ...]."""
    values = read_toml("fabric", path, "name a TOML file with cables")
    unknown = sorted(set(values) - {"cables"})
    if unknown:
        raise UserError(f"fabric {path!r} has unknown keys {', '.join(unknown)}; it may have: cables")
    ends = FileEnds(parse_cables(path, values.get("cables", [])))
    ends.path = path
    return ends


def from_file(path: str, nics: int) -> Fabric:
    """Return the fabric of a TOML file."""
    return from_cables(path, nics, read(path))
