"""The engine of boards as a kind: `--engine board`, and `--board` with what is at the ends of the lines."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError

from ..base import Engine, Layout
from .base import Capability, EngineKind, EngineOptions

if TYPE_CHECKING:
    from ..boards.lines import Boards

USUAL = "ulx3s-85f"
BOARDS = 2  # a phy has one other end


@dataclass(frozen=True)
class BoardsChosen:
    """The boards that `--board` names: [NAME:]PORT,PORT, or NAME alone for simulated ones."""

    name: str = USUAL
    ports: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises UserError."""
        from ..boards import known

        if not text:
            return cls()
        name, colon, ports = text.partition(":")
        if not colon and "," not in text and "/" not in text:
            return cls(name)
        if not colon or name not in known.names():
            name, ports = USUAL, text
        found = tuple(port.strip() for port in ports.split(","))
        if len(found) != BOARDS or not all(found) or found[0] == found[1]:
            raise UserError(
                f"--board {text!r} does not name {BOARDS} serial ports; write, for example, /dev/ttyUSB0,/dev/ttyUSB1"
            )
        return cls(name, found)


class BoardKind(EngineKind):
    name = "board"
    help = "two boards, their phys joined by a cable, simulated or on serial ports (--board): times are the boards' own"
    capabilities = Capability.RANKS | Capability.SKIP
    fabric = (("nic0", "switch0.0"), ("switch0.1", "switch1.1"), ("switch1.0", "nic1"))  # a switch on each board
    nics = BOARDS
    measured = "times are measured on the boards, host lines included; a NIC's own times are those of the engine rtl"

    def nic(self, board: str) -> NicConfig:
        from ..boards import known

        return known.board(BoardsChosen.parse(board).name).config

    def is_real(self, board: str) -> bool:
        return bool(BoardsChosen.parse(board).ports)

    def make(self, layout: Layout, options: EngineOptions) -> Engine:
        from ..boards.engine import BoardEngine

        engine = BoardEngine(layout, self._boards(layout.nic, options))
        try:
            engine.await_link()
        except UserError:
            engine.close()
            raise
        return engine

    def _boards(self, nic: NicConfig, options: EngineOptions) -> "Boards":
        chosen = BoardsChosen.parse(options.board)
        if not chosen.ports:
            from ..boards.pair import SimulatedPair

            return SimulatedPair(nic, options.skip)
        from ..boards import known
        from ..boards.ports import SerialBoards

        return SerialBoards(chosen.ports, known.board(chosen.name).baud, nic.slot_khz)
