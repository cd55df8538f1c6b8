"""Gather and scatter: along a binomial tree for short blocks, else directly; the v forms
directly."""

from collections.abc import Sequence

from ...body import Run
from ..buffers import gather_bytes, scatter_bytes
from ..constants import PROC_NULL
from ..errors import ErrorClass, MpiError
from ..memory import Scratch
from ..topology import Cartesian
from . import checks
from . import checks as inter
from .checks import Buffer, Mixed, Part, Spread, copy_own
from .link import Link, children, parent, subtree
from .schedule import Steps, collective


@collective("MPI_Gather")
def gather(link: Link, send: Part, receive: Part, root: int) -> Steps:
    """MPI_Gather."""
    checks.root(link, root)
    if link.is_inter:
        return inter.gather(link, send, root, lambda: _checked(link, receive, "recvbuf"))
    _check_blocks(link, root, receive, "recvbuf", send, "sendbuf")
    at_root = link.rank == root
    if _by_tree(link, receive if at_root else send):
        return _gather_tree(link, send, receive, root)
    return _gather_direct(link, send, receive.repeated(link.size) if at_root else [], root)


@collective("MPI_Gatherv")
def gatherv(link: Link, send: Part, receive: Spread, root: int) -> Steps:
    """MPI_Gatherv."""
    checks.root(link, root)
    if link.is_inter:
        return inter.gather(link, send, root, lambda: receive.parts(link, "recvcounts"))
    coming = _checked_parts(link, root, receive, "recvcounts", send, "sendbuf")
    return _gather_direct(link, send, coming, root)


def _check_blocks(link: Link, root: int, blocks: Part, name: str, own: Part, own_name: str) -> None:
    """Check a rank's own block, and at the root the blocks of all, of which `blocks` is one."""
    at_root = link.rank == root
    if at_root:
        checks.check_buffers(link, *blocks, name)
        checks.no_in_place(link, blocks.address, name)
    else:
        checks.no_in_place(link, own.address, own_name)
    checks.check_buffers(link, *own, own_name)
    if at_root and own.elements == blocks.elements and own.datatype is blocks.datatype:
        checks.distinct(link, own.address, blocks.at(root).address, own.size)


def _checked_parts(link: Link, root: int, parts: Spread, counts: str, own: Part, own_name: str) -> list[Part]:
    """Check a rank's own part. Return the parts of all at the root, none elsewhere."""
    found: list[Part] = []
    if link.rank == root:
        found = parts.parts(link, counts)
    else:
        checks.no_in_place(link, own.address, own_name)
    checks.check_buffers(link, *own, own_name)
    if found and own.datatype is parts.datatype:
        checks.distinct(link, own.address, found[root].address, min(own.size, found[root].size))
    return found


def _checked(link: Link, block: Part, name: str) -> list[Part]:
    """One block for each process of the remote group."""
    checks.no_in_place(link, block.address, name)
    checks.check_buffers(link, *block, name)
    return block.repeated(link.peers)


def _by_tree(link: Link, block: Part) -> bool:
    return block.size <= link.choices.tree_gather and link.size >= link.choices.tree_from_size


def _gather_direct(link: Link, send: Part, coming: Sequence[Part], root: int) -> Steps:
    if link.rank != root:
        yield [link.send(root, *send)]
        return
    operations = [link.receive(rank, *coming[rank]) for rank in range(link.size) if rank != root]
    if not send.in_place:
        copy_own(link, send, coming[root])
    yield operations


class _Branch:
    """A rank's place in the tree, and the packed blocks of its subtree, which are neighbours in
    memory."""

    def __init__(self, link: Link, root: int, block: int) -> None:
        self.link, self.root, self.block = link, root, block
        self.place = (link.rank - root) % link.size
        self.held = Scratch(self._bytes(self.place))
        self.above = (parent(self.place) + root) % link.size
        self.size = self._bytes(self.place)

    def _bytes(self, place: int) -> int:
        return self.block * subtree(place, self.link.size)

    def below(self) -> list[tuple[int, int, int]]:
        """The ranks directly below: (rank, address, bytes) of their subtrees' blocks."""
        size = self.link.size
        return [
            ((child + self.root) % size, self.held.address + (child - self.place) * self.block, self._bytes(child))
            for child in children(self.place, size)
        ]

    def at_root(self, rank: int) -> int:
        """Return where the root holds a rank's block."""
        return self.held.address + (rank - self.root) % self.link.size * self.block


