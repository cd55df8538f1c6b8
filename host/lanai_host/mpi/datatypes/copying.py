"""Copies between a typed buffer and a packed stream, from any byte to any byte (SC-14, SC-15).

A copy goes leaf by leaf; what of a leaf lies in the wanted part of the stream is found by arithmetic, the two blocks that
the part may cut are copied by themselves, and the rest moves in strided boxes, which numpy copies at machine speed.
"""

import ctypes
from typing import Any

import numpy as np

from .layout import Layout, Leaf, Turn

LOOP = 4  # up to so many blocks, plain copies are quicker than describing arrays


class _Strided:
    """Memory described for numpy: equal blocks at regular distances."""

    __slots__ = ("__array_interface__",)

    def __init__(self, address: int, length: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "typestr": f"|V{length}",
            "shape": shape,
            "strides": strides,
        }


def _view(address: int, length: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    return np.asarray(_Strided(address, length, shape, strides))


def pack(layout: Layout, extent: int, count: int, address: int, stream: int, begin: int, end: int) -> None:
    """Copy bytes begin..end-1 of the packed form of `count` elements at `address` to `stream`."""
    _copy(layout, extent, count, address, stream - begin, begin, end, into_stream=True)


def unpack(layout: Layout, extent: int, count: int, address: int, stream: int, begin: int, end: int) -> None:
    """The same the other way: `stream` holds bytes begin..end-1 of the packed form."""
    _copy(layout, extent, count, address, stream - begin, begin, end, into_stream=False)


def _copy(
    layout: Layout, extent: int, count: int, address: int, origin: int, begin: int, end: int, into_stream: bool
) -> None:
    outer = Turn(count, extent, layout.size)
    for leaf in layout.leaves:
        whole = leaf if count == 1 else leaf._replace(stack=(outer, *leaf.stack))
        first, last = whole.blocks_before(begin), whole.blocks_before(end)
        if first:
            # The last block that begins before the part may reach into it.
            _copy_piece(whole, first - 1, address, origin, begin, end, into_stream)
        if last > first:
            position = whole.place(last - 1)[1]
            if position + leaf.length > end:
                last -= 1
                _copy_piece(whole, last, address, origin, begin, end, into_stream)
            _copy_blocks(whole, first, last, address, origin, into_stream)


def _copy_piece(leaf: Leaf, index: int, address: int, origin: int, begin: int, end: int, into_stream: bool) -> None:
    """Copy what of one block lies inside the part."""
    offset, packed = leaf.place(index)
    start, stop = max(begin, packed), min(end, packed + leaf.length)
    if start < stop:
        _move(origin + start, address + offset + start - packed, stop - start, into_stream)


def _copy_blocks(leaf: Leaf, first: int, last: int, address: int, origin: int, into_stream: bool) -> None:
    """Copy whole blocks."""
    length = leaf.length
    if last - first <= LOOP:
        for index in range(first, last):
            offset, packed = leaf.place(index)
            _move(origin + packed, address + offset, length, into_stream)
        return
    for index, turns in leaf.boxes(first, last):
        offset, packed = leaf.place(index)
        shape = tuple(turn.count for turn in turns)
        stream = _view(origin + packed, length, shape, tuple(turn.size for turn in turns))
        memory = _view(address + offset, length, shape, tuple(turn.extent for turn in turns))
        if into_stream:
            stream[...] = memory
        else:
            memory[...] = stream


def _move(stream: int, memory: int, size: int, into_stream: bool) -> None:
    if into_stream:
        ctypes.memmove(stream, memory, size)
    else:
        ctypes.memmove(memory, stream, size)
