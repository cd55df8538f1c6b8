"""Boards in simulation: the tops that boards carry, each with a clock of its own, their phys joined by cables."""

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from amaranth import Elaboratable

from lanai_hdl.boards.switch import SwitchTop
from lanai_hdl.boards.top import FifoBoardTop
from lanai_hdl.config import NicConfig
from lanai_hdl.phy.phy import RxClockPort
from lanai_hdl.uart.frame import WITH_ADDRESS, WITH_WORDS, whole_frames
from lanai_hdl.verilog import by_yosys

from .. import designs
from ..verilated import Model
from ..verilator import Source, library
from .lines import Boards, Came

TOP, SWITCH_TOP = "lanai_phy_board", "lanai_switch_board"
APART_PPM = 100  # of each board's clock from the one before it, and of the switch's from the last one
CABLE_FS = 3_000_000  # on a cable, of both clocks and symbols
LINE_BYTES = 4096  # that come at once, at most
SETTLED = 256  # slots for which all must be still: more than anything takes in phys and cables


def _source(nic: NicConfig, ports: int) -> Source:
    def make() -> list[Model]:
        tops: dict[str, Elaboratable] = {TOP: RxClockPort(FifoBoardTop(nic, None, phy=True))}
        if ports:
            switch = SwitchTop(nic, ports)
            tops[SWITCH_TOP] = RxClockPort(switch, switch.domains)
        return [Model(name, {f"{name}.v": by_yosys(top, name)}) for name, top in tops.items()]

    return Source((*designs.key(()), TOP, ports, repr(nic)), make)


def _harness(ports: int) -> str:
    each = " ".join(f"X({port})" for port in range(ports))
    text = files(__package__).joinpath("harness.cc").read_text()
    return f"#define PORTS {ports}\n#define EACH_PORT(X) {each}\n{text}"


@cache
def _library(nic: NicConfig, ports: int) -> ctypes.CDLL:
    title = "a model of boards and a switch" if ports else "a model of two boards"
    loaded = ctypes.CDLL(str(library(_source(nic, ports), _harness(ports), title=title)))
    network, board, number = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint64
    for name, result, arguments in (
        ("new", network, (ctypes.POINTER(number), board, number, number, ctypes.c_uint32, ctypes.c_uint32)),
        ("delete", None, (network,)),
        ("run", ctypes.c_int32, (network, number)),
        ("slots", number, (network, board)),
        ("up", ctypes.c_uint32, (network, board)),
        ("rewire", None, (network, board, ctypes.c_char_p, ctypes.c_uint32)),
        ("send", None, (network, board, ctypes.c_char_p, number)),
        ("untaken", number, (network, board, ctypes.c_int32)),
        ("frames", number, (network, board, ctypes.c_char_p, number)),
    ):
        function = getattr(loaded, f"boards_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded


STILL = 3  # `Stop` of the harness


class SimulatedBoards(Boards):
    """Boards and cables: two with one between them, or up to `ports` at the ports of a board that is a switch. They go
    on only while something is awaited."""

    def __init__(self, nic: NicConfig, count: int = 2, ports: int = 0, skip: bool = True) -> None:
        self._api = _library(nic, ports)
        period = 10**12 // nic.slot_khz
        periods = [period + period * APART_PPM * n // 10**6 for n in range(count + bool(ports))]
        settled = SETTLED if skip else 2**64 - 1
        kinds = (sum(1 << kind.value for kind in some) for some in (WITH_ADDRESS, WITH_WORDS))
        clocks = (ctypes.c_uint64 * len(periods))(*periods)
        self._boards = self._api.boards_new(clocks, count, CABLE_FS, settled, *kinds)
        self._passed = 0  # slots that passed while all were still
        self._still = False
        self._parts = [bytearray() for _ in range(count)]  # of frames that have not come whole

    @property
    def slot(self) -> int:
        return int(self._api.boards_slots(self._boards, 0)) + self._passed

    def run(self, limit: int) -> list[Came]:
        self._still = self._api.boards_run(self._boards, limit - self._passed) == STILL
        found, line = [], ctypes.create_string_buffer(LINE_BYTES)
        for board, part in enumerate(self._parts):
            came = self._api.boards_frames(self._boards, board, line, LINE_BYTES)
            part += line.raw[:came]
            found += [Came(board, frame) for frame in whole_frames(part)]
        return found

    def send(self, board: int, data: bytes) -> None:
        self._still = False
        self._api.boards_send(self._boards, board, data, len(data))

    def untaken(self, board: int, tell: bool) -> bool:
        return bool(self._api.boards_untaken(self._boards, board, tell))

    @property
    def still(self) -> bool:
        return self._still

    def pass_to(self, slot: int) -> None:
        """The clocks of all stand meanwhile: of all that a board shows, its counters of time alone could tell."""
        self._passed += max(0, slot - self.slot)

    def up(self, board: int) -> bool:
        """Return whether a board's phy has a link."""
        return bool(self._api.boards_up(self._boards, board))

    def rewire(self, board: int, wires: Sequence[int], inverted: int = 0) -> None:
        """Give each pin into a board's phy (control, data 0 to 3) another wire; invert some, a bit each."""
        self._api.boards_rewire(self._boards, board, bytes(wires), inverted)

    def close(self) -> None:
        if self._boards is not None:
            self._api.boards_delete(self._boards)
            self._boards = None
