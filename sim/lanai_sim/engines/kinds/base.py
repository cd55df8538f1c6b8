"""The kinds of engines: their capabilities, and how a run makes one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import ClassVar

from lanai_hdl.config import NicConfig

from ..base import Engine, Layout

Cables = Sequence[tuple[str, str]]  # pairs of ends such as ("nic0", "switch0.3")


class Capability(Flag):
    """An ability of an engine that a run may need beyond `Engine`'s abstract methods."""

    RANKS = auto()  # `map_remote`: memory of other processes
    FAULTS = auto()  # `faults`, `fault_count`
    WAVES = auto()  # `wave`
    RECORD = auto()  # `record`, `recorded`: what `lanai dev replay` plays
    THREADS = auto()  # `EngineOptions.threads` above 1
    SKIP = auto()  # `EngineOptions.skip`
    TRACE = auto()  # `lanai run --trace`


@dataclass(frozen=True)
class EngineOptions:
    """The options of an engine that a run chooses.

    Attributes:
        skip: leave out slots in which a unit is still. Results are the same.
        threads: that evaluate units. Results are the same.
        waves: `wave` will be called.
        board: what `--board` says.
    """

    skip: bool = True
    threads: int = 1
    waves: bool = False
    board: str = ""


class EngineKind(ABC):
    """One way to evaluate the gateware.

    Attributes:
        name: as `--engine` has it; the module's name with dashes.
        help: one line for users.
        capabilities: a run that needs others is refused before it starts.
        measured: what a report says of the times, if they are not those of the NICs alone.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    capabilities: ClassVar[Capability]
    measured: ClassVar[str] = ""

    def nic(self, board: str) -> NicConfig | None:
        """The only NIC that it has, on the boards that `--board` names; None: those that a job can choose."""
        return None

    def fabrics(self, board: str) -> Mapping[int, Cables]:
        """Return the cables of the only fabric that it has, by the number of NICs, on the boards that `--board` names;
        none: a job can choose one, for any number."""
        return {}

    def is_real(self, board: str) -> bool:
        """Return whether its time is this machine's, so that the host's own work has no price beside."""
        return False

    def check(self, board: str) -> None:  # noqa: B027  # most have nothing outside of this process
        """Raise UserError for boards that are not there, as far as that is known before one is opened."""

    @abstractmethod
    def make(self, layout: Layout, options: EngineOptions) -> Engine: ...
