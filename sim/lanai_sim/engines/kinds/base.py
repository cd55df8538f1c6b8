"""The kinds of engines: their capabilities, and how a run makes one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Flag, auto
from typing import ClassVar

from ..base import Engine, Layout


class Capability(Flag):
    """An ability of an engine that a run may need beyond `Engine`'s abstract methods."""

    RANKS = auto()  # `map_remote`: memory of other processes
    FAULTS = auto()  # `faults`, `fault_count`
    WAVES = auto()  # `wave`
    RECORD = auto()  # `record`, `recorded`: what `lanai replay` plays
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
    """

    skip: bool = True
    threads: int = 1
    waves: bool = False


class EngineKind(ABC):
    """One way to evaluate the gateware.

    Attributes:
        name: as `--engine` has it; the module's name with dashes.
        help: one line for users.
        capabilities: a run that needs others is refused before it starts.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    capabilities: ClassVar[Capability]

    @abstractmethod
    def make(self, layout: Layout, options: EngineOptions) -> Engine: ...
