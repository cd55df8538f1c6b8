"""The NIC on real boards."""

from ..errors import UserError
from .board import Board
from .ulx3s import ULX3S_85F

BOARDS: dict[str, Board] = {board.name: board for board in (ULX3S_85F,)}


def find(name: str) -> Board:
    """The board called `name`; a UserError names those that exist."""
    try:
        return BOARDS[name]
    except KeyError:
        raise UserError(f"no board is called {name!r}; there are: {', '.join(sorted(BOARDS))}") from None


__all__ = ["BOARDS", "Board", "find"]
