"""Collectives of small values that the NICs carry on by themselves, where the device has this."""

from collections.abc import Callable, Generator, Iterable
from typing import Concatenate, ParamSpec

import numpy as np

from ...body import Body
from ...bus.base import BusError
from ...device import VALUE_BYTES, Collectives, Combine, Combined
from ...operation import Operation
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..memory import array_at
from ..op import Op
from ..request import hold
from .link import Link
from .schedule import Steps

_COMBINES = {
    "MPI_BOR": Combine.OR,
    "MPI_LOR": Combine.OR,
    "MPI_BAND": Combine.AND,
    "MPI_LAND": Combine.AND,
    "MPI_BXOR": Combine.XOR,
    "MPI_LXOR": Combine.XOR,
    "MPI_SUM": Combine.ADD,
    "MPI_MIN": Combine.MIN,
    "MPI_MAX": Combine.MAX,
}
_BITS = (Combine.OR, Combine.AND, Combine.XOR)
_LOGICAL = ("MPI_LAND", "MPI_LOR", "MPI_LXOR")
_SIGN = 1 << 8 * VALUE_BYTES - 1
_MASK = (1 << 8 * VALUE_BYTES) - 1
PAIR = VALUE_BYTES + 1  # in place of a size


Arguments = ParamSpec("Arguments")
Begun = Generator[Iterable[Operation], None, Combined]


class Small:
    """A vector that is one value for the NICs, by an operation that they have: a whole number of numpy's, for
    operations on bits as many as fit, or a real to be added. All members get the same answer, since all give the same
    operation, count and datatype."""

    def __init__(self, count: int, datatype: Datatype, op: Op) -> None:
        self._count = count
        self._datatype = datatype
        self._logical = op.name in _LOGICAL
        real = datatype.dtype is not None and datatype.dtype.kind == "f"
        self.combine = Combine.ADD_REAL if real else _COMBINES[op.name]

    @classmethod
    def of(cls, link: Link, count: int, datatype: Datatype, op: Op) -> "Small | None":
        dtype = datatype.dtype
        if not op.predefined or op.name not in _COMBINES or dtype is None or not link.offloads:
            return None
        known = dtype.kind in "iub" or (dtype == np.float64 and op.name == "MPI_SUM")
        if not known or not 0 < count * datatype.size <= VALUE_BYTES:
            return None
        one = cls(count, datatype, op)
        return one if count == 1 or (one.combine in _BITS and not one._logical) else None

    @property
    def size(self) -> int:
        return self._count * self._datatype.size

    def load(self, address: int) -> int:
        """The value for the NICs. Numbers are compared as such with a sign."""
        if self._count > 1 or self.combine is Combine.ADD_REAL:
            return int.from_bytes(self._bytes(address), "little")
        number = int(array_at(address, 1, self._datatype.dtype)[0])
        if self._logical:
            return int(number != 0)
        return (number ^ self._flipped) & _MASK

    def store(self, value: int, address: int) -> None:
        value ^= self._flipped
        self._bytes(address)[:] = np.frombuffer(
            (value & (1 << 8 * self.size) - 1).to_bytes(self.size, "little"), np.uint8
        )

    def _bytes(self, address: int) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
        return array_at(address, self.size, np.uint8)

    @property
    def _flipped(self) -> int:
        """So numbers without a sign are in the order of those with one."""
        orders = self.combine in (Combine.MIN, Combine.MAX)
        return _SIGN if orders and self._datatype.dtype is not None and self._datatype.dtype.kind == "u" else 0


def nics(link: Link) -> Collectives:
    """The device's collectives, of a call that has them."""
    assert link.collectives is not None
    return link.collectives


def begin(
    link: Link,
    call: Callable[Concatenate[int, int, Arguments], Combined],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Begun:
    """Begin a collective of the NICs, after all others of its lane. Before the first one of a lane goes on, all
    members meet, so that all NICs know the group; also if their calls differ, which the NICs will tell."""
    comm, collectives, lane = link.communicator, nics(link), link.lane
    assert lane is not None
    first = lane not in comm.lanes
    if first:
        if not comm.lanes:
            collectives.join(comm.number, comm.route)
        comm.lanes.add(lane)
    operation = call(comm.number, lane, *arguments, **named)
    if first:
        yield from dissemination(link.meeting())
        collectives.open(comm.number, lane)
    return operation


def synchronize(link: Link) -> Steps:
    """A barrier of the NICs."""
    operation = yield from begin(link, nics(link).combine, link.name(0, 0), Combine.OR, 0)
    yield link.awaits(operation)


def reduce_small(link: Link, small: Small, send: int, receive: int, root: int | None) -> Steps:
    """All members, or `root` alone, get what all have combined. The others go on once their NICs have their
    values."""
    name = link.name(small.size, 0 if root is None else root)
    operation = yield from begin(link, nics(link).combine, name, small.combine, small.load(send))
    if root is None or link.rank == root:
        yield link.awaits(operation)
        if operation.error is None:
            small.store(operation.value, receive)
    else:
        hold(operation, link.communicator)  # so its number is not another's while the NIC goes on
        yield link.awaits(operation.posted)


def allreduce_pair(link: Link, one: Small, send: int, receive: int) -> Steps:
    """Two elements of which each is `one` value for the NICs: two collectives, which take less than messages."""
    names = [link.name(PAIR, number) for number in range(2)]  # of no call with one element
    operations = []
    for number, name in enumerate(names):
        value = one.load(send + number * one.size)
        operations.append((yield from begin(link, nics(link).combine, name, one.combine, value)))
    yield [awaited for operation in operations for awaited in link.awaits(operation)]
    for number, operation in enumerate(operations):
        if operation.error is None:
            one.store(operation.value, receive + number * one.size)


def broadcast_small(link: Link, body: Body, root: int) -> Steps:
    """All members get the root's bytes. The root goes on once its NIC has them."""
    value, size = 0, body.size
    if link.rank == root:
        try:
            value = int.from_bytes(body.read(), "little")
        except BusError as error:
            link.fail(MpiError(ErrorClass.BUFFER, f"{link.call}: {error}"))
            size = 0
    operation = yield from begin(link, nics(link).spread, link.name(size, root), root, value)
    if link.rank == root:
        hold(operation, link.communicator)
        yield link.awaits(operation.posted)
        return
    yield link.awaits(operation)
    if operation.error is None:
        try:
            body.write((operation.value & (1 << 8 * size) - 1).to_bytes(size, "little"))
        except BusError as error:
            link.fail(MpiError(ErrorClass.BUFFER, f"{link.call}: {error}"))


def dissemination(link: Link) -> Steps:
    """In round k each rank tells the one 2**k above it and hears from the one 2**k below:
    log2(size) rounds."""
    rank, size = link.rank, link.size
    distance = 1
    while distance < size:
        heard = link.receive_bytes((rank - distance) % size, 0, 0)
        told = link.send_bytes((rank + distance) % size, 0, 0)
        yield [heard, told]
        distance *= 2
