"""The engine of boards as a kind: `--engine board`, and `--board` with what is at the ends of the lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError

from ..base import Engine, Layout
from .base import Cables, Capability, EngineKind, EngineOptions

if TYPE_CHECKING:
    from lanai_hdl.boards import Board

    from ..boards.lines import Boards

USUAL = "ulx3s-85f"
TWO = 2  # a phy has one other end: more boards need one that is a switch


@dataclass(frozen=True)
class BoardsChosen:
    """The boards that `--board` names: [NAME:]PORT,PORT..., or NAME alone for simulated ones."""

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
        if len(found) < TWO or not all(found) or len(set(found)) < len(found):
            raise UserError(
                f"--board {text!r} does not name {TWO} or more serial ports; write, for example, "
                "/dev/ttyUSB0,/dev/ttyUSB1"
            )
        return cls(name, found)


def cables(boards: int) -> Cables:
    """Return the cables of so many boards, each with a switch between its NIC and its phy. A third one and more are at
    the ports of a switch of their own, which comes last."""
    own = [(f"nic{n}", f"switch{n}.0") for n in range(boards)]
    if boards == TWO:
        return (*own, ("switch0.1", "switch1.1"))
    return (*own, *((f"switch{n}.1", f"switch{boards}.{n}") for n in range(boards)))


class BoardKind(EngineKind):
    name = "board"
    help = (
        "two boards, their phys joined by a cable, or up to four at one that is a switch, simulated or on serial ports "
        "(--board): times are the boards' own"
    )
    capabilities = Capability.RANKS | Capability.SKIP
    measured = "times are measured on the boards, host lines included; a NIC's own times are those of the engine rtl"

    def nic(self, board: str) -> NicConfig:
        return _board(board).config

    def fabrics(self, board: str) -> Mapping[int, Cables]:
        chosen, most = BoardsChosen.parse(board), max(TWO, len(_board(board).ports))
        if len(chosen.ports) > most:
            raise UserError(
                f"--board {board!r} names {len(chosen.ports)} boards; a switch on {chosen.name} has ports for {most}"
            )
        counts = [len(chosen.ports)] if chosen.ports else range(TWO, most + 1)
        return {count: cables(count) for count in counts}

    def is_real(self, board: str) -> bool:
        return bool(BoardsChosen.parse(board).ports)

    def check(self, board: str) -> None:
        from lanai_host.bus.serial import check_port  # brings Amaranth along

        for port in BoardsChosen.parse(board).ports:
            check_port(port)

    def make(self, layout: Layout, options: EngineOptions) -> Engine:
        from ..boards.engine import BoardEngine

        engine = BoardEngine(layout, self._boards(layout, options))
        try:
            if self.is_real(options.board):
                engine.check()
            engine.await_link()
        except UserError:
            engine.close()
            raise
        return engine

    def _boards(self, layout: Layout, options: EngineOptions) -> "Boards":
        chosen, board = BoardsChosen.parse(options.board), _board(options.board)
        if not chosen.ports:
            from ..boards.simulated import SimulatedBoards

            ports = len(board.ports) if layout.nics > TWO else 0
            return SimulatedBoards(layout.nic, layout.nics, ports, options.skip)
        from ..boards.ports import SerialBoards

        return SerialBoards(chosen.ports, board.baud, layout.nic.slot_khz)


def _board(text: str) -> "Board":
    """Return the board that `--board` names."""
    from ..boards import known

    return known.board(BoardsChosen.parse(text).name)
