"""The checks of collectives before they begin."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...operation import Operation
from ..arguments import check_buffer
from ..buffers import copy_elements
from ..constants import BOTTOM, IN_PLACE, PROC_NULL, ROOT
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from .link import Link
from .schedule import Steps


def check_buffers(link: Link, address: int, count: int, datatype: Datatype | None, name: str) -> None:
    """A buffer that is used: count, datatype committed, memory there. IN_PLACE has none of them.
    `name` is the argument."""
    if address == IN_PLACE:
        return
    assert datatype is not None
    check_buffer(link.call, address, count, datatype, name)


def check_counts(link: Link, name: str, values: Sequence[int], datatype: Datatype) -> None:
    """The count of each process."""
    for rank, count in enumerate(values):
        if count < 0:
            raise MpiError(ErrorClass.COUNT, f"{link.call}: {name}[{rank}] is {count}; it must not be negative")
    check_buffer(link.call, BOTTOM, 0, datatype)


def distinct(link: Link, one: int, other: int, size: int) -> None:
    """The blocks of `size` bytes that the process sends and receives do not lie at the same
    place."""
    if one == other and size and one not in (BOTTOM, IN_PLACE):
        raise MpiError(ErrorClass.BUFFER, f"{link.call}: sendbuf and recvbuf are the same; use MPI_IN_PLACE")


def root(link: Link, rank: int) -> None:
    """A root: a rank, or in an inter-communicator a remote rank, ROOT or PROC_NULL."""
    if 0 <= rank < link.peers or (link.is_inter and rank in (ROOT, PROC_NULL)):
        return
    others = "MPI_ROOT, MPI_PROC_NULL or " if link.is_inter else ""
    raise MpiError(ErrorClass.ROOT, f"{link.call}: root is {rank}; it must be {others}from 0 to {link.peers - 1}")


def no_in_place(link: Link, address: int, name: str) -> None:
    if address == IN_PLACE:
        raise MpiError(ErrorClass.BUFFER, f"{link.call}: {name} is MPI_IN_PLACE, which is not allowed here")


def intra(link: Link) -> None:
    if link.is_inter:
        raise MpiError(ErrorClass.COMM, f"{link.call}: the communicator is an inter-communicator")


# Buffers of collectives: one block, the same block for each process, or blocks of each process's
# own size and place.


class Part(NamedTuple):
    """One block: what goes to, or comes from, one process."""

    address: int
    elements: int
    datatype: Datatype

    @property
    def size(self) -> int:
        """Bytes of data."""
        return self.elements * self.datatype.size

    @property
    def in_place(self) -> bool:
        return self.address == IN_PLACE

    def at(self, index: int) -> "Part":
        """The block `index` places further on."""
        return self._replace(address=self.address + index * self.elements * self.datatype.extent)

    def repeated(self, count: int) -> list["Part"]:
        """This block and those that follow it, one for each process."""
        return [self.at(index) for index in range(count)]


def copy_own(link: Link, send: Part, receive: Part) -> None:
    """The block that a process sends to itself."""
    link.check_own(send.size, receive.size)
    copy_elements(*send, *receive)


class Spread(NamedTuple):
    """The blocks of a v form: displacements count elements."""

    address: int
    counts: Sequence[int]
    displacements: Sequence[int]
    datatype: Datatype

    @property
    def in_place(self) -> bool:
        return self.address == IN_PLACE

    def parts(self, link: Link, name: str) -> list[Part]:
        """A part for each process. `name` is the counts' argument, for the error when one is
        negative."""
        buffer = name.replace("counts", "buf")
        no_in_place(link, self.address, buffer)
        check_counts(link, name, self.counts, self.datatype)
        parts = [
            Part(self.address + displacement * self.datatype.extent, count, self.datatype)
            for count, displacement in zip(self.counts, self.displacements, strict=True)
        ]
        if self.address <= 0:
            for part in parts:
                check_buffers(link, *part, buffer)
        return parts


class Mixed(NamedTuple):
    """The blocks of a w form: displacements count bytes, each block has a datatype of its own."""

    address: int
    counts: Sequence[int]
    displacements: Sequence[int]
    datatypes: Sequence[Datatype]

    @property
    def in_place(self) -> bool:
        return self.address == IN_PLACE

    def parts(self, link: Link, name: str) -> list[Part]:
        """A part for each process, checked. `name` is the buffer's argument."""
        no_in_place(link, self.address, name)
        parts = [
            Part(self.address + displacement, count, datatype)
            for count, displacement, datatype in zip(self.counts, self.displacements, self.datatypes, strict=True)
        ]
        for part in parts:
            check_buffers(link, *part, name)
        return parts


Buffer = Part | Spread | Mixed


# Collectives on inter-communicators in which every pair exchanges something of its own: directly
# between the groups.
#
# Those that give all processes of a group the same go through the two leaders (rank 0 of each group)
# and their local groups; they are with the algorithms that they use.


def gather(link: Link, send: Part, root: int, blocks: Callable[[], Sequence[Part]]) -> Steps:
    """`blocks`: what the root receives, from the arguments that are only its."""
    coming = _blocks(link, send, "sendbuf", root, blocks)
    if root == ROOT:
        return _at_once(lambda: [link.receive(rank, *part) for rank, part in enumerate(coming)])
    return _at_once(lambda: [] if root == PROC_NULL else [link.send(root, *send)])


def scatter(link: Link, receive: Part, root: int, blocks: Callable[[], Sequence[Part]]) -> Steps:
    """`blocks`: what the root sends, from the arguments that are only its."""
    going = _blocks(link, receive, "recvbuf", root, blocks)
    if root == ROOT:
        return _at_once(lambda: [link.send(rank, *part) for rank, part in enumerate(going)])
    return _at_once(lambda: [] if root == PROC_NULL else [link.receive(root, *receive)])


def _blocks(link: Link, own: Part, name: str, root: int, blocks: Callable[[], Sequence[Part]]) -> Sequence[Part]:
    """The root's blocks; the others have one of their own, to be checked."""
    if root == ROOT:
        return blocks()
    if root != PROC_NULL:
        no_in_place(link, own.address, name)
        check_buffers(link, *own, name)
    return []


def allgather(link: Link, send: Part, blocks: Sequence[Part]) -> Steps:
    no_in_place(link, send.address, "sendbuf")
    return _at_once(
        lambda: [
            *(link.receive(rank, *block) for rank, block in enumerate(blocks)),
            *(link.send(rank, *send) for rank in range(link.peers)),
        ]
    )


def _at_once(begin: Callable[[], list[Operation]]) -> Steps:
    """A schedule of one step."""
    yield begin()
