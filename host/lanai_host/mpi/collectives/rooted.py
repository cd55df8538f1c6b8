"""Gather and scatter: along a binomial tree for short blocks, else directly; the v forms
directly."""

from collections.abc import Sequence

from ...body import Run
from ..buffers import gather_bytes, scatter_bytes
from ..memory import Scratch
from . import checks, inter
from .link import Link
from .parts import Part, Spread, copy_own
from .schedule import Steps, collective
from .tree import children, parent, subtree


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
        checks.buffer(link, *blocks, name)
        checks.no_in_place(link, blocks.address, name)
    else:
        checks.no_in_place(link, own.address, own_name)
    checks.buffer(link, *own, own_name)
    if at_root and own.elements == blocks.elements and own.datatype is blocks.datatype:
        checks.distinct(link, own.address, blocks.at(root).address, own.size)


def _checked_parts(link: Link, root: int, parts: Spread, counts: str, own: Part, own_name: str) -> list[Part]:
    """Check a rank's own part. Return the parts of all at the root, none elsewhere."""
    found: list[Part] = []
    if link.rank == root:
        found = parts.parts(link, counts)
    else:
        checks.no_in_place(link, own.address, own_name)
    checks.buffer(link, *own, own_name)
    if found and own.datatype is parts.datatype:
        checks.distinct(link, own.address, found[root].address, min(own.size, found[root].size))
    return found


def _checked(link: Link, block: Part, name: str) -> list[Part]:
    """One block for each process of the remote group."""
    checks.no_in_place(link, block.address, name)
    checks.buffer(link, *block, name)
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
