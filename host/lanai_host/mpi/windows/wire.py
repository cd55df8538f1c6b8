"""The messages of one-sided calls to their targets: requests, each a header with as much of its data as fits, and
descriptions of datatypes.

Requests of one process to another are taken in their order. Data that do not fit, and all answers, travel in a context
of their own under the request's serial number.
"""

import enum
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..datatypes import PREDEFINED, Datatype
from ..datatypes.layout import Layout, Leaf, Turn
from ..datatypes.signature import Signature
from ..op import PREDEFINED as OPERATIONS

EAGER = 4096  # bytes of data that go with a request
SLOTS = 64  # datatypes that a target remembers of each origin
NO_SLOT = -1
SERIALS = 1 << 30
EPOCHS = 1 << 16
SITES = 1 << 15
FENCE = 1  # `Header.op` of a flush that all processes do: what it completes still belongs to the epoch

OPS = tuple(OPERATIONS.values())  # by number
TYPES = tuple(PREDEFINED.values())
OP_NUMBERS = {id(op): number for number, op in enumerate(OPS)}
TYPE_NUMBERS = {id(datatype): number for number, datatype in enumerate(TYPES)}
BYTES = TYPE_NUMBERS[id(PREDEFINED["MPI_BYTE"])]
_BY_NAME = {name: number for number, name in enumerate(PREDEFINED)}


class Kind(enum.IntEnum):
    """The kind of a request."""

    TYPE = 0  # remember a datatype
    PUT = 1
    GET = 2
    ACCUMULATE = 3
    GET_ACCUMULATE = 4
    COMPARE_AND_SWAP = 5
    FLUSH = 6  # answer when all before this has been done
    LOCK = 7  # answered when granted
    UNLOCK = 8  # answered if it has a serial number
    POST = 9  # MPI_Win_post, to an origin
    COMPLETE = 10  # MPI_Win_complete
    SITE = 11  # remember where the program made a call, for the report of a race


class Header(NamedTuple):
    """The beginning of a request.

    Members:
        op: the operation of an accumulate, the type of a lock, or FENCE.
        basic: the predefined datatype of the elements at the target, which is the target's datatype
            unless `slot` names another.
        window: the context number of the window's communicator.
        serial: of the data that follow, or of the answer; 0: neither.
        elements: how many of the target's datatype.
        offset: bytes from the beginning of the target's memory.
        size: bytes of data that come with the request or follow it.
        epoch: how many fences the origin has passed, of EPOCHS.
        site: what the target remembers under this number is the call; 0: nothing.
    """

    kind: Kind
    op: int = 0
    basic: int = 0
    window: int = 0
    slot: int = NO_SLOT
    serial: int = 0
    elements: int = 0
    offset: int = 0
    size: int = 0
    epoch: int = 0
    site: int = 0


_KINDS = tuple(Kind)
_FORM = struct.Struct("<BBHHhIqqqHH")
HEADER = _FORM.size


def data_tag(serial: int) -> int:
    """The tag of the data that follow a request of this serial number."""
    return 2 * serial


def answer_tag(serial: int) -> int:
    """The tag of the answer to a request of this serial number: two processes may use one number
    for requests to each other."""
    return 2 * serial + 1


def pack(header: Header) -> bytes:
    return _FORM.pack(*header)


def unpack(data: bytes) -> Header:
    kind, *rest = _FORM.unpack(data)
    return Header(_KINDS[kind], *rest)


# Datatypes


def basic_number(datatype: Datatype) -> int | None:
    """The number of the predefined datatype that a datatype consists of; None if there are several,
    or none."""
    number = TYPE_NUMBERS.get(id(datatype))
    if number is not None:
        return number
    if datatype.signature.single is not None:
        return _BY_NAME[datatype.signature.single.name]
    found = {basic_number(part) for part in datatype.envelope.datatypes}
    return found.pop() if len(found) == 1 else None


def _numbers(datatype: Datatype) -> Iterator[int]:
    layout = datatype.layout
    yield from (datatype.size, datatype.lb, datatype.extent, layout.size, len(layout.leaves))
    for leaf in layout.leaves:
        yield from (leaf.length, leaf.offset, leaf.packed, len(leaf.stack))
        for turn in leaf.stack:
            yield from turn


def encode(datatype: Datatype) -> bytes:
    """A datatype's layout, as another process needs it."""
    return np.fromiter(_numbers(datatype), np.int64).tobytes()


def decode(data: bytes) -> Datatype:
    """The datatype of a layout that `encode` wrote."""
    numbers = iter(np.frombuffer(data, np.int64).tolist())
    size, lb, extent, total, leaves = (next(numbers) for _ in range(5))

    def leaf() -> Leaf:
        length, offset, packed, depth = (next(numbers) for _ in range(4))
        turns = tuple(Turn(next(numbers), next(numbers), next(numbers)) for _ in range(depth))
        return Leaf(length, offset, packed, turns)

    layout = Layout(tuple(leaf() for _ in range(leaves)), total)
    datatype = Datatype(lambda: (layout, Signature(())), size, lb, extent, name="of another process")
    datatype.commit()
    return datatype
