"""The interface of a kind of fabric."""

from abc import ABC, abstractmethod
from typing import ClassVar

from lanai_hdl.link.format import MOST_PORTS

from ..fabric import Fabric

SIZES = (2, 4, 8, MOST_PORTS)  # ports of a switch


def switch_ports(needed: int) -> int:
    """The ports of a switch that has at least so many, at most `MOST_PORTS`.

    There are few sizes, so that machines of different sizes share a model, which takes half a
    minute to build. A port that leads nowhere moves no packet in time.
    """
    return next(size for size in SIZES if size >= needed)


class FabricKind(ABC):
    """One way to join NICs.

    Attributes:
        usage: as users write it, such as `switches:N`. With a colon an argument must be given,
            without one none.
        help: one line for users.
    """

    usage: ClassVar[str]
    help: ClassVar[str]

    @abstractmethod
    def make(self, argument: str, nics: int) -> Fabric:
        """`argument` is what stands after the colon. UserError if it is not understood or does not
        fit `nics`."""
