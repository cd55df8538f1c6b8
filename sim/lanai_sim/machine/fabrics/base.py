"""What a kind of fabric says of itself."""

from abc import ABC, abstractmethod
from typing import ClassVar

from ..fabric import Fabric


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
