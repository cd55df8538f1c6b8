"""The data of a job: a program of ranks on a messaging system, on a machine."""

import hashlib
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from lanai_firmware.cache import kept
from lanai_hdl.config import NicConfig
from lanai_host.c_module import preload
from lanai_host.clocks.library import ASAN, PRELOAD, SEPARATORS, Clock, can_be_loaded
from lanai_host.config import free
from lanai_host.errors import UserError, unknown
from lanai_host.stacks import names, stack, stacks
from lanai_host.stacks.base import NicStack, Placement, Stack

from ..engines import kinds
from ..engines.kinds.base import Capability, EngineKind
from ..kernel.kernel import FOREVER
from ..machine.machine import Machine
from ..tables import brief, changed, from_preset, from_table, html_table, known, like
from ..units import duration
from .restart.plan import Checkpoint, Kill, check_kills, parse_checkpoint, parse_kill

# The places of ranks' buffers: `--buffers`, and a digest of it by which two runs can be compared.
#
# A buffer that crosses a page boundary reaches the NIC in two pieces, which costs time. Where the C library's heap
# puts a buffer depends on all that the process has allocated before, and so on its environment.


class Buffers(StrEnum):
    """The places where buffers may begin."""

    ANY = "any"  # where the heap has room
    PAGE = "page"  # where they cross no more page boundaries than they must


@kept
def page_malloc() -> Path:
    """The library that ranks load before the C library: page_malloc.c, compiled once."""
    return preload("page_malloc", "", (__package__, "page_malloc"))


