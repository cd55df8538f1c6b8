"""Placements of ranks that the device cannot serve."""

from lanai_firmware.programs.put.layout import NODES

from ...errors import UserError
from ..base import Placement


def check_placement(placement: Placement) -> None:
    """Raise UserError for what no NIC of the device can serve."""
    if placement.ranks_per_node != 1:
        raise UserError(f"t3d puts one rank on a NIC, not {placement.ranks_per_node}; leave out --ranks-per-node")
    if placement.ranks > int(NODES):
        raise UserError(f"t3d has room for {int(NODES)} ranks, not {placement.ranks}; start fewer")
