"""Faults of the fabric: what the user asks for, turned into a plan of packets for each wire.

    drop nic0 packet=3              the fourth packet that nic0 sends
    corrupt * rate=0.01 seed=7      one packet in a hundred, on every wire
    delay switch0.1 packet=0 by=5us
    down nic1 from=2ms to=3ms       nic1's cable, what it sends

Which packets a rate hits follows from the seed, the wire and the packet's number alone, for as many
packets as there are.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from lanai_hdl.errors import UserError

from ..engines.base import FaultKind, Planned, SlotTime
from ..units import duration, exact_time
from .fabric import Fabric

CERTAIN = 1 << 53  # a chance of one


KEYS = {
    FaultKind.DROP: {"packet", "rate", "seed"},
    FaultKind.CORRUPT: {"packet", "rate", "seed", "bit"},
    FaultKind.DUPLICATE: {"packet", "rate", "seed"},
    FaultKind.DELAY: {"packet", "rate", "seed", "by"},
    FaultKind.REORDER: {"packet", "rate", "seed", "by"},
    FaultKind.DOWN: {"from", "to"},
}


@dataclass(frozen=True)
class Fault:
    """`where`: the unit that sends, with its port, or "*". Times in picoseconds."""

    kind: FaultKind
    where: str
    packet: int | None = None
    rate: float = 0.0
    seed: int = 0
    amount: int = 0
    begin: int = 0
    end: int = 0

    def __str__(self) -> str:
        """The fault as `parse` reads it."""
        if self.kind is FaultKind.DOWN:
            words = [f"from={exact_time(self.begin)}", f"to={exact_time(self.end)}"]
        else:
            words = [f"rate={self.rate!r}"] if self.packet is None else [f"packet={self.packet}"]
            words += [f"seed={self.seed}"] if self.seed else []
        if "bit" in KEYS[self.kind]:
            words.append(f"bit={self.amount}")
        if "by" in KEYS[self.kind]:
            words.append(f"by={exact_time(self.amount)}")
        return " ".join([self.kind.name.lower(), self.where, *words])


def parse(text: str) -> Fault:
    """Return the fault that a text of the command line asks for. Raises UserError."""
    words = text.split()
    try:
        kind = FaultKind[words[0].upper()]
        where = words[1]
        given = dict(word.split("=", 1) for word in words[2:])
    except (IndexError, KeyError, ValueError):
        kinds = ", ".join(kind.name.lower() for kind in FaultKind)
        raise UserError(f"fault {text!r} is not understood; write a kind ({kinds}), a sender, then key=value") from None
    unknown = sorted(set(given) - KEYS[kind])
    if unknown:
        raise UserError(
            f"fault {text!r} has unknown keys {', '.join(unknown)}; {words[0]} may have {', '.join(sorted(KEYS[kind]))}"
        )
    try:
        if kind is FaultKind.DOWN:
            fault = Fault(kind, where, begin=duration(given["from"]), end=duration(given["to"]))
            if fault.end <= fault.begin:
                raise ValueError
            return fault
        packet = int(given["packet"]) if "packet" in given else None
        rate = float(given.get("rate", 0))
        if (packet is None) == ("rate" not in given) or not 0 <= rate <= 1 or (packet or 0) < 0:
            raise ValueError
        amount = int(given.get("bit", 0)) if kind is FaultKind.CORRUPT else 0
        amount = duration(given.get("by", "1us")) if "by" in KEYS[kind] else amount
        return Fault(kind, where, packet, rate, int(given.get("seed", 0)), amount)
    except (KeyError, ValueError):
        raise UserError(f"fault {text!r} needs packet=N or rate=0..1 (down: from=TIME to=TIME, in order)") from None


def wires_of(fabric: Fabric, where: str) -> list[int]:
    """Wires (2 * cable, or + 1 for the way back) that start at a unit's port."""
    found = []
    for index, cable in enumerate(fabric.cables):
        for back, (unit, port) in enumerate(((cable.unit, cable.port), (cable.other_unit, cable.other_port))):
            name = fabric.name(unit)
            if where in ("*", name, f"{name}.{port}"):
                found.append(2 * index + back)
    if not found:
        raise UserError(f"nothing in fabric {fabric.kind!r} is called {where!r}; write nic0, switch0.1 or *")
    return found


def plan(faults: Sequence[Fault], fabric: Fabric, time: SlotTime) -> dict[int, list[Planned]]:
    """Return the faults of each wire. Of several faults of one packet the first asked for counts."""
    planned: dict[int, list[Planned]] = {}
    for fault in faults:
        for wire in wires_of(fabric, fault.where):
            here = planned.setdefault(wire, [])
            if (one := _on_wire(fault, wire, time)) is not None:
                here.append(one)
    return planned


def _on_wire(fault: Fault, wire: int, time: SlotTime) -> Planned | None:
    if fault.kind is FaultKind.DOWN:
        return Planned(time.slot(fault.begin), time.slot(fault.end), 0, fault.kind)
    amount = fault.amount if fault.kind is FaultKind.CORRUPT else time.slot(fault.amount)
    if fault.packet is not None:
        return Planned(fault.packet, amount, 0, fault.kind)
    if not fault.rate:
        return None
    digest = hashlib.sha256(f"{fault.seed}/{wire}/{fault.kind}".encode()).digest()
    return Planned(int.from_bytes(digest[:8], "big"), amount, max(1, round(fault.rate * CERTAIN)), fault.kind)
