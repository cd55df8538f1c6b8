"""Two boards in simulation: the tops that boards carry, each with a clock of its own, their phys joined by a cable."""

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from lanai_hdl.boards.top import FifoBoardTop
from lanai_hdl.config import NicConfig
from lanai_hdl.phy.phy import RxClockPort
from lanai_hdl.uart.frame import WITH_ADDRESS, WITH_WORDS, whole_frames
from lanai_hdl.verilog import by_yosys

from .. import designs
from ..verilated import Model
from ..verilator import Source, library
from .lines import Boards, Came

TOP = "lanai_phy_board"
APART_PPM = 100  # of the second board's clock from the first one's
CABLE_FS = 3_000_000  # on the cable, of both clocks and symbols
LINE_BYTES = 4096  # that come at once, at most
SETTLED = 256  # slots for which both must be still: more than anything takes in phys and cable


def _source(nic: NicConfig) -> Source:
    def make() -> list[Model]:
        top = RxClockPort(FifoBoardTop(nic, None, phy=True))
        return [Model(TOP, {f"{TOP}.v": by_yosys(top, TOP)})]

    return Source((*designs.key(()), TOP, repr(nic)), make)


@cache
def _library(nic: NicConfig) -> ctypes.CDLL:
    harness = files(__package__).joinpath("pair_harness.cc").read_text()
    loaded = ctypes.CDLL(str(library(_source(nic), harness, title="a model of two boards")))
    pair, board, number = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint64
    for name, result, arguments in (
        ("new", pair, (number, number, number, number, ctypes.c_uint32, ctypes.c_uint32)),
        ("delete", None, (pair,)),
        ("run", ctypes.c_int32, (pair, number)),
        ("slots", number, (pair, board)),
        ("up", ctypes.c_uint32, (pair, board)),
        ("rewire", None, (pair, board, ctypes.c_char_p, ctypes.c_uint32)),
        ("send", None, (pair, board, ctypes.c_char_p, number)),
        ("untaken", number, (pair, board, ctypes.c_int32)),
        ("frames", number, (pair, board, ctypes.c_char_p, number)),
    ):
        function = getattr(loaded, f"pair_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded


STILL = 3  # `Stop` of the harness


class SimulatedPair(Boards):
    """Two boards and a cable. They go on only while something is awaited."""

    def __init__(self, nic: NicConfig, skip: bool = True) -> None:
        self._api = _library(nic)
        period = 10**12 // nic.slot_khz
        other = period + period * APART_PPM // 10**6
        settled = SETTLED if skip else 2**64 - 1
        kinds = (sum(1 << kind.value for kind in some) for some in (WITH_ADDRESS, WITH_WORDS))
        self._pair = self._api.pair_new(period, other, CABLE_FS, settled, *kinds)
        self._passed = 0  # slots that passed while both were still
        self._still = False
        self._parts = bytearray(), bytearray()  # of frames that have not come whole

    @property
    def slot(self) -> int:
        return int(self._api.pair_slots(self._pair, 0)) + self._passed

    def run(self, limit: int) -> list[Came]:
        self._still = self._api.pair_run(self._pair, limit - self._passed) == STILL
        found, line = [], ctypes.create_string_buffer(LINE_BYTES)
        for board, part in enumerate(self._parts):
            came = self._api.pair_frames(self._pair, board, line, LINE_BYTES)
            part += line.raw[:came]
            found += [Came(board, frame) for frame in whole_frames(part)]
        return found

    def send(self, board: int, data: bytes) -> None:
        self._still = False
        self._api.pair_send(self._pair, board, data, len(data))

    def untaken(self, board: int, tell: bool) -> bool:
        return bool(self._api.pair_untaken(self._pair, board, tell))

    @property
    def still(self) -> bool:
        return self._still

    def pass_to(self, slot: int) -> None:
        """The clocks of both stand meanwhile: of all that a board shows, its counters of time alone could tell."""
        self._passed += max(0, slot - self.slot)

    def up(self, board: int) -> bool:
        """Return whether a board's phy has a link."""
        return bool(self._api.pair_up(self._pair, board))

    def rewire(self, board: int, wires: Sequence[int], inverted: int = 0) -> None:
        """Give each pin into a board's phy (control, data 0 to 3) another wire; invert some, a bit each."""
        self._api.pair_rewire(self._pair, board, bytes(wires), inverted)

    def close(self) -> None:
        if self._pair is not None:
            self._api.pair_delete(self._pair)
            self._pair = None
