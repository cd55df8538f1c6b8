"""The message queues of this rank, in the words of the program: messages that no receive has taken,
sends and receives that are not done. For the report of a run that has ended."""

from collections import Counter
from collections.abc import Iterable

from ..device import Envelope, Queued, Unreceived
from ..operation import ANY_SOURCE, ANY_TAG
from .collectives.link import name_of
from .communicator import (
    COLLECTIVE,
    CONTEXTS,
    CREATION,
    JOINING,
    LOCAL,
    ONE_SIDED,
    ONE_SIDED_DATA,
    PARTITIONED,
    PARTITIONS,
    PORTS,
    Communicator,
)
from .world import World

_LIBRARY = {
    CREATION: "the creation of a communicator",
    PARTITIONED: "a partitioned send",
    PARTITIONS: "a partitioned send",
}


def unreceived(world: World, on_nic: Iterable[Envelope]) -> list[Unreceived]:
    """All that lies at this rank, by communicator; within one in order of arrival, what its device
    keeps before what its NIC keeps. Equal ones are counted."""
    by_number: dict[int, Communicator] = {one.number: one for one in world.communicators()}
    messages = sorted((*world.process.device.unexpected(), *on_nic), key=lambda one: one.context)
    found = Counter(_describe(by_number, one) for one in messages)
    return [one._replace(times=times) for one, times in found.items()]


def queued(world: World) -> list[Queued]:
    """Receives, then sends."""
    by_number: dict[int, Communicator] = {one.number: one for one in world.communicators()}
    found = []
    for one in world.process.device.pending():
        told = _describe(by_number, Envelope(one.peer, one.tag, one.context, one.length))
        peer = None if one.peer == ANY_SOURCE else told.source
        tag = None if one.tag == ANY_TAG else told.tag
        found.append(Queued(one.sends, peer, tag, one.length, told.where, told.part))
    return found


def _describe(by_number: dict[int, Communicator], message: Envelope) -> Unreceived:
    if message.context in (ONE_SIDED, ONE_SIDED_DATA):
        return Unreceived(message.source, None, message.length, "MPI_COMM_WORLD", "a one-sided operation", 1)
    if message.context in (PORTS, JOINING):
        return Unreceived(message.source, None, message.length, "the run", "MPI_Comm_accept or MPI_Comm_join", 1)
    number, kind = divmod(message.context, CONTEXTS)
    communicator = by_number.get(number)
    if communicator is None:
        where, source = "a communicator that was freed", message.source
    else:
        where = communicator.label
        group = communicator.group if kind == LOCAL else communicator.remote_group
        source = group.position(message.source)
    if kind in (COLLECTIVE, LOCAL):
        return Unreceived(source, None, message.length, where, name_of(message.tag), 1)
    if kind in _LIBRARY:
        return Unreceived(source, None, message.length, where, _LIBRARY[kind], 1)
    return Unreceived(source, message.tag, message.length, where, "", 1)
