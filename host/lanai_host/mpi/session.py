"""Sessions: another way into MPI, through named sets of processes. All of a process share one
world."""

import enum
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..config import HostCost
from .attributes import Errhandler, Info
from .constants import ThreadLevel
from .errors import ErrorClass, MpiError
from .group import Group
from .send_buffer import SendBuffer
from .world import World


class Session:
    """MPI_Session. `errhandler` is called for its failures."""

    name = "a session"

    def __init__(self, world: World, info: Info | None, errhandler: Errhandler) -> None:
        self._world = world
        self.info = Info() if info is None else info.duplicate()
        self.info.set("thread_level", f"MPI_THREAD_{ThreadLevel(world.thread_level).name}")
        self.errhandler = errhandler
        # The two sets that MPI names; there are no others here.
        named = {"mpi://WORLD": world.comm_world.group, "mpi://SELF": world.comm_self.group}
        self._sets = {name: Group(group.members, group.me, self) for name, group in named.items()}
        self.progress = world.process.progress
        self.send_buffer: SendBuffer | None = None

    def set_names(self) -> list[str]:
        """MPI_Session_get_num_psets counts them, MPI_Session_get_nth_pset gives one."""
        return list(self._sets)

    def nth_set(self, n: int) -> str:
        """MPI_Session_get_nth_pset."""
        names = self.set_names()
        if not 0 <= n < len(names):
            raise self._error(f"MPI_Session_get_nth_pset: n is {n}, but there are {len(names)} process sets")
        return names[n]

    def set_info(self, name: str) -> Info:
        """MPI_Session_get_pset_info."""
        return Info([("mpi_size", str(self._members("MPI_Session_get_pset_info", name).size))])

    def group(self, name: str) -> Group:
        """MPI_Group_from_session_pset."""
        return self._members("MPI_Group_from_session_pset", name)

    def _members(self, call: str, name: str) -> Group:
        found = next((group for known, group in self._sets.items() if known.lower() == name.lower()), None)
        if found is None:
            raise self._error(f"{call}: pset_name is {name!r}; there are {', '.join(self._sets)}")
        return found

    def _error(self, text: str) -> MpiError:
        error = MpiError(ErrorClass.ARG, text)
        error.place = self
        return error


# The variables of the tools interface: control variables (prices of host work) and performance variables (counters of
# the NIC).


class Kind(enum.Enum):
    """The class of a performance variable; the value is MPI's name for it."""

    COUNTER = "COUNTER"
    LEVEL = "LEVEL"
    TIMER = "TIMER"


class Variable(NamedTuple):
    """One variable, whose value is a 64-bit number that cannot be set."""

    name: str
    text: str
    read: Callable[[], int]
    kind: Kind = Kind.LEVEL


def control(world: World) -> list[Variable]:
    """The prices of host work, which a run chooses with `--host` and `--host-option`."""
    device = world.process.device
    return [
        Variable(f"host_{name}", f"picoseconds that a unit of host work of the kind {name!r} takes", read)
        for what in HostCost
        for name, read in [(what.name.lower(), partial(device.price, what))]
    ]


def performance(world: World) -> list[Variable]:
    """Simulated time, messages that no receive has taken, and what the NIC counts."""
    device = world.process.device
    own = [
        Variable("host_time", "picoseconds of simulated time at this process", device.now, Kind.TIMER),
        Variable(
            "unexpected_messages",
            "messages that the host keeps and no receive has taken",
            lambda: len(device.unexpected()),
        ),
    ]
    return own + [
        Variable(f"nic_{name.lower()}", text, partial(device.read_counter, name), Kind.COUNTER)
        for name, text in device.counters().items()
    ]
