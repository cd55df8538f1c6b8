"""What joins the NICs: cables and switches, and the source routes through them."""

import tomllib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.switch_config import SwitchConfig

from ..engines.base import Cable, Layout

MOST_HOPS = 4  # route bytes of a HEAD
MOST_PORTS = 16
End = tuple[bool, int, int]  # of a cable: whether at a switch, the number of switch or NIC, port
Ends = tuple[tuple[End, End], ...]


@dataclass(frozen=True)
class Fabric:
    """`nics` NICs (units 0 ..) and `switches` switches (units after them) of `ports` ports, and the cables between.

    `kind` is how it was described. A NIC has the one port 0.
    """

    kind: str
    nics: int
    switches: int
    ports: int
    cables: tuple[Cable, ...]

    def __post_init__(self) -> None:
        used: set[tuple[int, int]] = set()
        for cable in self.cables:
            for unit, port in ((cable.unit, cable.port), (cable.other_unit, cable.other_port)):
                if not 0 <= unit < self.nics + self.switches:
                    raise UserError(f"a cable of fabric {self.kind!r} goes to {self.name(unit)}, which is not there")
                if not 0 <= port < (1 if unit < self.nics else self.ports):
                    raise UserError(
                        f"a cable of fabric {self.kind!r} goes to port {port} of {self.name(unit)}, which has no such port"
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
        """For an engine."""
        switch = SwitchConfig(self.ports, config) if self.switches else None
        return Layout(config, self.nics, self.cables, self.switches, switch)

    @cached_property
    def _neighbours(self) -> Mapping[int, list[tuple[int, int]]]:
        """unit -> (its port, unit there), by port."""
        found: dict[int, list[tuple[int, int]]] = {unit: [] for unit in range(self.nics + self.switches)}
        for cable in self.cables:
            found[cable.unit].append((cable.port, cable.other_unit))
            found[cable.other_unit].append((cable.other_port, cable.unit))
        return {unit: sorted(ports) for unit, ports in found.items()}

    def path(self, source: int, dest: int) -> list[int]:
        """Output ports of the switches on a shortest way from one NIC to another, or back to itself through its switch."""
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
                    return self._checked(source, dest, ports[::-1])
                if neighbour >= self.nics and neighbour not in came:
                    came[neighbour] = (unit, port)
                    queue.append(neighbour)
        raise UserError(
            f"fabric {self.kind!r} has no way from {self.name(source)} to {self.name(dest)}; add cables between their switches"
        )

    def _checked(self, source: int, dest: int, ports: list[int]) -> list[int]:
        if len(ports) > MOST_HOPS:
            raise UserError(
                f"the way from {self.name(source)} to {self.name(dest)} in fabric {self.kind!r} takes {len(ports)} switches; "
                f"a route holds {MOST_HOPS}"
            )
        return ports

    def check(self) -> None:
        """Refuse a fabric in which some NIC cannot reach another."""
        for source in range(self.nics):
            for dest in range(self.nics):
                if source != dest:
                    self.path(source, dest)

    def route(self, source: int, dest: int) -> int:
        """The route word for a HEAD: a byte 0x80 | port for each switch, the first on top."""
        word = 0
        for hop, port in enumerate(self.path(source, dest)):
            word |= (0x80 | port) << (24 - 8 * hop)
        return word


def pair() -> Fabric:
    """Two NICs, point to point."""
    return Fabric("pair", 2, 0, 0, (Cable(0, 0, 1, 0),))


def star(nics: int) -> Fabric:
    """One switch."""
    if not 1 <= nics <= MOST_PORTS:
        raise UserError(f"one switch joins 1 to {MOST_PORTS} NICs, not {nics}; write switches:N")
    return Fabric("switch", nics, 1, max(2, nics), tuple(Cable(nic, 0, nics, nic) for nic in range(nics)))


def tree(nics: int, leaves: int) -> Fabric:
    """`leaves` switches with the NICs spread over them in order, joined by one switch above (two: by a cable)."""
    if not 2 <= leaves <= MOST_PORTS:
        raise UserError(f"switches:{leaves} must be from switches:2 to switches:{MOST_PORTS}")
    each = -(-nics // leaves)
    if each + 1 > MOST_PORTS:
        raise UserError(
            f"{nics} NICs on {leaves} switches need {each + 1} ports a switch; take more switches, {MOST_PORTS} ports are there"
        )
    cables = [Cable(nic, 0, nics + nic // each, nic % each) for nic in range(nics)]
    if leaves == 2:
        cables.append(Cable(nics, each, nics + 1, each))
        return Fabric("switches:2", nics, 2, max(2, each + 1), tuple(cables))
    root = nics + leaves
    cables += [Cable(nics + leaf, each, root, leaf) for leaf in range(leaves)]
    return Fabric(f"switches:{leaves}", nics, leaves + 1, max(each + 1, leaves), tuple(cables))


def _end(kind: str, text: Any) -> End:
    name, _, port = str(text).partition(".")
    for prefix in ("nic", "switch"):
        number = name.removeprefix(prefix)
        if number != name and number.isdecimal() and (not port or port.isdecimal()):
            return prefix == "switch", int(number), int(port or 0)
    raise UserError(f"cable end {text!r} in {kind!r} is not understood; write nic0 or switch0.3")


def parse_cables(kind: str, lines: Any) -> Ends:
    """Pairs of ends such as ["nic0", "switch0.3"], understood. `kind` is what a complaint calls them."""
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


def describe(text: str | Ends, nics: int) -> Fabric:
    """From the command line: `switch`, `switches:N`, `pair`, or a TOML file with cables = [["nic0", "switch0.0"], ...]; or such
    cables, as `parse_cables` gives them."""
    if not isinstance(text, str):
        return from_cables("cables", nics, text)
    if text == "switch":
        return star(nics) if nics <= MOST_PORTS else tree(nics, -(-nics // (MOST_PORTS - 1)))
    if text == "pair":
        if nics != 2:
            raise UserError(f"fabric 'pair' joins 2 NICs, not {nics}; take 'switch'")
        return pair()
    name, _, count = text.partition(":")
    if name == "switches" and count.isdecimal():
        return tree(nics, int(count))
    if not text.endswith(".toml"):
        raise UserError(f"fabric {text!r} is not known; write switch, switches:N, pair or a .toml file")
    try:
        values = tomllib.loads(Path(text).read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"cannot read fabric {text!r}: {error}") from error
    unknown = sorted(set(values) - {"cables"})
    if unknown:
        raise UserError(f"fabric {text!r} has unknown keys {', '.join(unknown)}; it may have: cables")
    return from_cables(text, nics, parse_cables(text, values.get("cables", [])))
