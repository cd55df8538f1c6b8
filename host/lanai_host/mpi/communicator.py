"""The state of a communicator, and the state that all communicators of a process share.

What MPI does with a communicator are functions, a module for each chapter of the standard: see
`lanai_host.mpi`.
"""

from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

from ..config import HostCost
from ..device import SERVICE_CONTEXT, Device
from .added_codes import byte_length
from .attributes import ERRORS_ARE_FATAL, Attributes, Errhandler, Info
from .constants import MAX_OBJECT_NAME, TAG_UB, Comparison
from .datatypes.signature import Signature
from .errors import ErrorClass, MpiError
from .group import Group
from .progress import Progress
from .send_buffer import SendBuffer
from .topology import Topology

# The types that this process has sent and received with each rank, tag and communicator: so that a run can say at its
# end that sender and receiver named different ones.

SLOTS = 1 << 14  # a table of so many pointers has pages of its own: it moves none of the program's buffers
MOST = SLOTS // 4
Key = tuple[bool, int, int, int, Signature]


class SeenTypes:
    """A set of keys that never grows: a rank must not allocate more for what another does. What finds no room is
    left out."""

    def __init__(self) -> None:
        self._slots: list[Key | None] = [None] * SLOTS
        self._count = 0

    @property
    def complete(self) -> bool:
        return self._count < MOST

    def add(self, sent: bool, context: int, peer: int, tag: int, signature: Signature) -> None:
        key = (sent, context, peer, tag, signature)
        slots = self._slots
        at = hash(key) % SLOTS
        while (found := slots[at]) is not None:
            if found == key:
                return
            at = (at + 1) % SLOTS
        if self._count < MOST:
            slots[at] = key
            self._count += 1

    def all(self) -> Iterator[tuple[bool, int, int, int, str | None]]:
        """Give what was added, with the name that equal basic types share in place of the signature; None if it has
        several."""
        for key in self._slots:
            if key is not None:
                sent, context, peer, tag, signature = key
                single = signature.single
                yield sent, context, peer, tag, None if single is None else single.shared_name


# The context numbers of one process: which are free, and which it has offered to an agreement
# under way (`agreement`).

# Device contexts of one communicator, counted from `number * CONTEXTS`.
CONTEXTS = 6
POINT_TO_POINT, COLLECTIVE, CREATION, LOCAL, PARTITIONED, PARTITIONS = range(CONTEXTS)
FINAL = LOCAL  # MPI_Finalize on an intra-communicator, which has no local group beside its own

WORD = (1 << 64) - 1
LIMIT = SERVICE_CONTEXT // CONTEXTS  # numbers

# Contexts that belong to no communicator: groups that become connected; the ends of a socket that
# join.
PORTS, JOINING = LIMIT * CONTEXTS, LIMIT * CONTEXTS + 1
assert JOINING < SERVICE_CONTEXT
# And of services: what one-sided calls ask of their target, and the data that follow or answer.
ONE_SIDED, ONE_SIDED_DATA = SERVICE_CONTEXT, SERVICE_CONTEXT + 1


class ContextNumbers:
    """`free` and `offered` are masks; `under_way` counts the agreements that this process takes
    part in. The numbers below `taken` belong to the predefined communicators."""

    def __init__(self, taken: int) -> None:
        self.free = (1 << LIMIT) - (1 << taken)
        self.offered = 0
        self.under_way = 0

    def take(self, number: int) -> None:
        """A communicator has this number from now on."""
        self.free ^= self.free & 1 << number

    def release(self, number: int) -> None:
        """The communicator has gone and nothing is under way on it."""
        self.free |= 1 << number

    def is_free(self, number: int) -> bool:
        return bool(self.free >> number & 1)

    def lowest(self) -> int | None:
        """Return the lowest free number that is not offered, or None."""
        free = self.free & ~self.offered if self.offered else self.free
        first = free & WORD or free  # a short mask, if that is enough
        return (first & -first).bit_length() - 1 if first else None

    def available(self) -> int:
        """The free numbers that are not offered."""
        return self.free & ~self.offered


# The hints of every communicator: what the program promises.
HINTS = {
    "mpi_assert_no_any_tag": "false",
    "mpi_assert_no_any_source": "false",
    "mpi_assert_exact_length": "false",
    "mpi_assert_allow_overtaking": "false",
    "mpi_assert_strict_persistent_collective_ordering": "false",
}
_VALUES = ("true", "false")
CALL = HostCost.CALL  # looking a member up in an enum class costs as much as a dictionary of its own


class ProcessState:
    """The state that all communicators of one process share. `taken`: how many context numbers the predefined ones
    have.
    """

    def __init__(self, device: Device, progress: Progress, taken: int) -> None:
        self.device = device
        self.progress = progress
        self.rank = device.rank
        self.size = device.size
        self.node = device.rank if device.node is None else device.node
        self.tag_ub = min(device.max_tag, TAG_UB)
        self.numbers = ContextNumbers(taken)
        self.send_buffer: SendBuffer | None = None
        self.communicators: WeakSet[Communicator] = WeakSet()  # those that the program made
        self.connections: list[Communicator] = []  # with processes that were not of this world, and not ended yet
        self.seen_types = SeenTypes()
        self.synchronous = False  # standard sends wait for their receives
        self.one_sided: object = None  # the service of windows (`windows.service`), once there is one
        self.races: object = None  # how races are reported (`windows.races`), where they are


