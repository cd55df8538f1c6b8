"""The optional blocks that `lanai build --with` adds to a board's NIC."""

from collections.abc import Iterable
from dataclasses import replace

from lanai_hdl.block_config import BlockConfig
from lanai_hdl.boards import Board
from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote

OPTIONAL: dict[str, type[BlockConfig]] = {Remote.name: Remote}


def with_blocks(board: Board, names: Iterable[str]) -> Board:
    """The board with these blocks in its NIC, as they are configured by default."""
    names = tuple(names)
    for name in names:
        if name not in OPTIONAL:
            raise UserError(f"no optional block is called {name!r}; there are: {', '.join(OPTIONAL)}")
    return replace(board, config=board.config.but(blocks=tuple(OPTIONAL[name]() for name in names)))
