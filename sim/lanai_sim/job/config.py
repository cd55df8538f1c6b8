"""What a run is asked to be, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from lanai_hdl.config import NicConfig, lanai41
from lanai_host.clocks.library import Clock, can_be_loaded
from lanai_host.config import HostConfig
from lanai_host.errors import UserError
from lanai_host.stacks import stack
from lanai_host.stacks.base import Stack

from ..engines import kinds
from ..engines.kinds.base import Capability, EngineKind
from ..kernel.kernel import FOREVER
from ..machine.fabrics.cables import Ends
from ..machine.faults import Fault
from .buffers import Buffers
from .restart.plan import Checkpoint, Kill, check_kills
from .summary import Summary
from .waiting import Doing


class Exit(IntEnum):
    """Exit codes that are lanai's own; otherwise a run's code is that of the lowest rank that
    failed."""

    NOT_FINALIZED = 1
    OUTPUT_LOST = 1
    FORBIDDEN = 1
    USER_ERROR = 2
    DEADLOCK = 3
    TIME_LIMIT = 124  # as timeout(1) has it
    INTERRUPTED = 130


@dataclass(frozen=True)
class WaveConfig:
    """Waveforms to write: of some nodes, for a window of simulated time in picoseconds."""

    file: str
    nodes: tuple[int, ...] = (0,)
    begin: int = 0
    end: int = FOREVER


@dataclass(frozen=True)
class Program:
    """What some of a run's ranks execute. `environment` is laid over that of the run."""

    command: tuple[str, ...]
    ranks: int
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""  # where they run; empty: where the run was started


@dataclass(frozen=True)
class RunConfig:
    """What to run and on what."""

    command: tuple[str, ...]
    ranks: int
    device: str = "ideal"
    host: HostConfig = field(default_factory=HostConfig)
    options: Any = None  # of the messaging system, as its `Stack` has them; None: its default
    universe: int = 0  # ranks and spares, which ranks may start processes on; 0: no spares
    ranks_per_node: int = 1
    fabric: str | Ends = "switch"  # what `fabrics.describe` takes
    nic: NicConfig = field(default_factory=lanai41)
    engine: str = kinds.DEFAULT
    threads: int = 1
    skip: bool = True
    snapshot: bool = True  # begin with NICs as an earlier run's boot left them
    faults: tuple[Fault, ...] = ()
    kills: tuple[Kill, ...] = ()
    checkpoint: Checkpoint | None = None
    wave: "WaveConfig | None" = None
    trace: str | None = None  # file to write the event stream to
    inputs: tuple[int, Path] | None = None  # a node whose NIC's inputs are kept, and their file; for `lanai replay`
    max_sim_time: int = FOREVER  # picoseconds
    max_wall: float = float("inf")  # seconds
    fork: bool = True  # ranks of this Python from one process that has imported what they need
    survive: bool = False  # a rank that dies is an error for those that talk to it, and the others go on
    prefix: bool = False
    buffers: Buffers = Buffers.ANY
    clock: Clock | None = None  # what the clocks of ranks show; None: `chosen_clock`
    progress: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[Program, ...] = ()  # by rank, together for all of them; none: all ranks execute `command`
    rank_variables: tuple[str, ...] = ()  # more environment variables that hold a rank's number

    @property
    def total_ranks(self) -> int:
        """Ranks that the run has room for: those that begin, and spares."""
        return max(self.ranks, self.universe)

    @property
    def all_programs(self) -> tuple[Program, ...]:
        """What the ranks execute."""
        return self.programs or (Program(self.command, self.ranks),)

    @property
    def stack(self) -> Stack:
        return stack(self.device)

    @property
    def chosen_options(self) -> Any:
        """The messaging system's options, its default ones if none were given."""
        return self.stack.default_options() if self.options is None else self.options

    @property
    def chosen_clock(self) -> Clock:
        """What the clocks of ranks show. Unless it was chosen, they are simulated where NICs are, but not
        where ranks are kept restartable, or pay for measured CPU time."""
        if self.clock is not None:
            return self.clock
        simulated = self.stack.nics and not (self.checkpoint or self.kills or self.host.cpu_scale)
        return Clock.SIMULATED if simulated and can_be_loaded() else Clock.REAL

    @property
    def engine_kind(self) -> EngineKind:
        return kinds.kind(self.engine)

    @property
    def relayed(self) -> bool:
        """Ranks without NICs reach each other through the simulator, as one may be killed."""
        return not self.stack.nics and bool(self.kills or self.checkpoint)

    def check_restart(self) -> None:
        """Raise UserError for kills that cannot be, and for what cannot be combined with
        restarts."""
        check_kills(self.kills, self.ranks, self.max_sim_time)
        asked = "--checkpoint" if self.checkpoint else "--fault kill" if self.relayed else ""
        others = {
            "--universe": bool(self.universe),
            "--trace": self.trace is not None,
            "--cpu-scale": bool(self.host.cpu_scale),
            "--survive-death": self.survive and self.checkpoint is not None,
            "--clock simulated": self.clock is Clock.SIMULATED,
        }
        for what, given in others.items():
            if asked and given:
                raise UserError(f"{asked} cannot be combined with {what}; run without one of them")

    def check_engine(self) -> None:
        """Raise UserError if the run needs what its engine cannot do."""
        needs = {
            "ranks in processes of their own": (Capability.RANKS, True),
            f"threads = {self.threads}": (Capability.THREADS, self.threads != 1),
            "skip = false": (Capability.SKIP, not self.skip),
            "faults": (Capability.FAULTS, bool(self.faults)),
            "waveforms": (Capability.WAVES, self.wave is not None),
            "a trace": (Capability.TRACE, self.trace is not None),
            "a recording": (Capability.RECORD, self.inputs is not None),
        }
        for what, (capability, asked) in needs.items():
            if asked and capability not in self.engine_kind.capabilities:
                able = [name for name in kinds.names() if capability in kinds.kind(name).capabilities]
                raise UserError(
                    f"the engine {self.engine!r} cannot serve {what}; leave it out, or take an engine that "
                    f"can: {', '.join(able)}"
                )


@dataclass
class Result:
    """How a run ended. `report` is empty when all went well; `ranks` says where they stood, if the run was stopped."""

    code: int
    sim_time: int  # picoseconds
    report: str = ""
    clocks: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()  # what the world has to tell, such as faults that happened
    summary: Summary = field(default_factory=Summary)
    ranks: tuple[Doing, ...] = ()