class Communicator:
    """MPI_Comm: two groups, contexts, and what the program attaches to it. Its fields are plain, so
    that inquiries are one lookup.

    `number` is the context number that its members agreed on; `route[rank]` is the world rank that
    a message to `rank` goes to (of the remote group, for an inter-communicator). `local` is the
    intra-communicator of the local group that an inter-communicator's collectives use. `kind` is
    the context of its messages.
    """

    __slots__ = (
        "__weakref__",
        "_kind",
        "attributes",
        "background_sequence",
        "chose_errhandler",
        "collective_context",
        "context",
        "creation_context",
        "device",
        "errhandler",
        "fast_path",
        "final_context",
        "freed",
        "group",
        "holds_number",
        "info",
        "is_inter",
        "lanes",
        "local",
        "lock",
        "name",
        "number",
        "origin",
        "partitioned_context",
        "partitioned_sends",
        "partitions_context",
        "predefined",
        "prepared",
        "process",
        "progress",
        "rank",
        "remote_group",
        "remote_size",
        "route",
        "send_buffer",
        "sequence",
        "session",
        "size",
        "tag_ub",
        "topology",
    )

    def __init__(
        self,
        process: ProcessState,
        number: int,
        group: Group,
        remote_group: Group | None = None,
        kind: int = POINT_TO_POINT,
        name: str = "",
        info: Info | None = None,
    ) -> None:
        self.holds_number = False  # an agreed one, which is released in the end
        self.process = process
        self.device = process.device
        self.fast_path = process.device.fast_path
        self.progress = process.progress
        self.lock = process.progress.lock
        self.tag_ub = process.tag_ub
        self._kind = kind
        self.set_number(number)
        self.group = group
        self.is_inter = remote_group is not None
        self.remote_group = group if remote_group is None else remote_group
        self.route = self.remote_group.members
        self.rank = group.rank
        self.size = group.size
        self.remote_size = self.remote_group.size
        self.local: Communicator | None = None
        self.name = name
        self.origin = ""  # the call that made it
        self.predefined = False
        self.errhandler: Errhandler = ERRORS_ARE_FATAL
        self.chose_errhandler = False  # the program has set it
        self.attributes = Attributes()
        self.info = Info(HINTS) if info is None else info
        self.topology: Topology | None = None
        self.send_buffer: SendBuffer | None = None
        self.session: Any = None  # that it was made from, directly or not
        self.sequence = 0  # of blocking collectives, the same on all members
        self.background_sequence = 0  # of the others
        self.partitioned_sends = 0  # initialized so far
        self.lanes: set[int] = set()  # of collectives that the NICs carry on, which have been used
        self.prepared = False  # one of them is a persistent collective's
        self.freed = False

    def set_number(self, number: int) -> None:
        """The context number, from which the device contexts follow."""
        first = number * CONTEXTS
        self.number = number
        self.context = first + self._kind
        self.collective_context = first + (COLLECTIVE if self._kind == POINT_TO_POINT else self._kind)
        self.creation_context = first + CREATION
        self.final_context = first + FINAL
        self.partitioned_context = first + PARTITIONED  # announcements of partitioned sends
        self.partitions_context = first + PARTITIONS  # their bodies

    def number_agreed(self, number: int, origin: str) -> None:
        """All members know the context number: the communicator may be used. `origin`: the call that
        made it."""
        self.set_number(number)
        self.origin = origin
        self.holds_number = True
        if self.is_inter:
            self.local = Communicator(self.process, number, self.group, kind=LOCAL, name="the local group")

    def __del__(self) -> None:
        # Requests under way refer to their communicator, so the number comes free only when nothing
        # can use it.
        if self.holds_number:
            self.process.numbers.release(self.number)

    @property
    def label(self) -> str:
        """The communicator's name in reports: the one that the program gave it, else one that no other has."""
        return self.name or f"communicator {self.number} of {self.origin}"

    def others(self) -> tuple[int, ...]:
        """World ranks of all that may send to this process here, but its own."""
        return tuple(rank for rank in self.route if rank != self.device.rank)

    def __repr__(self) -> str:
        return f"<Communicator {self.name or self.number} rank {self.rank} of {self.size}>"


def set_name(comm: Communicator, name: str) -> None:
    """MPI_Comm_set_name."""
    length = byte_length(name)
    if length >= MAX_OBJECT_NAME:
        raise MpiError(
            ErrorClass.ARG,
            f"MPI_Comm_set_name: comm_name has {length} bytes; at most {MAX_OBJECT_NAME - 1} fit",
        )
    comm.name = name


def hints(info: Info | None) -> Info:
    """The hints of a new communicator for which the program gives `info`. Others are not kept."""
    given = () if info is None else info.pairs()
    return Info({**HINTS, **{key: value for key, value in given if key in HINTS and value in _VALUES}}.items())


def set_info(comm: Communicator, info: Info) -> None:
    """MPI_Comm_set_info."""
    for key, value in info.pairs():
        if key in HINTS and value in _VALUES:
            comm.info.set(key, value)


def set_errhandler(comm: Communicator, errhandler: Errhandler) -> None:
    """MPI_Comm_set_errhandler."""
    comm.errhandler = errhandler
    comm.chose_errhandler = True


def compare(comm: Communicator, other: Communicator) -> Comparison:
    """MPI_Comm_compare."""
    if comm is other:
        return Comparison.IDENT
    if comm.is_inter != other.is_inter:
        return Comparison.UNEQUAL
    worst = comm.group.compare(other.group)
    if comm.is_inter:
        worst = max(worst, comm.remote_group.compare(other.remote_group))
    return max(worst, Comparison.CONGRUENT)