def _gather_tree(link: Link, send: Part, receive: Part, root: int) -> Steps:
    """Each rank collects the packed blocks of its subtree and hands them up."""
    branch = _Branch(link, root, (receive if link.rank == root else send).size)
    if not send.in_place:
        link.check_own(send.size, branch.block)
    gather_bytes(*(receive.at(link.rank) if send.in_place else send), branch.held.address, branch.block)
    yield [link.receive_bytes(*below) for below in branch.below()]
    if branch.place:
        yield [link.send_bytes(branch.above, branch.held.address, branch.size)]
        return
    for rank in range(link.size):
        if rank != root or not send.in_place:
            scatter_bytes(branch.at_root(rank), branch.block, *receive.at(rank))


@collective("MPI_Scatter")
def scatter(link: Link, send: Part, receive: Part, root: int) -> Steps:
    """MPI_Scatter."""
    checks.root(link, root)
    if link.is_inter:
        return inter.scatter(link, receive, root, lambda: _checked(link, send, "sendbuf"))
    _check_blocks(link, root, send, "sendbuf", receive, "recvbuf")
    at_root = link.rank == root
    block = send if at_root else receive
    if link.choices.multicast and block.size * link.size <= link.choices.multicast_scatter:
        return _scatter_by_multicast(link, send, receive, root)
    if _by_tree(link, block):
        return _scatter_tree(link, send, receive, root)
    return _scatter_direct(link, send.repeated(link.size) if at_root else [], receive, root)


@collective("MPI_Scatterv")
def scatterv(link: Link, send: Spread, receive: Part, root: int) -> Steps:
    """MPI_Scatterv."""
    checks.root(link, root)
    if link.is_inter:
        return inter.scatter(link, receive, root, lambda: send.parts(link, "sendcounts"))
    going = _checked_parts(link, root, send, "sendcounts", receive, "recvbuf")
    return _scatter_direct(link, going, receive, root)


def _scatter_direct(link: Link, going: Sequence[Part], receive: Part, root: int) -> Steps:
    if link.rank != root:
        yield [link.receive(root, *receive)]
        return
    operations = [link.send(rank, *going[rank]) for rank in range(link.size) if rank != root]
    if not receive.in_place:
        copy_own(link, going[root], receive)
    yield operations


def _check_own(link: Link, send: Part, receive: Part) -> None:
    """The root has room for its own block. The others' blocks are sent before this, because they are right anyway."""
    if not receive.in_place:
        link.check_own(send.size, receive.size)


def _scatter_by_multicast(link: Link, send: Part, receive: Part, root: int) -> Steps:
    """All blocks go to all ranks in one message, and each takes its own (CC-23)."""
    block = (send if link.rank == root else receive).size
    whole = Scratch(block * link.size)
    if link.rank == root:
        for rank in range(link.size):
            gather_bytes(*send.at(rank), whole.address + rank * block, block)
        others = [rank for rank in range(link.size) if rank != root]
        sends = [link.multicast_body(others, Run(whole.address, block * link.size))] if others else []
        _check_own(link, send, receive)
    else:
        yield [link.receive_bytes(root, whole.address, block * link.size)]
        sends = []
    if not receive.in_place:
        scatter_bytes(whole.address + link.rank * block, block, *receive)
    yield sends


