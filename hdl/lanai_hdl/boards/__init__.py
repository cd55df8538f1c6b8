"""The NIC on real boards."""

from ..errors import unknown
from .arty_a7 import ARTY_A7
from .board import Board
from .ulx3s import ULX3S

BOARDS: dict[str, Board] = {board.name: board for board in (*ULX3S, *ARTY_A7)}


def find(name: str) -> Board:
    """The board called `name`; a UserError names those that exist."""
    if name not in BOARDS:
        raise unknown("board", name, sorted(BOARDS))
    return BOARDS[name]


__all__ = ["BOARDS", "Board", "find"]
