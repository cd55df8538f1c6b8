"""Real boards on serial ports of this machine. Their time cannot be stopped."""

import time
from collections.abc import Sequence

from lanai_hdl.uart.frame import Frame, whole_frames
from lanai_host.bus.serial import SerialPort

from .lines import Boards, Came

NAP = 0.0001  # seconds between two looks at the ports
A_WHILE = 0.05  # seconds of silence after which `run` returns


class SerialBoards(Boards):
    """Boards by the names of their ports. Their time is that of this machine, since it has opened the ports."""

    def __init__(self, ports: Sequence[str], baud: int, slot_khz: int) -> None:
        self._ports = [SerialPort(port, baud) for port in ports]
        self._parts = [bytearray() for _ in ports]  # of frames that have not come whole
        self._khz = slot_khz
        self._began = time.monotonic_ns()

    @property
    def slot(self) -> int:
        return (time.monotonic_ns() - self._began) * self._khz // 10**6

    def run(self, limit: int) -> list[Came]:
        end = time.monotonic() + A_WHILE
        while True:
            found = [Came(board, frame) for board in range(len(self._ports)) for frame in self._frames(board)]
            if found or self.slot >= limit or time.monotonic() > end:
                return found
            time.sleep(NAP)

    def _frames(self, board: int) -> list[Frame]:
        """Return the frames of a board that have come whole."""
        self._parts[board] += self._ports[board].arrived()
        return list(whole_frames(self._parts[board]))

    def send(self, board: int, data: bytes) -> None:
        self._ports[board].write(data)

    def untaken(self, board: int, tell: bool) -> bool:
        """The operating system keeps what the line has yet to carry."""
        return False

    def close(self) -> None:
        for port in self._ports:
            port.close()