def _scatter_tree(link: Link, send: Part, receive: Part, root: int) -> Steps:
    """The reverse of `_gather_tree`."""
    branch = _Branch(link, root, (send if link.rank == root else receive).size)
    if branch.place:
        yield [link.receive_bytes(branch.above, branch.held.address, branch.size)]
    else:
        for rank in range(link.size):
            gather_bytes(*send.at(rank), branch.at_root(rank), branch.block)
    sends = [link.send_bytes(*below) for below in branch.below()]
    if not branch.place:
        _check_own(link, send, receive)
    if not receive.in_place:
        scatter_bytes(branch.held.address, branch.block, *receive)
    yield sends


# Neighbourhood collectives: every edge of the topology is one message, all posted at once.
#
# Several edges may join the same two processes (a periodic dimension of extent 1 or 2): messages
# between two processes keep their order, so the n-th edge out meets the n-th edge in. In a Cartesian
# topology that would pair "up" with "up" where MPI pairs the sender's "up" with the receiver's "from
# below", so the receives of each dimension are posted in swapped order.


def _neighbours(link: Link) -> tuple[list[int], list[int]]:
    topology = link.communicator.topology
    if topology is None:
        raise MpiError(ErrorClass.TOPOLOGY, f"{link.call}: the communicator has no topology")
    return topology.neighbours(link.rank)


def _exchange(link: Link, going: Sequence[Part], coming: Sequence[Part]) -> Steps:
    sources, destinations = _neighbours(link)
    cartesian = isinstance(link.communicator.topology, Cartesian)
    received = list(zip(sources, coming, strict=True))
    sent = list(zip(destinations, going, strict=True))
    if cartesian:
        # What a process sends up arrives from below: swap within each dimension, so that order
        # pairs them rightly.
        received = [received[index ^ 1] for index in range(len(received))]
    operations = [link.receive(source, *part) for source, part in received if source != PROC_NULL]
    operations += [link.send(dest, *part) for dest, part in sent if dest != PROC_NULL]
    yield operations


@collective("MPI_Neighbor_allgather")
def neighbor_allgather(link: Link, send: Part, receive: Part) -> Steps:
    """MPI_Neighbor_allgather."""
    sources, destinations = _check(link, send, receive)
    checks.check_buffers(link, *send, "sendbuf")
    checks.check_buffers(link, *receive, "recvbuf")
    return _exchange(link, [send] * len(destinations), receive.repeated(len(sources)))


@collective("MPI_Neighbor_allgatherv")
def neighbor_allgatherv(link: Link, send: Part, receive: Spread) -> Steps:
    """MPI_Neighbor_allgatherv."""
    _, destinations = _check(link, send, receive)
    checks.check_buffers(link, *send, "sendbuf")
    return _exchange(link, [send] * len(destinations), receive.parts(link, "recvcounts"))


@collective("MPI_Neighbor_alltoall")
def neighbor_alltoall(link: Link, send: Part, receive: Part) -> Steps:
    """MPI_Neighbor_alltoall."""
    sources, destinations = _check(link, send, receive)
    checks.check_buffers(link, *send, "sendbuf")
    checks.check_buffers(link, *receive, "recvbuf")
    return _exchange(link, send.repeated(len(destinations)), receive.repeated(len(sources)))


@collective("MPI_Neighbor_alltoallv")
def neighbor_alltoallv(link: Link, send: Spread, receive: Spread) -> Steps:
    """MPI_Neighbor_alltoallv."""
    _check(link, send, receive)
    return _exchange(link, send.parts(link, "sendcounts"), receive.parts(link, "recvcounts"))


@collective("MPI_Neighbor_alltoallw")
def neighbor_alltoallw(link: Link, send: Mixed, receive: Mixed) -> Steps:
    """MPI_Neighbor_alltoallw."""
    _check(link, send, receive)
    return _exchange(link, send.parts(link, "sendbuf"), receive.parts(link, "recvbuf"))


def _check(link: Link, send: Buffer, receive: Buffer) -> tuple[list[int], list[int]]:
    """There is a topology, nothing is in place: the ranks that send here, and those that get
    something from here."""
    neighbours = _neighbours(link)
    checks.no_in_place(link, send.address, "sendbuf")
    checks.no_in_place(link, receive.address, "recvbuf")
    return neighbours
