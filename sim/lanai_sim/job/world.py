"""The part of a run that differs between fabrics: this one has the transport that its messaging system
brings, if any, and no NIC; `nic_world` has NICs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from lanai_hdl.errors import UserError
from lanai_host.device import Envelope
from lanai_host.simulator.protocol import ENV_NOTES, PATH_ROOM, Op
from lanai_host.simulator.transport import State, TransportHub

from ..kernel.kernel import FOREVER, Kernel
from .data import JobData
from .rank import Rank
from .rank_service import NicAccess, Service
from .restart.keeper import RestartableAccess
from .restart.log import Relay, RelayAccess
from .summary import Traffic

if TYPE_CHECKING:
    from .tracing.session import Session

VALUE = TypeVar("VALUE")


class World:
    """The simulated world of a run: the part that differs between fabrics. This one has a
    transport, which passes between the ranks themselves, and no NIC."""

    def __init__(self, config: JobData, kernel: Kernel) -> None:
        self.config = config
        self.kernel = kernel
        self.started = 0  # picoseconds at which the ranks begin
        self.session = trace_session(config) if config.trace is not None else None
        self.transport: TransportHub | None = config.stack.network(
            config.total_ranks, config.chosen_options, config.max_sim_time, config.ranks
        )
        self._aside: set[int] = set()  # ranks that the transport does not wait for
        self.relay: Relay | None = None
        if self.transport is not None and config.relayed:
            self.relay = Relay(kernel, self.transport)
            self.relayed = [
                RelayAccess(self.relay, rank, [kill.at for kill in config.kills if kill.rank == rank])
                for rank in range(config.ranks)
            ]

    def at_once(self, rank: Rank, op: int) -> bool:
        """Serve this request though other ranks run code? Without NICs, ranks wait for
        each other among themselves."""
        return self._apart and (op == Op.MANAGE or (bool(rank.origin) and op in (Op.HELLO, Op.FINALIZE)))

    @property
    def ranks_here(self) -> range:
        """The ranks of which this process is the launcher."""
        return range(self.config.total_ranks)

    def gathered(self, found: VALUE) -> list[VALUE]:
        """Return what all processes that simulate this world have found, in the order of their ranks. Each of them
        calls this."""
        return [found]

    @property
    def _apart(self) -> bool:
        """Do ranks wait for each other among themselves?"""
        return self.transport is not None and self.relay is None

    def let_time_pass(self, outside: Sequence[Rank]) -> bool | None:
        """The processes of these ranks wait for something that is not part of the simulation, and no
        other rank runs code. Let the first of the others go on; whether one does. None: the scheduler
        has all ranks, and is to go on without these."""
        if not self._apart or self.transport is None:
            return None
        return self.transport.let_time_pass([rank.number for rank in outside])

    def set_aside(self, rank: Rank) -> bool:
        """The rank's process sleeps in real time. Let time pass without it until it is taken back, or
        return False: the scheduler has all ranks, and is to do so."""
        if not self._apart or self.transport is None:
            return False
        self._aside.add(rank.number)
        self.transport.set_aside(rank.number)
        return True

    def take_back(self, rank: Rank) -> None:
        """The process of a rank that may have been set aside runs code."""
        if rank.number in self._aside and self.transport is not None:
            self._aside.remove(rank.number)
            self.transport.take_back(rank.number)

    def is_aside(self, rank: Rank) -> bool:
        """Return whether time passes here without a rank, which may run code by now."""
        return rank.number in self._aside

    @property
    def missed(self) -> bool:
        """Time has passed without a rank that was set aside."""
        return self.transport is not None and self.transport.missed

    def is_free(self, rank: int) -> bool:
        """May another process have this rank, whose process has left? Not where a trace knows what
        that has done."""
        return self.transport is not None and self.session is None and self.transport.look(rank).state == State.LEFT

    def join(self, rank: Rank) -> None:
        """A process that another one has started takes part from its clock on."""
        if self.transport is not None:
            self.transport.join(rank.number, rank.clock)

    def access(self, rank: int) -> NicAccess | None:
        """The rank's NIC, or what it has instead."""
        return None if self.relay is None else self.relayed[rank]

    def restartable_access(self, rank: int) -> RestartableAccess:
        """Return what serves a rank that is kept restartable."""
        return self.relayed[rank]

    def boot(self) -> None:
        """Get the world ready, before the ranks start."""

    def rank_config(self, rank: int) -> dict[str, Any]:
        """Return the configuration that the rank gets at HELLO."""
        transport: dict[str, Any] = {} if self.transport is None else {"transport": self.transport.path}
        if self.relay is not None:
            transport = {"relay": True}
        return {
            "host": dataclasses.asdict(self.config.machine.host),
            "node": rank // self.config.ranks_per_node,
            **transport,
        }

    def environment(self) -> dict[str, str]:
        """Return the variables that the ranks' environment needs beside those of the run. They have the same size
        whether the ranks are traced or not, because their size moves all that comes after them in the ranks' heaps.
        """
        return {ENV_NOTES: (self.session.notebooks.path if self.session is not None else "").ljust(PATH_ROOM)}

    def service(self, *arguments: Any) -> Service:
        """Return the service of a rank."""
        if self.session is None:
            return Service(*arguments)
        from .tracing.session import TracedService

        return TracedService(self.session.recorder, *arguments)

    def begin(self) -> None:
        """All is up, the ranks start."""
        if self.session is not None:
            self.session.begin(self.started, {})

    def notes(self) -> list[str]:
        """Return lines that the result adds to the report."""
        return []

    def traffic(self) -> list[Traffic]:
        """Return the counts of the NICs. The run is over then."""
        return []

    def buffers_digest(self, placements: Sequence[int | None]) -> str:
        """Return a digest of where the ranks' buffers lay, given what each has said, if that matters and all have
        said so."""
        return ""

    def status(self, seconds: float) -> str:
        """For the progress line, after so many seconds."""
        return ""

    def look(self, rank: Rank) -> tuple[int, bool, bytes]:
        """Return the state of a rank: its time, whether it runs code, the record of why it waits."""
        if self.transport is None or not rank.connected or rank.finalized:
            return rank.clock, rank.running, rank.why
        state = self.transport.look(rank.number)
        then = self.transport.at_stop(rank.number)
        unheard = rank.running and then is not None and then.state == State.RUNS  # it may wait by now
        if unheard or state.state in (State.RUNS, State.LEFT):
            return (state.clock if rank.running else rank.clock), rank.running, rank.why
        return state.clock, False, rank.why or state.why

    def settle(self) -> None:
        """No time passes any more: what ranks wait for, and since when, is to be known."""

    def stop(self) -> None:
        """The run is over: ranks that wait among themselves are to say what for."""
        if self.transport is not None:
            self.transport.stop()

    def waits(self, rank: Rank) -> bool:
        """Has the rank begun to wait, whether it has said so or not?"""
        return not self.look(rank)[1]

    def something_comes(self, rank: Rank) -> bool | None:
        """Return whether, when the run was stopped, anything was on its way that would let a waiting rank go on, or
        the rank ran code, whatever it waits for since; None if that is not known."""
        if self.transport is None or (then := self.transport.at_stop(rank.number)) is None:
            return None
        return then.wake != FOREVER or then.state == State.RUNS

    def on_nics(self) -> Mapping[int, Sequence[Envelope]]:
        """Return by rank the messages that its NIC keeps and that no receive has taken."""
        return {}

    def on_nic_of(self, rank: int) -> Sequence[Envelope]:
        """Return those of one rank, while the run goes on."""
        return ()

    def describe_nics(self) -> list[str]:
        """Return the state of the hardware, a line each, now that the run has come to a stop."""
        return []

    def report_lost(self, rank: int, text: str) -> None:
        """A rank has died, and the others go on."""
        raise UserError("--survive-death needs NICs between the ranks; choose a device other than ideal")

    def left(self, rank: int) -> None:
        """A rank's process has ended."""
        if self.relay is not None:
            self.relayed[rank].close()
        elif self.transport is not None:
            self.transport.leave(rank)

    def close(self) -> None:
        if self.relay is not None:
            for access in self.relayed:
                access.free()
        if self.transport is not None:
            self.transport.close()


def trace_session(config: JobData) -> "Session":
    from .tracing.session import Session

    assert config.trace is not None
    return Session(config, config.trace)
