"""Buffers given as (address, count, datatype): checked, allocated and copied."""

from .constants import BOTTOM, IN_PLACE
from .datatypes import Datatype
from .errors import ErrorClass, MpiError
from .memory import Scratch, move


def check_address(call: str, name: str, address: int, count: int, datatype: Datatype) -> None:
    """A buffer with data needs memory: MPI_BOTTOM is an address only where the datatype holds
    absolute ones."""
    if address == IN_PLACE:
        raise MpiError(ErrorClass.BUFFER, f"{call}: {name} is MPI_IN_PLACE, which is not allowed here")
    if address == BOTTOM and count and datatype.size and datatype.true_lb == 0:
        raise MpiError(ErrorClass.BUFFER, f"{call}: {name} is a null pointer, but the count is {count}")


class TypedScratch:
    """Room for `count` elements of `datatype` in their own layout: (address, count, datatype) is a
    valid buffer."""

    __slots__ = ("_scratch", "address")

    def __init__(self, count: int, datatype: Datatype) -> None:
        # Operations may write the gap at an element's end, the last one's too.
        size = max(0, count - 1) * abs(datatype.extent) + max(datatype.true_extent, datatype.extent) if count else 0
        self._scratch = Scratch(size)
        lowest = datatype.true_lb + (min(0, datatype.extent) * (count - 1) if count else 0)
        self.address = self._scratch.address - lowest


def gather_bytes(address: int, count: int, datatype: Datatype, target: int, room: int) -> int:
    """Copy a buffer's bytes, packed, to `target`, as many as there is room for; the number of bytes."""
    return datatype.pack(address, count, target, 0, room)


def scatter_bytes(source: int, size: int, address: int, count: int, datatype: Datatype) -> int:
    """Copy at most `size` packed bytes from `source` into a buffer; the number of bytes that found
    room."""
    return datatype.unpack(source, address, count, 0, size)


def copy_elements(
    source: int, source_count: int, source_type: Datatype, target: int, target_count: int, target_type: Datatype
) -> None:
    """Copy one buffer into another as a message to oneself would; the caller has compared the
    sizes. What finds no room is left out."""
    size = source_count * source_type.size
    if source_type.dense and target_type.dense:
        move(target + target_type.true_lb, source + source_type.true_lb, min(size, target_count * target_type.size))
    elif source_type.dense:
        scatter_bytes(source + source_type.true_lb, size, target, target_count, target_type)
    elif target_type.dense:
        source_type.pack(source, source_count, target + target_type.true_lb, 0, target_count * target_type.size)
    else:
        packed = Scratch(size)
        gather_bytes(source, source_count, source_type, packed.address, size)
        scatter_bytes(packed.address, size, target, target_count, target_type)
