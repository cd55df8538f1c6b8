"""Neighbourhood collectives: every edge of the topology is one message, all posted at once.

Several edges may join the same two processes (a periodic dimension of extent 1 or 2): messages
between two processes keep their order, so the n-th edge out meets the n-th edge in. In a Cartesian
topology that would pair "up" with "up" where MPI pairs the sender's "up" with the receiver's "from
below", so the receives of each dimension are posted in swapped order.
"""

from collections.abc import Sequence

from ..constants import PROC_NULL
from ..errors import ErrorClass, MpiError
from ..topology import Cartesian
from . import checks
from .link import Link
from .parts import Buffer, Mixed, Part, Spread
from .schedule import Steps, collective


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
    checks.buffer(link, *send, "sendbuf")
    checks.buffer(link, *receive, "recvbuf")
    return _exchange(link, [send] * len(destinations), receive.repeated(len(sources)))


@collective("MPI_Neighbor_allgatherv")
def neighbor_allgatherv(link: Link, send: Part, receive: Spread) -> Steps:
    """MPI_Neighbor_allgatherv."""
    _, destinations = _check(link, send, receive)
    checks.buffer(link, *send, "sendbuf")
    return _exchange(link, [send] * len(destinations), receive.parts(link, "recvcounts"))


@collective("MPI_Neighbor_alltoall")
def neighbor_alltoall(link: Link, send: Part, receive: Part) -> Steps:
    """MPI_Neighbor_alltoall."""
    sources, destinations = _check(link, send, receive)
    checks.buffer(link, *send, "sendbuf")
    checks.buffer(link, *receive, "recvbuf")
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
