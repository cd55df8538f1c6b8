"""The very top that a board carries, Verilated, its line to the host in Python's hand: the self-test
before there is a board.

Amaranth's own simulator makes a few hundred slots a second of this top, and the self-test needs
some hundred thousand.
"""

import ctypes
from functools import cache
from importlib.resources import files
from typing import Any

from lanai_firmware.programs.selftest.program import FIRMWARE as SELFTEST
from lanai_hdl.boards import Board
from lanai_hdl.boards.board import FT245, FT245_SYNC, USB_KHZ
from lanai_hdl.phy.phy import RxClockPort
from lanai_hdl.verilog import by_yosys
from lanai_host.bus.base import BusError
from lanai_host.bus.serial import SerialLine

from ..engines import designs
from ..engines.verilated import Model
from ..engines.verilator import Source, library
from .bitstream import board_top

TOP = "lanai_board"
TIMEOUT_BITS = 100_000  # bit times of silence after which the board is taken for dead


def _source(board: Board) -> Source:
    """Its top, elaborated only if the cache lacks the library: that takes seconds."""

    def make() -> list[Model]:
        top: Any = board_top(board)
        if board.line == FT245_SYNC:
            top = RxClockPort(top, ["usb"])
        return [Model(TOP, {f"{TOP}.v": by_yosys(top, TOP)})]

    key = (*designs.key(()), TOP, repr(board.config), board.line, board.divisor, *SELFTEST.words(board.config))
    return Source(key, make)


@cache
def _library(board: Board) -> ctypes.CDLL:
    harness = files(__package__).joinpath("board_harness.cc").read_text()
    if board.line == FT245:
        harness = f"#define FT245\n{harness}"
    if board.line == FT245_SYNC:
        harness = f"#define FT245\n#define USB_KHZ {USB_KHZ}\n#define SLOT_KHZ {board.config.slot_khz}\n{harness}"
    loaded = ctypes.CDLL(str(library(_source(board), harness, optimize="-O1")))
    for name, result, arguments in (
        ("new", ctypes.c_void_p, (ctypes.c_uint32,)),
        ("delete", None, (ctypes.c_void_p,)),
        ("send", None, (ctypes.c_void_p, ctypes.c_uint8)),
        ("receive", ctypes.c_int32, (ctypes.c_void_p, ctypes.c_uint64)),
        ("slots", ctypes.c_uint64, (ctypes.c_void_p,)),
        ("leds", ctypes.c_uint32, (ctypes.c_void_p,)),
    ):
        function = getattr(loaded, f"board_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded


class VerilatedBoard(SerialLine):
    """`board`, powered up in simulation. It is clocked while a byte is being sent or awaited, and
    stands still otherwise."""

    def __init__(self, board: Board) -> None:
        self._api = _library(board)
        self._timeout = TIMEOUT_BITS * board.divisor
        self._board = self._api.board_new(board.divisor)
        self._slots_per_second = 1000 * board.config.slot_khz
        self._early: list[int] = []  # the byte that `poll` has found

    def __enter__(self) -> "VerilatedBoard":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def write(self, data: bytes) -> None:
        for byte in data:
            self._api.board_send(self._board, byte)

    def close(self) -> None:
        self._api.board_delete(self._board)
        self._board = None

    @property
    def seconds(self) -> float:
        return self.slots / self._slots_per_second

    def poll(self, seconds: float) -> bool:
        if not self._early:
            slots = min(self._timeout, int(seconds * self._slots_per_second))
            byte = int(self._api.board_receive(self._board, slots))
            self._early = [byte] if byte >= 0 else []
        return bool(self._early)

    def read(self, size: int) -> bytes:
        return bytes(self._byte() for _ in range(size))

    def _byte(self) -> int:
        if self._early:
            return self._early.pop()
        byte: int = self._api.board_receive(self._board, self._timeout)
        if byte < 0:
            raise BusError(f"the simulated board said nothing for {self._timeout} slots")
        return byte

    @property
    def slots(self) -> int:
        """Slots since power-up."""
        return int(self._api.board_slots(self._board))

    @property
    def leds(self) -> int:
        return int(self._api.board_leds(self._board))
