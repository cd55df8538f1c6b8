"""Sessions: another way into MPI, through named sets of processes. All of a process share one
world."""

from .constants import ThreadLevel
from .errhandler import Errhandler
from .errors import ErrorClass, MpiError
from .group import Group
from .info import Info
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
