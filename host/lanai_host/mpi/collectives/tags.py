"""Tags of collectives: the number of the call on its communicator, and which collective it is."""

from ...device import MAX_TAG
from ..communicator import Communicator

_SEQUENCES = 1 << 22  # sequence numbers before they come round again
_KINDS = 1 << 6
_BACKGROUND = _KINDS // 2  # added to the kind of a collective that is not blocking
_NAMES = (  # of the kinds of collectives, in the order of their numbers, which are part of the tags
    "communicator creation",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Neighbor_allgather",
    "MPI_Neighbor_allgatherv",
    "MPI_Neighbor_alltoall",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Finalize",
    "collective file access",
)
CREATION = 0
FILES = len(_NAMES) - 1
TAG_BITS = MAX_TAG.bit_length()
assert len(_NAMES) <= _BACKGROUND


def next_tag(communicator: Communicator, kind: int, background: bool) -> int:
    """The tag of the communicator's next collective of one kind; the same on all members.

    Blocking collectives and those in the background never match each other, and are counted apart:
    programs exist that order the two differently on different processes, and other MPI libraries
    let them.
    """
    if background:
        communicator.background_sequence = (communicator.background_sequence + 1) % _SEQUENCES
        return communicator.background_sequence * _KINDS + kind + _BACKGROUND
    communicator.sequence = (communicator.sequence + 1) % _SEQUENCES
    return communicator.sequence * _KINDS + kind


def kind_of(name: str) -> int:
    """The number of the collective whose blocking call has this name."""
    return _NAMES.index(name)


def number_of(tag: int) -> int:
    """Return which of the communicator's collectives a tag belongs to."""
    return tag // _KINDS


def name_of(tag: int) -> str:
    """The collective that a message with this tag belongs to, as "MPI_Bcast (collective 3)"."""
    kind = tag % _KINDS
    name = _NAMES[kind % _BACKGROUND]
    if kind > _BACKGROUND:
        name = nonblocking(name)
    return f"{name} (collective {number_of(tag)})"


def nonblocking(name: str) -> str:
    """MPI_Ibcast for MPI_Bcast."""
    stem = name.removeprefix("MPI_")
    return f"MPI_I{stem[0].lower()}{stem[1:]}"
