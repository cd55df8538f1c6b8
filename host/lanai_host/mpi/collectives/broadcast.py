"""Broadcast: a multicast where the device has one; else a binomial tree, or for long messages a
scatter followed by a ring."""

from ...body import NOTHING, Body
from ...device import VALUE_BYTES
from ..communicator import Communicator
from ..constants import PROC_NULL, ROOT
from ..datatypes import Datatype
from . import checks
from .link import Link, children, parent
from .offloaded import broadcast_small, dissemination, synchronize
from .schedule import Steps, collective, run_apart


@collective("MPI_Bcast")
def bcast(link: Link, address: int, count: int, datatype: Datatype, root: int) -> Steps:
    """MPI_Bcast."""
    checks.root(link, root)
    if root != PROC_NULL:  # then nothing else has a meaning
        checks.check_buffers(link, address, count, datatype, "buffer")
    if link.is_inter:
        return _between_groups(link, address, count, datatype, root)
    return broadcast(link, datatype.body(address, count), root)


def broadcast(link: Link, body: Body, root: int) -> Steps:
    """The choice. None packs: all send and receive the buffer itself."""
    if link.offloads and 0 < body.size <= VALUE_BYTES:
        yield from broadcast_small(link, body, root)
    elif link.choices.multicast:
        yield from at_once(link, body, root)
    elif body.size >= link.choices.broadcast_by_pieces and link.size >= link.choices.pieces_from_size:
        yield from by_pieces(link, body, root)
    else:
        yield from binomial(link, body, root)


def at_once(link: Link, body: Body, root: int) -> Steps:
    """The root sends one message to all (CC-21)."""
    if link.rank != root:
        yield [link.receive_body(root, body)]
    elif link.size > 1:
        yield [link.multicast_body([rank for rank in range(link.size) if rank != root], body)]


def binomial(link: Link, body: Body, root: int) -> Steps:
    """log2(size) steps, each rank sends what it has to those below it in the tree, the largest
    subtree first."""
    place = (link.rank - root) % link.size
    if place:
        yield [link.receive_body((parent(place) + root) % link.size, body)]
    sends = [link.send_body((child + root) % link.size, body) for child in children(place, link.size)]
    yield sends


def by_pieces(link: Link, body: Body, root: int) -> Steps:
    """Scatter one piece to each rank, then pass pieces round the ring: twice the message over each
    link at most."""
    ranks = link.size
    place = (link.rank - root) % ranks
    bounds = [body.size * index // ranks for index in range(ranks + 1)]

    def part(index: int) -> Body:
        return body.part(bounds[index], bounds[index + 1])

    if place == 0:
        yield [link.send_body((other + root) % ranks, part(other)) for other in range(1, ranks)]
    else:
        yield [link.receive_body(root, part(place))]
    before, after = (link.rank - 1) % ranks, (link.rank + 1) % ranks
    for step in range(ranks - 1):
        coming, going = (place - step - 1) % ranks, (place - step) % ranks
        operations = []
        if place != 0:  # the root has every piece
            operations.append(link.receive_body(before, part(coming)))
        if (place + 1) % ranks != 0:
            operations.append(link.send_body(after, part(going)))
        yield operations


def _between_groups(link: Link, address: int, count: int, datatype: Datatype, root: int) -> Steps:
    """The root sends to the other group's leader, who broadcasts among its group."""
    if root == PROC_NULL:
        return
    if root == ROOT:
        yield [link.send(0, address, count, datatype)]
        return
    if link.rank == 0:
        yield [link.receive(root, address, count, datatype)]
    yield from broadcast(link.local(), datatype.body(address, count), 0)


# Barrier: the NICs' or the device's own, else dissemination. MPI_Finalize begins with one.


@collective("MPI_Barrier")
def barrier(link: Link) -> Steps:
    """MPI_Barrier."""
    return _barrier_between_groups(link) if link.is_inter else _inside_group(link)


def _inside_group(link: Link) -> Steps:
    if link.offloads:
        yield from synchronize(link)
        return
    operation = link.device_barrier()
    if operation is None:
        yield from dissemination(link)
    else:
        yield [operation]


def _barrier_between_groups(link: Link) -> Steps:
    """The leaders hear from each other that both groups have come, and tell their groups."""
    local = link.local()
    yield from _inside_group(local)
    if link.rank == 0:
        yield [link.receive_bytes(0, 0, 0), link.send_bytes(0, 0, 0)]
    yield from binomial(local, NOTHING, 0)


@collective("MPI_Finalize")
def last_barrier(link: Link) -> Steps:
    """A barrier of all processes of a communicator, which use it no more. It has a context and a kind of its own: no
    call of the program completes it, and it completes none."""
    return barrier.describe(link)


def finish(comm: Communicator) -> None:
    """Wait until all processes of a communicator have come to MPI_Finalize."""
    run_apart(comm, last_barrier, None if comm.is_inter else comm.final_context)
