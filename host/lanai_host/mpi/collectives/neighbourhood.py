"""Neighbourhood collectives: every edge of the topology is one message, all posted at once.

Several edges may join the same two processes (a periodic dimension of extent 1 or 2): messages between two processes keep
their order, so the n-th edge out meets the n-th edge in. In a Cartesian topology that would pair "up" with "up" where MPI
pairs the sender's "up" with the receiver's "from below", so there each edge has a tag of its own.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..constants import PROC_NULL
from ..errors import ErrorClass, MpiError
from ..topology import Cartesian
from . import checks
from .alltoall import Part, parts_w
from .schedule import Link, Steps, collective

if TYPE_CHECKING:
    from ..datatypes import Datatype


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
        # What a process sends up arrives from below: swap within each dimension, so that order pairs them rightly.
        received = [received[index ^ 1] for index in range(len(received))]
    operations = [link.receive(source, *part) for source, part in received if source != PROC_NULL]
    operations += [link.send(dest, *part) for dest, part in sent if dest != PROC_NULL]
    yield operations


def _blocks(address: int, count: int, datatype: "Datatype", blocks: int) -> list[Part]:
    return [Part(address + index * count * datatype.extent, count, datatype) for index in range(blocks)]


def _varied(address: int, counts: Sequence[int], displacements: Sequence[int], datatype: "Datatype") -> list[Part]:
    return [
        Part(address + displacement * datatype.extent, count, datatype)
        for count, displacement in zip(counts, displacements, strict=True)
    ]


@collective("MPI_Neighbor_allgather")
def neighbor_allgather(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
) -> Steps:
    """MPI_Neighbor_allgather."""
    sources, destinations = _neighbours(link)
    _check(link, send, receive)
    checks.buffer(link, send, send_count, send_type)
    checks.buffer(link, receive, receive_count, receive_type)
    going = [Part(send, send_count, send_type)] * len(destinations)
    return _exchange(link, going, _blocks(receive, receive_count, receive_type, len(sources)))


@collective("MPI_Neighbor_allgatherv")
def neighbor_allgatherv(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_counts: Sequence[int],
    displacements: Sequence[int],
    receive_type: "Datatype",
) -> Steps:
    """MPI_Neighbor_allgatherv."""
    _, destinations = _neighbours(link)
    _check(link, send, receive)
    checks.buffer(link, send, send_count, send_type)
    checks.counts(link, "recvcounts", receive_counts, receive_type)
    going = [Part(send, send_count, send_type)] * len(destinations)
    return _exchange(link, going, _varied(receive, receive_counts, displacements, receive_type))


@collective("MPI_Neighbor_alltoall")
def neighbor_alltoall(
    link: Link,
    send: int,
    send_count: int,
    send_type: "Datatype",
    receive: int,
    receive_count: int,
    receive_type: "Datatype",
) -> Steps:
    """MPI_Neighbor_alltoall."""
    sources, destinations = _neighbours(link)
    _check(link, send, receive)
    checks.buffer(link, send, send_count, send_type)
    checks.buffer(link, receive, receive_count, receive_type)
    going = _blocks(send, send_count, send_type, len(destinations))
    return _exchange(link, going, _blocks(receive, receive_count, receive_type, len(sources)))


@collective("MPI_Neighbor_alltoallv")
def neighbor_alltoallv(
    link: Link,
    send: int,
    send_counts: Sequence[int],
    send_displacements: Sequence[int],
    send_type: "Datatype",
    receive: int,
    receive_counts: Sequence[int],
    receive_displacements: Sequence[int],
    receive_type: "Datatype",
) -> Steps:
    """MPI_Neighbor_alltoallv."""
    _neighbours(link)
    _check(link, send, receive)
    checks.counts(link, "sendcounts", send_counts, send_type)
    checks.counts(link, "recvcounts", receive_counts, receive_type)
    going = _varied(send, send_counts, send_displacements, send_type)
    return _exchange(link, going, _varied(receive, receive_counts, receive_displacements, receive_type))


@collective("MPI_Neighbor_alltoallw")
def neighbor_alltoallw(
    link: Link,
    send: int,
    send_counts: Sequence[int],
    send_displacements: Sequence[int],
    send_types: Sequence["Datatype"],
    receive: int,
    receive_counts: Sequence[int],
    receive_displacements: Sequence[int],
    receive_types: Sequence["Datatype"],
) -> Steps:
    """MPI_Neighbor_alltoallw."""
    _neighbours(link)
    _check(link, send, receive)
    going = parts_w(link, send, send_counts, send_displacements, send_types)
    return _exchange(link, going, parts_w(link, receive, receive_counts, receive_displacements, receive_types))


def _check(link: Link, send: int, receive: int) -> None:
    checks.no_in_place(link, send, "sendbuf")
    checks.no_in_place(link, receive, "recvbuf")
