"""The fabric `torus:XxYxZ`."""

from ..fabric import Fabric
from ..grid import grid
from .base import FabricKind


class Torus(FabricKind):
    usage = "torus:XxYxZ"
    help = "a switch a node, each joined to its neighbours in up to 3 dimensions, the last to the first"

    def make(self, argument: str, nics: int) -> Fabric:
        return grid("torus", argument, nics, wraps=True)


KIND = Torus()
