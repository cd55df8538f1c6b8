"""A log of the answers that a rank got since its snapshot, and of its requests: enough to bring a copy of the snapshot
to where the rank was. It stands for the log of the CCU MPI's daemon (CC-26), which owns all messages of its node.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lanai_host.simulator.protocol import Op

from ..request import Request


@dataclass(slots=True)
class Write:
    """Bytes that a NIC wrote into the rank's memory. `buffer`: the number of one that the rank has
    allocated for NICs, which `address` counts from; -1: an address of the rank's own."""

    buffer: int
    address: int
    data: bytes


@dataclass(slots=True)
class Step:
    """One answer, with what NICs wrote before it, and what the rank asked next: None as long as it
    has not."""

    frame: bytes
    writes: Sequence[Write] = ()
    requests: list[Request] | None = None


@dataclass
class Log:
    """`taken`: simulated time of the snapshot."""

    taken: int
    steps: list[Step] = field(default_factory=list)

    @property
    def work(self) -> int:
        """Host work that is done again, in picoseconds."""
        return sum(request.elapsed for step in self.steps for request in step.requests or ())


def difference(before: Sequence[Request], now: Sequence[Request]) -> str:
    """Return how a repeated run of requests differs, in words; empty if it does not."""
    for number, old in enumerate(before):
        if number >= len(now):
            return f"no {_name(old)} comes after {number} requests"
        new = now[number]
        if old.op != new.op:
            return f"{_name(new)} instead of {_name(old)}"
        if old.payload != new.payload:
            return f"another {_name(new)}"
        if old.elapsed != new.elapsed:
            return f"{_name(new)} after {new.elapsed} ps of work instead of {old.elapsed} ps"
    return "" if len(before) == len(now) else f"{_name(now[len(before)])} after the last request"


def _name(request: Request) -> str:
    return Op(request.op).name
