"""The boards that `--board` offers.

This project's are in `lanai_hdl.boards`. A module `my_board` in `boards/` of a directory on LANAI_PATH that holds
`BOARD`, a `lanai_hdl.boards.Board`, is the board `my-board`. Nothing else needs to be registered.
"""

from functools import cache

from lanai_hdl.boards import BOARDS, Board
from lanai_host import plugins
from lanai_host.errors import unknown
from lanai_host.plugins import Contract, usable

CONTRACT = Contract("board", __name__, "BOARD", Board, lambda found: str(found.name))


@cache
def names() -> tuple[str, ...]:
    """The boards that exist, by name."""
    return tuple(sorted(plugins.names_with(__path__, "boards", BOARDS)))


def board(name: str) -> Board:
    """The board of that name. Raises UserError with those that exist."""
    if name not in names():
        raise unknown("board", name, names())
    if name in BOARDS:
        return BOARDS[name]
    found: Board = CONTRACT.load(name)
    return found


def boards() -> tuple[Board, ...]:
    """The boards that exist. Broken ones are left out, with a warning."""
    return tuple(found for _, found in usable(names(), board))
