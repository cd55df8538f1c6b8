"""The fabric `mesh:XxYxZ`."""

from ..fabric import Fabric
from ..grid import grid
from .base import FabricKind


class Mesh(FabricKind):
    usage = "mesh:XxYxZ"
    help = "a switch a node, each joined to its neighbours in up to 3 dimensions"

    def make(self, argument: str, nics: int) -> Fabric:
        return grid("mesh", argument, nics, wraps=False)


KIND = Mesh()
