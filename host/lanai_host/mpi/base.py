"""What every communicator is, before its chapters of methods: two groups, contexts, and the things hung on it."""

from typing import TYPE_CHECKING, NoReturn

from ..config import HostCost
from .attributes import Attributes
from .constants import ANY_SOURCE, MAX_OBJECT_NAME, PROC_NULL, Comparison
from .errhandler import Errhandler
from .errors import ErrorClass, MpiError
from .group import Group
from .info import Info
from .memory import check_address
from .text import byte_length
from .topology import Topology

if TYPE_CHECKING:
    from .buffered import SendBuffer
    from .datatypes import Datatype
    from .progress import Progress
    from .world import World

# Device contexts of one communicator, counted from `number * CONTEXTS`.
CONTEXTS = 6
POINT_TO_POINT, COLLECTIVE, CREATION, LOCAL, PARTITIONED, PARTITIONS = range(CONTEXTS)


CALL = HostCost.CALL  # looking a member up in an enum class costs as much as a dictionary of its own


class CommunicatorBase:
    """Fields of a communicator.

    `number` is the context number that its members agreed on; `route[rank]` is the world rank that a message to `rank`
    goes to (of the remote group, for an inter-communicator). `local` is the intra-communicator of the local group that an
    inter-communicator's collectives use.
    """

    progress: "Progress"
    local: "CommunicatorBase | None" = None

    def __init__(
        self,
        world: "World",
        number: int,
        group: Group,
        remote_group: Group | None = None,
        kind: int = POINT_TO_POINT,
    ) -> None:
        self.world = world
        self.device = world.device
        self.quick = world.device.quick
        self.progress = world.progress
        self.lock = world.progress.lock
        self.tag_ub = world.tag_ub
        self._kind = kind
        self.set_number(number)
        self.group = group
        self.is_inter = remote_group is not None
        self.remote_group = group if remote_group is None else remote_group
        self.route = self.remote_group.members
        self.rank = group.rank
        self.size = group.size
        self.remote_size = self.remote_group.size
        self.name = ""
        self.errhandler: Errhandler = world.default_errhandler
        self.attributes = Attributes()
        self.info = Info()
        self.topology: Topology | None = None
        self.send_buffer: SendBuffer | None = None
        self.sequence = 0  # of blocking collectives, the same on all members
        self.background_sequence = 0  # of the others
        self.partitioned_sends = 0  # initialized so far
        self.freed = False

    def set_number(self, number: int) -> None:
        """The context number, from which the device contexts follow."""
        first = number * CONTEXTS
        self.number = number
        self.context = first + self._kind
        self.collective_context = first + (COLLECTIVE if self._kind == POINT_TO_POINT else self._kind)
        self.creation_context = first + CREATION
        self.partitioned_context = first + PARTITIONED  # announcements of partitioned sends
        self.partitions_context = first + PARTITIONS  # their bodies

    @property
    def label(self) -> str:
        """What reports call it."""
        return self.name or f"an unnamed communicator of {self.size}"

    def others(self) -> tuple[int, ...]:
        """World ranks of all that may send to this process here, but its own."""
        return tuple(rank for rank in self.route if rank != self.device.rank)

    def __repr__(self) -> str:
        return f"<Communicator {self.name or self.number} rank {self.rank} of {self.size}>"

    def set_name(self, name: str) -> None:
        """MPI_Comm_set_name."""
        length = byte_length(name)
        if length >= MAX_OBJECT_NAME:
            raise MpiError(
                ErrorClass.ARG,
                f"MPI_Comm_set_name: comm_name has {length} bytes; at most {MAX_OBJECT_NAME - 1} fit",
            )
        self.name = name

    def compare(self, other: "CommunicatorBase") -> Comparison:
        """MPI_Comm_compare."""
        if self is other:
            return Comparison.IDENT
        if self.is_inter != other.is_inter:
            return Comparison.UNEQUAL
        worst = self.group.compare(other.group)
        if self.is_inter:
            worst = max(worst, self.remote_group.compare(other.remote_group))
        return max(worst, Comparison.CONGRUENT)

    # What the chapters check.

    def check_peer(self, call: str, name: str, rank: int) -> None:
        """`rank` may name a process that a message goes to."""
        if not 0 <= rank < self.remote_size:
            self._bad_rank(call, name, rank, "MPI_PROC_NULL")

    def check_source(self, call: str, rank: int) -> None:
        if not 0 <= rank < self.remote_size and rank not in (PROC_NULL, ANY_SOURCE):
            self._bad_rank(call, "source", rank, "MPI_PROC_NULL, MPI_ANY_SOURCE")

    def _bad_rank(self, call: str, name: str, rank: int, others: str) -> NoReturn:
        raise MpiError(
            ErrorClass.RANK, f"{call}: {name} is {rank}; it must be {others} or from 0 to {self.remote_size - 1}"
        )

    def check_tag(self, call: str, tag: int) -> None:
        if not 0 <= tag <= self.world.tag_ub:
            raise MpiError(ErrorClass.TAG, f"{call}: tag is {tag}; it must be from 0 to {self.world.tag_ub}")

    def check_buffer(self, call: str, address: int, count: int, datatype: "Datatype", name: str = "buf") -> None:
        """`name` is the argument that gave `address`."""
        if count < 0:
            raise MpiError(ErrorClass.COUNT, f"{call}: count is {count}; it must not be negative")
        if not datatype.committed:
            raise MpiError(ErrorClass.TYPE, f"{call}: the datatype {datatype.name!r} is not committed")
        if address <= 0 and count:
            check_address(call, name, address, count, datatype)

    def charge_call(self) -> None:
        """The host pays for entering one MPI function."""
        self.device.charge(CALL)