def environment(buffers: Buffers, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that ranks need in their environment; `given` is the rest of it. Python's own allocator of
    small objects is left out. Raises UserError if the variable cannot name the library.
    """
    if buffers is Buffers.ANY:
        return {}
    if set(str(page_malloc())) & set(SEPARATORS):
        raise UserError(
            f"--buffers page needs {page_malloc()} in {PRELOAD}, where a path can have neither a space nor a colon; "
            "have the cache elsewhere (LANAI_CACHE), or run with --buffers any"
        )
    before = given.get(PRELOAD, "")
    return {
        PRELOAD: f"{page_malloc()} {before}".strip(),
        ASAN: f"verify_asan_link_order=0:{given.get(ASAN, '')}".strip(":"),  # its heap is the sanitizer's own
        "PYTHONMALLOC": "malloc",
    }


def in_pages(variables: Mapping[str, str]) -> bool:
    """Return whether a process with these variables has the heap of `Buffers.PAGE`."""
    return str(page_malloc()) in variables.get(PRELOAD, "").split()


def digest(placements: Sequence[int | None]) -> str:
    """Return a digest of the ranks' buffer placements: equal if all were alike, empty if not all ranks have reported
    theirs.
    """
    said = [placement for placement in placements if placement is not None]
    if len(said) < len(placements):
        return ""
    return hashlib.blake2b(b"".join(one.to_bytes(4, "little") for one in said), digest_size=4).hexdigest()


def refuse(given: Sequence[str], device: str, why: str, can: Callable[[Stack], bool]) -> None:
    """Raise UserError for settings, as the user wrote them, that the device cannot obey. `can`: one that can."""
    if given:
        able = (one.name for one in stacks() if can(one))
        raise UserError(
            f"{', '.join(given)} cannot act on the device {device!r}, {why}; leave it out, or choose a device on which "
            f"it does: {', '.join(able)}"
        )


NO_LIMIT = float("inf")  # seconds


@dataclass(frozen=True)
class WaveConfig:
    """Waveforms to write: of some nodes, for a window of simulated time in picoseconds."""

    file: str
    nodes: tuple[int, ...] = (0,)
    begin: int = 0
    end: int = FOREVER


def _check_passed(what: str, texts: Iterable[str]) -> None:
    """Refuse texts that Linux gives no process: it ends each with a NUL."""
    for text in texts:
        try:
            passes = b"\0" not in os.fsencode(text)
        except UnicodeEncodeError:  # a lone surrogate
            passes = False
        if not passes:
            raise UserError(f"{what} {text!r}, cannot be passed to a process; write it without NUL and surrogates")


def _check_variables(environment: Mapping[str, str]) -> None:
    _check_passed("a variable or its value,", (one for pair in environment.items() for one in pair))
    for name in environment:
        if not name or "=" in name:
            raise UserError(f"{name!r} is not the name of a variable; leave out '='")


@dataclass(frozen=True)
class Program:
    """A program that some of a job's ranks execute. `environment` is laid over that of the job."""

    command: tuple[str, ...]
    ranks: int
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""  # where they run; empty: where the job was started

    def __post_init__(self) -> None:
        if self.ranks < 1:
            raise UserError(f"ranks = {self.ranks} of {shlex.join(self.command)!r} is not a count; write 1 or more")
        _check_passed("an argument of the program,", self.command)
        _check_variables(self.environment)

    def __hash__(self) -> int:
        return hash((self.command, self.ranks, frozenset(self.environment.items()), self.directory))


@dataclass(frozen=True, repr=False)
class JobData:
    """The program of a job and the system that it runs on. `Job` adds how to run it.

    A member may be given as a user writes it: `program` and `Kill`s as texts, times as "20ms", `options` as a table or
    the name of a preset, an enum by its value.
    """

    program: Sequence[str] = ()  # what each rank executes, with its arguments; `python` is this interpreter
    ranks: int = 1
    device: str = "ideal"
    machine: Machine = field(default_factory=Machine)
    options: Any = None  # of the messaging system, as its `Stack` has them; None: its default
    universe: int = 0  # ranks and spares, which ranks may start processes on; 0: no spares
    ranks_per_node: int = 1
    engine: str = kinds.DEFAULT
    board: str = ""  # boards of the engine `board`, as --board has them
    threads: int = 1  # that evaluate NICs
    skip: bool = True  # idle NICs are not evaluated
    snapshot: bool = True  # begin with NICs as an earlier run's boot left them
    kills: tuple[Kill, ...] = ()
    checkpoint: Checkpoint | None = None
    wave: WaveConfig | None = None
    trace: str | None = None  # file to write the event stream to
    inputs: tuple[int, Path] | None = None  # a node whose NIC's inputs are kept, and their file; for `lanai dev replay`
    max_sim_time: int = FOREVER  # picoseconds
    max_wall: float = NO_LIMIT  # seconds
    fork: bool = True  # ranks of this Python from one process that has imported what they need
    survive: bool = False  # a rank that dies is an error for those that talk to it, and the others go on
    prefix: bool = False  # put [rank] before each line that a rank prints
    capture: bool = False  # keep what the ranks print (`Result.outputs`) instead of printing it
    output_folder: str = ""  # gets a folder for each rank, with all that it prints as `stdout` and `stderr`
    buffers: Buffers | None = None  # where the ranks' buffers may begin; None: `chosen_buffers`
    clock: Clock | None = None  # what the clocks of ranks show; None: `chosen_clock`
    progress: bool = False  # show on the terminal how it gets on
    environment: Mapping[str, str] = field(default_factory=dict)  # laid over this process's
    programs: tuple[Program, ...] = ()  # by rank, together for all of them; none: all ranks execute `program`
    rank_variables: tuple[str, ...] = ()  # more environment variables that hold a rank's number

    def __post_init__(self) -> None:
        self._set("program", shlex.split(self.program) if isinstance(self.program, str) else self.program, tuple)
        for name, pattern in SCALARS.items():
            if getattr(self, name) is not None:
                self._set(name, like(name, pattern, getattr(self, name)))
        for name in ("ranks", "ranks_per_node", "threads"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} = {getattr(self, name)} is not a count; write a whole number from 1")
        _check_passed("an argument of the program,", self.program)
        _check_variables(self.environment)
        self._check_universe()
        if self.device not in names():
            raise unknown("device", self.device, names())
        if self.board:
            self._set("engine", "board" if self.engine == kinds.DEFAULT else self.engine)
        if self.engine != kinds.DEFAULT:
            self._take_parts(kinds.kind(self.engine))
        self._read_texts()

    def __hash__(self) -> int:
        members = (getattr(self, field.name) for field in fields(self))
        return hash(tuple(frozenset(one.items()) if isinstance(one, Mapping) else one for one in members))

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        """The job in a notebook: the program, the ranks, the device, the machine, and what is not the default."""
        told = {"program": shlex.join(self.program), "ranks": self.ranks, "device": self.device}
        told |= {name: value for name, value in changed(self).items() if name not in (*told, "machine")}
        return html_table("Job", told | self.machine.in_words())

    def _read_texts(self) -> None:
        """Turn what may be written as text, or as a table, into what it stands for."""
        if isinstance(self.options, str | Mapping):
            table = {"preset": self.options} if isinstance(self.options, str) else dict(self.options)
            self._set("options", from_preset(self.stack.options_table, table, self.stack.presets))
        self._set("kills", [parse_kill(one) if isinstance(one, str) else one for one in self.kills], tuple)
        if isinstance(self.checkpoint, str):
            self._set("checkpoint", parse_checkpoint(self.checkpoint))
        if isinstance(self.max_sim_time, str):
            self._set("max_sim_time", duration(self.max_sim_time))
        if isinstance(self.trace, Path):
            self._set("trace", str(self.trace))
        if isinstance(self.wave, str):
            self._set("wave", WaveConfig(self.wave))
        if not self.max_wall > 0:
            raise UserError(f"max_wall = {self.max_wall!r} must be a positive number of seconds")

    def _take_parts(self, kind: EngineKind) -> None:
        """Have the NIC and the fabric of an engine that has no others. Raises UserError if others were chosen."""
        nic = kind.nic(self.board)
        if nic is None:
            if self.board:
                raise UserError(f"--board {self.board!r} cannot act on the engine {self.engine!r}; take --engine board")
            return
        board = f"--board {self.board}" if self.board else f"--engine {self.engine}"
        if not self.stack.nics:
            refuse([board], self.device, "which has no NICs", lambda one: one.nics)
        usual, chosen, blocks = Machine(), self.machine, self.machine.nic.blocks
        fabrics = {count: usual.but(fabric=cables).fabric for count, cables in kind.fabrics(self.board).items()}
        own = chosen.but(nic=nic.but(blocks=blocks), fabric=fabrics.get(self.nodes, min(fabrics.items())[1]))
        if kind.is_real(self.board) and chosen.host == usual.host:
            own = own.but(host=free())
        for what, is_usual, is_own in (
            ("--nic", chosen.nic == usual.nic.but(blocks=blocks), chosen.nic == own.nic),
            ("--fabric", chosen.fabric == usual.fabric, chosen.fabric in fabrics.values()),
        ):
            if not (is_usual or is_own):
                raise UserError(f"{what} cannot act on the engine {self.engine!r}, which has its own; leave it out")
        self._set("machine", own)

    def _check_universe(self) -> None:
        if self.universe and self.universe < self.ranks:
            raise UserError(
                f"universe = {self.universe} is less than the {self.ranks} ranks that begin; it counts them and the "
                "spares"
            )

    def _set(self, name: str, value: Any, kind: Any = None) -> None:
        object.__setattr__(self, name, value if kind is None else kind(value))

    def but(self, **changes: Any) -> Self:
        """Return the same job with some members changed, of the job or of its machine. Options that are a table
        without a preset are laid over the job's own, if it is on the same device."""
        parts = [field.name for field in fields(Machine)]
        known("Job", changes, [*(field.name for field in fields(self)), *parts])
        machine = {name: changes.pop(name) for name in parts if name in changes}
        if machine:
            changes["machine"] = changes.get("machine", self.machine).but(**machine)
        options = changes.get("options")
        if isinstance(options, Mapping) and "preset" not in options and "device" not in changes:
            changes["options"] = from_table(f"[{self.stack.options_table}]", self.chosen_options, options)
        return replace(self, **changes)

    @property
    def total_ranks(self) -> int:
        """Ranks that the run has room for: those that begin, and spares."""
        return max(self.ranks, self.universe)

    @property
    def nodes(self) -> int:
        """NICs that the ranks are on."""
        return -(-self.total_ranks // self.ranks_per_node)

    @property
    def all_programs(self) -> tuple[Program, ...]:
        """The programs that the ranks execute."""
        return self.programs or (Program(tuple(self.program), self.ranks),)

    @property
    def stack(self) -> Stack:
        chosen = stack(self.device)
        return chosen.on([block.name for block in self.machine.nic.blocks]) if isinstance(chosen, NicStack) else chosen

    @property
    def chosen_options(self) -> Any:
        """The options of the messaging system. If none were given: its default ones, or others that fit its NICs."""
        chosen = self.stack
        if self.options is not None or not isinstance(chosen, NicStack):
            return chosen.default_options() if self.options is None else self.options
        nic = self.sized_nic(chosen)
        return chosen.fitting(Placement(self.total_ranks, self.ranks_per_node, lambda a, b: 0, nic))

    def sized_nic(self, system: NicStack) -> NicConfig:
        """Return the NICs with what the messaging system adds to them for this job."""
        return system.sized(self.machine.nic, self.nodes, min(self.ranks_per_node, self.total_ranks))

    @property
    def chosen_clock(self) -> Clock:
        """The time that the clocks of ranks show. Unless it was chosen, they are simulated where NICs are, but not
        where ranks are kept restartable, or pay for measured CPU time.
        """
        if self.clock is not None:
            return self.clock
        simulated = self.stack.nics and not (self.checkpoint or self.kills or self.machine.host.cpu_scale)
        return Clock.SIMULATED if simulated and can_be_loaded() else Clock.REAL

    @property
    def chosen_buffers(self) -> Buffers:
        """Return where the ranks' buffers may begin. Unless it was chosen, they cross no more pages than they must
        where NICs are: without NICs, pages cost nothing."""
        if self.buffers is not None:
            return self.buffers
        return Buffers.PAGE if self.stack.nics and can_be_loaded() else Buffers.ANY

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
            "--cpu-scale": bool(self.machine.host.cpu_scale),
            "--survive-death": self.survive and self.checkpoint is not None,
            "--clock simulated": self.clock is Clock.SIMULATED,
        }
        for what, given in others.items():
            if asked and given:
                raise UserError(f"{asked} cannot be combined with {what}; run without one of them")

    def check_engine(self) -> None:
        """Raise UserError if the run needs what its engine cannot do."""
        counts = sorted(self.engine_kind.fabrics(self.board))
        if counts and self.nodes not in counts:
            has = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            raise UserError(
                f"the engine {self.engine!r} has {has} NICs, not {self.nodes}; start {has} ranks with -n, or more of "
                "them with --ranks-per-node"
            )
        self.engine_kind.check(self.board)
        needs = {
            "ranks in processes of their own": (Capability.RANKS, True),
            f"threads = {self.threads}": (Capability.THREADS, self.threads != 1),
            "skip = false": (Capability.SKIP, not self.skip),
            "faults": (Capability.FAULTS, bool(self.machine.faults)),
            "waveforms": (Capability.WAVES, self.wave is not None),
            "a trace": (Capability.TRACE, self.trace is not None),
            "a recording": (Capability.RECORD, self.inputs is not None),
        }
        for what, (capability, asked) in needs.items():
            if asked and capability not in self.engine_kind.capabilities:
                able = [kind.name for kind in kinds.kinds() if capability in kind.capabilities]
                raise UserError(
                    f"the engine {self.engine!r} cannot serve {what}; leave it out, or take an engine that "
                    f"can: {', '.join(able)}"
                )


# Members of plain values, each with one of its type.
SCALARS: Mapping[str, Any] = {
    one.name: one.default
    for one in fields(JobData)
    if one.default is not MISSING and isinstance(one.default, bool | int | str) and one.name != "max_sim_time"
} | {"buffers": Buffers.ANY, "clock": Clock.REAL}
