"""One process's MPI: what begins with MPI_Init and ends with MPI_Finalize."""

import threading
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any

from ..config import HostCost
from ..device import Device
from ..errors import say
from ..process_manager import Local, Manager, Start
from .attributes import Errhandler, Info
from .collectives.broadcast import finish
from .collectives.link import name_of
from .communicator import Communicator, ProcessState
from .constants import Status, ThreadLevel
from .errors import ErrorClass, ErrorTable, MpiError
from .generalized import GeneralizedRequest
from .group import Group
from .probing import NoProcMessage
from .progress import Progress
from .spawning import Ports, Spawner

# MPI_Wtime: reading the clock takes simulated time, so that a program which waits by reading it
# comes to an end.

SHARE = 1024  # a reading takes at least this part of the time for which the program has done nothing but read
MANY = 10_000  # readings in a row
WAITS = 10  # readings in a row from which on other ranks may interrupt
LONGEST = 10_000_000  # picoseconds that a reading takes at most for that reason


class Clock:
    """The clock of one process.

    A reading takes `HostCosts.clock`. A program that does nothing else between two readings waits
    for a time, and each further reading takes a little more: the wait ends at most 10 microseconds
    late, and simulating it takes some thousand readings instead of millions. `only_read` is called
    once, when a program has read the clock `MANY` times in a row.
    """

    only_read: Callable[[], None] | None = None
    work: Callable[[int], bool] | None = None  # `World.work`

    def __init__(self, device: Device) -> None:
        self._device = device
        self._unit = device.price(HostCost.CLOCK)
        self._last = self._begun = -1
        self._row = 0

    def read(self, alone: bool = True) -> int:
        """Host time in picoseconds, after this reading. Other ranks may interrupt a program that waits by reading,
        if it is `alone`: not in the middle of an MPI call."""
        device = self._device
        now = device.now()
        if now != self._last:
            self._begun = now
            self._row = 0
        self._row += 1
        if self._row == MANY and self.only_read is not None:
            self.only_read()
            self.only_read = None
        longer = min((now - self._begun) // SHARE, LONGEST)
        units = max(1, longer // self._unit)
        if not alone or self._row < WAITS or self.work is None or not self.work(units * self._unit):
            device.charge(HostCost.CLOCK, units)
        self._last = device.now()
        return self._last


PICOSECONDS = 1e-12
_FIRST_ADDRESS = IPv4Address("127.0.0.1")


class World:
    """The state of MPI in this process, over one device.

    `end_process(code, text)` ends the whole job: it is called by MPI_Abort and by
    MPI_ERRORS_ARE_FATAL, and does not return. Several worlds may live in one process (the tests run
    ranks as threads); nothing here is global.

    `manager` starts processes and knows ports. `start` says which processes of the run
    MPI_COMM_WORLD has: all, unless given. `rank` is this process's number in the run, and `label`
    what reports call it.
    """

    def __init__(
        self,
        device: Device,
        end_process: Callable[[int, str], None] | None = None,
        foreign_threads: bool = False,
        tick: float = 15e-9,
        lockstep: bool = False,
        manager: Manager | None = None,
        start: Start | None = None,
    ) -> None:
        self.process = ProcessState(device, Progress(device, foreign_threads, lockstep), taken=2)
        self.clock = Clock(device)
        self.clock.work = self.work
        self.rank = device.rank
        self.start = Start(range(device.size)) if start is None else start
        self.size = len(self.start.members)
        self.label = f"rank {self.rank}"
        self.errors = ErrorTable()
        self.initialized = False
        self.finalized = False
        self._left_behind = False  # processes have died
        self.thread_level = ThreadLevel.SINGLE
        self.info_env = Info([("maxprocs", str(self.size)), ("thread_level", "MPI_THREAD_MULTIPLE")])
        self.call_site: Callable[[], str] = str  # where the program called, for errors
        self.made_at: Callable[[object], str] = lambda made: ""  # where it made an object, for leaks
        self.on_leave: Callable[[], None] = lambda: None  # hears that nothing more is done by MPI but to leave
        self.on_error: Callable[[MpiError, bool], None] | None = None  # hears of errors, and if they end the program
        self._end_process = end_process
        self._tick = tick
        self.main_thread = 0
        self.comm_world = self._builtin(0, Group(self.start.members, self.rank), "MPI_COMM_WORLD")
        self.comm_self = self._builtin(1, Group([self.rank], self.rank), "MPI_COMM_SELF")
        self.message_no_proc = NoProcMessage(self.comm_self)
        everyone = self._builtin(0, Group(range(device.size), self.rank), "all processes of the run")
        chosen = Local(self.rank) if manager is None else manager
        self.ports = Ports(everyone, chosen)
        self.spawner = Spawner(everyone, chosen)
        self.parent: Communicator | None = None  # the way to those that started this world

    def _builtin(self, number: int, group: Group, name: str) -> Communicator:
        communicator = Communicator(self.process, number, group, name=name)
        communicator.predefined = True
        return communicator

    # Beginning and end

    def init(self, required: int = ThreadLevel.SINGLE) -> ThreadLevel:
        """MPI_Init, MPI_Init_thread: the level provided."""
        if self.initialized:
            raise MpiError(ErrorClass.OTHER, "MPI_Init: MPI is initialized already")
        self.thread_level = ThreadLevel(max(0, min(required, ThreadLevel.MULTIPLE)))
        self.process.progress.grant(self.thread_level)
        self.main_thread = threading.get_ident()
        self.initialized = True
        return self.thread_level

    def send_synchronously(self) -> None:
        """Standard sends of the program are synchronous from now on, as MPI allows a library to do."""
        self.process.synchronous = True
        self.process.device.fast_path = None
        for comm in self.communicators():
            comm.fast_path = None

    def meet_parent(self) -> None:
        """Connect with the processes that started this one, if some did: the last part of MPI_Init."""
        if self.start.parent is not None:
            self.parent = self.spawner.meet_parent(self.comm_world, self.start.parent)
            self.parent.name = "MPI_COMM_PARENT"

    def is_main_thread(self) -> bool:
        """MPI_Is_thread_main."""
        return threading.get_ident() == self.main_thread

    def finalize(self, report: Callable[[list[str]], None] | None = None, stay: bool = False) -> list[str]:
        """MPI_Finalize: deletes the attributes of MPI_COMM_SELF first, then waits until all
        processes have come here, also those of other worlds that are still connected. Then `leave`,
        unless sessions `stay`.
        """
        if self.finalized:
            raise MpiError(ErrorClass.OTHER, "MPI_Finalize: MPI is finalized already")
        self.comm_self.attributes.clear(self.comm_self)
        if self.process.send_buffer is not None:
            self.process.send_buffer.flush()
        self._left_behind = not self._all_come()
        self.finalized = True
        return [] if stay else self.leave(report)

    def _all_come(self) -> bool:
        """Wait until all processes are in MPI_Finalize. Return False if a NIC or a peer is lost, so that they cannot.

        Then this process must not wait: another may wait for it, and know of no loss until it hears that this one
        has left.
        """
        device = self.process.device
        if device.impaired:
            return False
        try:
            for comm in (self.comm_world, *self.process.connections):
                finish(comm)
        except MpiError:
            if not device.impaired:
                raise
            return False
        return True

    def leave(self, report: Callable[[list[str]], None] | None = None) -> list[str]:
        """Nothing of this process's part in MPI is left after this.

        `report` gets `leaks()`: what has not arrived by now was not sent. Returns what was wrong with
        the program.
        """
        device = self.process.device
        if self._left_behind:  # each of those that are left leaves by itself
            device.close()
            return []
        self.process.progress.poll()
        self.process.progress.stop_services()
        mismatched = self._mismatched_collectives()
        self.on_leave()
        if report is not None:
            report(self.leaks())
        if not mismatched:  # else the caller ends the job, for which it needs the device
            device.close()
        return mismatched

    def _mismatched_collectives(self) -> list[str]:
        """Collectives that were not the same on all processes, yet came to an end: messages of
        theirs that no receive took."""
        found = []
        for name, context in [(c.label, c.collective_context) for c in self.communicators()]:
            arrived = self.process.device.probe(-1, -1, context, take=True)
            if arrived is not None:
                found.append(
                    f"rank {arrived.source} sent a message of {name_of(arrived.tag)} on {name}, but this "
                    "process called no "
                    "collective there that takes it"
                )
        return found

    def communicators(self) -> list[Communicator]:
        """Return the communicators that this process can use, the built-in ones first. Those that are being
        made have no number yet, and no message."""
        known = [communicator for communicator in self.process.communicators if communicator.holds_number]
        made = sorted(known, key=lambda communicator: communicator.number)
        return [self.comm_world, self.comm_self, *made]

    def leaks(self) -> list[str]:
        """Return a text for each object that the program has left behind, for a report at finalize.

        These are communicators, messages that were never received, and the buffer for buffered sends. The binding
        reports the objects that only it knows.
        """
        device = self.process.device
        found = [
            f"{f'communicator {name}' if (name := communicator.name) else communicator.label}"
            f"{self.made_at(communicator)} was not freed"
            for communicator in self.communicators()[2:]
            if communicator.number and not communicator.freed
        ]
        with self.process.progress.lock:
            for communicator in self.communicators():
                while (arrived := device.probe(-1, -1, communicator.context, take=True)) is not None:
                    found.append(
                        f"a message of {arrived.length} bytes from rank {arrived.source} with tag {arrived.tag} on "
                        f"{communicator.label} was never received"
                    )
        buffer = self.process.send_buffer
        if buffer is not None:
            found.append(f"the buffer of {buffer.size} bytes for buffered sends was not detached")
        return found

    def abort(self, code: int, text: str = "") -> None:
        """MPI_Abort."""
        if self._end_process is None:
            raise SystemExit(code or 1)
        self._end_process(code, text)

    def report(self, error: MpiError, place: Any = None) -> int:
        """Let the error handler of the object where a call failed do its work. Returns the code of the
        call.

        Without such an object that is MPI_COMM_SELF, as MPI-4 says. A program that has not set its
        error handler knows MPI-3, which says MPI_COMM_WORLD."""
        code = self.errors.encode(error)
        name = getattr(place, "label", "") or getattr(place, "name", "")
        if getattr(place, "errhandler", None) is None:
            place = self.comm_self if self.comm_self.chose_errhandler else self.comm_world
        handler: Errhandler = place.errhandler
        if self.on_error is not None:
            self.on_error(error, handler.function is None and handler.ends)
        if handler.function is not None:
            return handler.function(place, code)
        if handler.ends:
            site = self.call_site()
            where = ", ".join([f"on {name}"] * bool(name) + [f"at {site}"] * bool(site) + self._inherited(place))
            text = f"{self.label}: {error.text}" + (f" ({where})" if where else "")
            say(text)
            self.abort(code & 0xFF or 1, text)
        return code

    def _inherited(self, place: Any) -> list[str]:
        """Say where an object has its error handler from, if the program may think that it has set another one."""
        if not isinstance(place, Communicator) or place.predefined or place.chose_errhandler:
            return []
        others = any(comm.chose_errhandler for comm in (self.comm_world, self.comm_self))
        name = place.name or f"communicator {place.number}"
        return [f"the handler of {name} was taken over at {place.origin}"] if others and place.origin else []

    # Environment

    def wtime(self) -> float:
        """MPI_Wtime: simulated seconds."""
        return self.clock.read() * PICOSECONDS

    def work(self, picoseconds: int) -> bool:
        """`Progress.work`, while there is a device."""
        return not self.finalized and self.process.progress.work(picoseconds)

    def wtick(self) -> float:
        """MPI_Wtick: one slot of the NIC's clock."""
        return self._tick

    def processor_name(self) -> str:
        """MPI_Get_processor_name: an address of this computer, a different one for each node, so that
        programs can look it up and connect to it."""
        return str(_FIRST_ADDRESS + self.process.node)

    # Generalized requests

    def start_generalized(
        self, query: Callable[[Status], None], free: Callable[[], None], cancel: Callable[[bool], None]
    ) -> GeneralizedRequest:
        """MPI_Grequest_start."""
        return GeneralizedRequest(self.process.progress, query, free, cancel)
