"""Where a datatype's bytes lie, flattened (SC-11): a list of leaves, each with a stack of repeats.

A leaf is a run of adjacent bytes that repeats regularly. Its stack, root first, says how often, how far apart in memory
(`extent`) and how far apart in the packed stream (`size`). Because a leaf carries its packed position too, leaves can be
copied one after the other while the packed bytes still come out in the order of MPI's type map, whatever the type at the
other end looks like. Blocks of one leaf are numbered in the order in which they are packed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Turn(NamedTuple):
    """One level of repetition."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody calls
    extent: int  # bytes of memory from one to the next
    size: int  # bytes of the packed stream from one to the next


class Leaf(NamedTuple):
    """`length` adjacent bytes, first at `offset` in memory and at `packed` in the stream, repeated by `stack`."""

    length: int
    offset: int
    packed: int
    stack: tuple[Turn, ...] = ()

    @property
    def blocks(self) -> int:
        """How many blocks the leaf stands for."""
        total = 1
        for turn in self.stack:
            total *= turn.count
        return total

    def blocks_before(self, position: int) -> int:
        """How many of the blocks begin before `position` of the packed stream. O(depth), which keeps a resumed copy cheap."""
        rest = position - self.packed
        if rest <= 0:
            return 0
        index, inner = 0, self.blocks
        for turn in self.stack:
            inner //= turn.count
            step = min((rest - 1) // turn.size, turn.count - 1)
            index += step * inner
            rest -= step * turn.size
        return index + 1

    def place(self, block: int) -> tuple[int, int]:
        """(offset in memory, position in the packed stream) of one block."""
        offset, packed = self.offset, self.packed
        for turn in reversed(self.stack):
            block, step = divmod(block, turn.count)
            offset += step * turn.extent
            packed += step * turn.size
        return offset, packed

    def boxes(self, first: int, last: int) -> Iterator[tuple[int, tuple[Turn, ...]]]:
        """Cut blocks first..last-1 into regular boxes: (first block, turns). At most two per level and one, so a copy that
        begins and ends anywhere needs few strided moves."""
        while first < last:
            inner = self.blocks
            for level, turn in enumerate(self.stack):
                inner //= turn.count
                if first % inner == 0 and first + inner <= last:
                    step = first // inner % turn.count
                    taken = min((last - first) // inner, turn.count - step)
                    yield first, (turn._replace(count=taken), *self.stack[level + 1 :])
                    first += taken * inner
                    break
            else:
                yield first, ()
                first += 1


@dataclass(frozen=True)
class Layout:
    """All leaves of one datatype in packed order, and its size in bytes."""

    leaves: tuple[Leaf, ...]
    size: int

    @cached_property
    def blocks(self) -> int:
        """Number of blocks in all leaves."""
        return sum(leaf.blocks for leaf in self.leaves)

    def repeated(self, count: int, extent: int) -> "Layout":
        """`count` copies, `extent` bytes apart."""
        if count == 0 or self.size == 0:
            return EMPTY
        if count == 1:
            return self
        turn = Turn(count, extent, self.size)
        return tidy((leaf._replace(stack=(turn, *leaf.stack)) for leaf in self.leaves), count * self.size)

    def moved(self, displacement: int) -> "Layout":
        """The same, `displacement` bytes higher."""
        if displacement == 0:
            return self
        return Layout(tuple(leaf._replace(offset=leaf.offset + displacement) for leaf in self.leaves), self.size)

    def runs(self) -> tuple[Ints, Ints]:
        """Offsets and lengths of all maximal runs in packed order, as arrays."""
        if not self.leaves:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        offsets, packed, lengths = [], [], []
        for leaf in self.leaves:
            place, position = np.array([leaf.offset]), np.array([leaf.packed])
            for turn in leaf.stack:
                steps = np.arange(turn.count, dtype=np.int64)
                place = np.add.outer(place, steps * turn.extent).ravel()
                position = np.add.outer(position, steps * turn.size).ravel()
            offsets.append(place)
            packed.append(position)
            lengths.append(np.full(len(place), leaf.length, np.int64))
        order = np.argsort(np.concatenate(packed), kind="stable")
        return merge_runs(np.concatenate(offsets)[order], np.concatenate(lengths)[order])


EMPTY = Layout((), 0)


def merge_runs(offsets: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Join runs of which one begins where the one before ends."""
    begins = np.empty(len(offsets), bool)
    begins[:1] = True
    np.not_equal(offsets[1:], offsets[:-1] + lengths[:-1], out=begins[1:])
    firsts = np.flatnonzero(begins)
    if len(firsts) == len(offsets):
        return offsets, lengths
    return offsets[firsts], np.add.reduceat(lengths, firsts)


def block(length: int) -> Layout:
    """`length` bytes at 0."""
    return Layout((Leaf(length, 0, 0),), length) if length else EMPTY


def joined(parts: Iterable[tuple[int, Layout]]) -> Layout:
    """Layouts one after the other, each moved by its displacement."""
    leaves: list[Leaf] = []
    size = 0
    for displacement, part in parts:
        for leaf in part.leaves:
            leaves.append(leaf._replace(offset=leaf.offset + displacement, packed=leaf.packed + size))
        size += part.size
    return tidy(leaves, size)


def tidy(leaves: Iterable[Leaf], size: int) -> Layout:
    """Merge what can be merged (SC-13): fewer leaves, shallower stacks, longer blocks."""
    before = [_flattened(leaf) for leaf in leaves]
    while True:
        after = [_flattened(leaf) for leaf in _folded(_touching(before))]
        if len(after) == len(before):
            return Layout(tuple(after), size)
        before = after


def _flattened(leaf: Leaf) -> Leaf:
    """One leaf with turns dropped that repeat once, that only lengthen the block, or that continue the one outside."""
    length, stack = leaf.length, [turn for turn in leaf.stack if turn.count != 1]
    level = len(stack) - 1
    while level >= 0:
        turn = stack[level]
        if level == len(stack) - 1 and turn.extent == length and turn.size == length:
            length *= stack.pop().count
        elif level and stack[level - 1][1:] == (turn.count * turn.extent, turn.count * turn.size):
            stack[level - 1 :] = [turn._replace(count=stack[level - 1].count * turn.count), *stack[level + 1 :]]
        level -= 1
    return Leaf(length, leaf.offset, leaf.packed, tuple(stack))


def _touching(leaves: Sequence[Leaf]) -> list[Leaf]:
    """Neighbours that repeat alike and touch, in memory and in the stream, become one."""
    merged: list[Leaf] = []
    for leaf in leaves:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.stack == leaf.stack
            and last.offset + last.length == leaf.offset
            and last.packed + last.length == leaf.packed
        ):
            merged[-1] = last._replace(length=last.length + leaf.length)
        else:
            merged.append(leaf)
    return merged


def _folded(leaves: Sequence[Leaf]) -> list[Leaf]:
    """Three or more neighbours alike at regular distances become one with a turn more."""
    folded: list[Leaf] = []
    index = 0
    while index < len(leaves):
        leaf = leaves[index]
        end = index + 1
        if end < len(leaves):
            step, size = leaves[end].offset - leaf.offset, leaves[end].packed - leaf.packed
            while (
                end < len(leaves)
                and leaves[end].length == leaf.length
                and leaves[end].stack == leaf.stack
                and leaves[end].offset == leaf.offset + (end - index) * step
                and leaves[end].packed == leaf.packed + (end - index) * size
            ):
                end += 1
        if end - index < 3 or leaf.stack:
            end = index + 1
        else:
            leaf = leaf._replace(stack=(Turn(end - index, step, size),))
        longer = _continued(folded[-1], leaf) if folded else None
        if longer is None:
            folded.append(leaf)
        else:
            folded[-1] = longer
        index = end
    return folded


def _continued(first: Leaf, second: Leaf) -> Leaf | None:
    """Both as one leaf with one turn, if one of them has that turn and the other goes on at its distances. A type that grows
    by one block at each level of nesting so stays one leaf."""
    turns = first.stack or second.stack
    if len(turns) != 1 or first.length != second.length or len(first.stack) > 1 or len(second.stack) > 1:
        return None
    turn = turns[0]
    if second.stack and second.stack[0][1:] != turn[1:]:
        return None
    count = first.blocks
    if second.offset - first.offset != count * turn.extent or second.packed - first.packed != count * turn.size:
        return None
    return first._replace(stack=(turn._replace(count=count + second.blocks),))
