"""The ranks of one test: a run of the simulator, with what each of them printed."""

import sys
from dataclasses import dataclass, field
from typing import IO, TextIO

from ..job.config import Result, RunConfig
from ..job.launcher import Run
from ..job.output import Output
from ..job.start import libmpi_environment, world_of
from ..job.warm import WarmServers
from .task import ENV_TASK, TEXT

OUT, ERR = "stdout", "stderr"


class Printed(Output):
    """Keeps what ranks print, by rank and stream. `show`: pass it on at once as well."""

    def __init__(self, show: bool) -> None:
        super().__init__(prefix=show)
        self._show = show
        self._kept: dict[tuple[int, str], bytearray] = {}
        self._texts: dict[int, bytearray] = {}  # the same by the descriptor of an open pipe

    def add(self, pipe: IO[bytes], rank: int, target: TextIO) -> None:
        name = ERR if (rank, OUT) in self._kept else OUT
        self._texts[pipe.fileno()] = self._kept.setdefault((rank, name), bytearray())
        super().add(pipe, rank, target)

    def _write(self, number: int, text: bytes) -> None:
        self._texts[number].extend(text)
        if self._show:
            super()._write(number, text)

    def texts(self) -> dict[tuple[int, str], str]:
        """What was printed, by rank and stream. Bytes that are not text are replaced."""
        return {key: bytes(text).decode(errors="replace") for key, text in sorted(self._kept.items()) if text}


@dataclass(frozen=True)
class Ended:
    """How the ranks of a test ended."""

    result: Result
    printed: dict[tuple[int, str], str] = field(default_factory=dict)


def run_ranks(
    folder: str, ranks: int, device: str, servers: WarmServers, *, wall: float, sim_time: int, show: bool = False
) -> Ended:
    """Run the test whose task lies in a folder. Raises UserError for what cannot be started."""
    config = RunConfig(
        (sys.executable, "-c", TEXT), ranks, device, max_wall=wall, max_sim_time=sim_time,
        environment={**libmpi_environment(), ENV_TASK: folder},
    )  # fmt: skip
    printed = Printed(show)
    result = Run(config, world_of(config), printed, servers).execute()
    return Ended(result, printed.texts())
