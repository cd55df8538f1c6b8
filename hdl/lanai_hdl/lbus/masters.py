"""Masters of the LBUS: the list from which the arbiter, its ports and the slot counters follow."""

from dataclasses import dataclass
from enum import Enum

from ..csr.declare import Counter


class Edge(Enum):
    """The edges of the processor clock on which a master is served. Two slots make a processor
    cycle."""

    RISING = "even slots"
    FALLING = "odd slots"
    BOTH = "every slot"


@dataclass(frozen=True)
class Master:
    """One master of the LBUS.

    Attributes:
        name: of its port at `Lbus` and of its bit in `Lbus.used` and `Lbus.waited`.
        used: counts slots granted to it.
        waited: counts slots of its edge in which it asked and was not granted.
    """

    name: str
    edge: Edge
    used: Counter
    waited: Counter

    @property
    def counters(self) -> tuple[Counter, Counter]:
        return self.used, self.waited


def master(name: str, edge: Edge, offset: int, title: str) -> Master:
    """A master whose two slot counters are at `offset` and in the word behind it. `title` names it
    in the reference."""
    return Master(
        name,
        edge,
        Counter(f"SLOTS_{name.upper()}_USED", offset, f"slot granted to {title}"),
        Counter(f"SLOTS_{name.upper()}_WAITED", offset + 4, f"slot in which {title} asked in vain"),
    )


HDMA = master("hdma", Edge.RISING, 0x200, "the host DMA")
PIO = master("pio", Edge.RISING, 0x208, "host PIO")
RECV = master("recv", Edge.FALLING, 0x210, "the receive DMA")
SEND = master("send", Edge.FALLING, 0x218, "the send DMA")
CPU = master("cpu", Edge.BOTH, 0x220, "the processor")

# In order of priority within an edge (NP-56). PIO shares the host DMA's edge and goes first, for a
# PIO word is rare.
ENGINES = (PIO, HDMA, RECV, SEND)
MASTERS = (*ENGINES, CPU)
