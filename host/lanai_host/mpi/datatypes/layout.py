"""The layout of a datatype's bytes, flattened (SC-11): a list of leaves, each with a stack of repeats.

A leaf is a run of adjacent bytes that repeats regularly. Its stack, root first, says how often, how
far apart in memory (`extent`) and how far apart in the packed stream (`size`). Because a leaf
carries its packed position too, leaves can be copied one after the other (SC-16) while the packed
bytes still come out in the order of MPI's type map, whatever the type at the other end looks like
(SC-G1). Blocks
of one leaf are numbered in the order in which they are packed."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .runs import NO_RUNS, Ints, RunTable, cut_runs, merge_runs

TABLE_BLOCKS = 4096  # layouts of so many blocks keep a table of their runs,
BLOCKS_PER_LEAF = 16  # ... and those of so many for each leaf
WINDOW = 4096  # blocks of other layouts that are listed at once


class Turn(NamedTuple):
    """One level of repetition."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which is never called
    extent: int  # bytes of memory from one to the next
    size: int  # bytes of the packed stream from one to the next


class Leaf(NamedTuple):
    """`length` adjacent bytes, first at `offset` in memory and at `packed` in the stream, repeated
    by `stack`."""

    length: int
    offset: int
    packed: int
    stack: tuple[Turn, ...] = ()

    @property
    def blocks(self) -> int:
        """Return how many blocks the leaf stands for."""
        total = 1
        for turn in self.stack:
            total *= turn.count
        return total

    @property
    def reach(self) -> tuple[int, int]:
        """Offsets of the first byte in memory, and of the one after the last."""
        steps = [turn.extent * (turn.count - 1) for turn in self.stack]
        low, high = sum(step for step in steps if step < 0), sum(step for step in steps if step > 0)
        return self.offset + low, self.offset + self.length + high

    def blocks_before(self, position: int) -> int:
        """Return how many of the blocks begin before `position` of the packed stream. O(depth), which
        keeps a resumed copy cheap."""
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

    def places(self, first: int, last: int) -> tuple[Ints, Ints]:
        """`place` of each of the blocks first..last-1."""
        blocks = np.arange(first, last, dtype=np.int64)
        offsets, packed = np.full(len(blocks), self.offset), np.full(len(blocks), self.packed)
        for turn in reversed(self.stack):
            blocks, steps = np.divmod(blocks, turn.count)
            offsets += steps * turn.extent
            packed += steps * turn.size
        return offsets, packed

    def boxes(self, first: int, last: int) -> Iterator[tuple[int, tuple[Turn, ...]]]:
        """Cut blocks first..last-1 into regular boxes: (first block, turns). At most two per level
        and one, so a copy that begins and ends anywhere needs few strided moves."""
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


class Layout:
    """All leaves of one datatype in packed order, and its size in bytes. Without `leaves` it is a list
    of runs, and its leaves are made when they are needed."""

    def __init__(self, leaves: tuple[Leaf, ...] | None, size: int, listed: RunTable | None = None) -> None:
        self.size = size
        self._listed = listed
        if leaves is not None:
            self.__dict__["leaves"] = leaves

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        runs = self._listed
        assert runs is not None
        rows = (column.tolist() for column in (runs.lengths, runs.offsets, runs.packed))
        return tidy(map(Leaf, *rows), self.size).leaves

    @property
    def only_leaf(self) -> Leaf | None:
        """The leaf, if there is one only."""
        return self.leaves[0] if self._listed is None and len(self.leaves) == 1 else None

    @property
    def bounds(self) -> tuple[int, int]:
        """Offsets of the first byte in memory, and of the one after the last."""
        if self._listed is not None:
            return int(self._listed.offsets.min()), int((self._listed.offsets + self._listed.lengths).max())
        reaches = [leaf.reach for leaf in self.leaves]
        return (min(low for low, _ in reaches), max(high for _, high in reaches)) if reaches else (0, 0)

    @cached_property
    def blocks(self) -> int:
        """Number of blocks in all leaves."""
        return len(self._listed.lengths) if self._listed is not None else sum(leaf.blocks for leaf in self.leaves)

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
        if self._listed is not None:
            return Layout(None, self.size, RunTable(self._listed.offsets + displacement, self._listed.lengths))
        return Layout(tuple(leaf._replace(offset=leaf.offset + displacement) for leaf in self.leaves), self.size)

    @cached_property
    def table(self) -> RunTable | None:
        """All maximal runs of one element, kept. None if a copy leaf by leaf is better, because
        leaves repeat often."""
        if self._listed is not None:
            return self._listed
        if not 0 < self.blocks <= max(TABLE_BLOCKS, BLOCKS_PER_LEAF * len(self.leaves)):
            return None
        return RunTable(*self.runs_of(0, self.size, 1, 0))

    @cached_property
    def run_count(self) -> int:
        """Maximal runs of one element."""
        return self._count_runs() if self.table is None else len(self.table.lengths)

    def _count_runs(self) -> int:
        found, step, after = 0, self.window, None
        for begin in range(0, self.size, step):
            offsets, lengths = self.runs_of(begin, min(begin + step, self.size), 1, 0)
            found += len(offsets) - (1 if after == offsets[0] else 0)
            after = offsets[-1] + lengths[-1]
        return found

    @cached_property
    def window(self) -> int:
        """Bytes of a part that has WINDOW blocks, or several of each leaf, on average: to list runs
        part by part."""
        leaves = 0 if self._listed is not None else len(self.leaves)
        return max(1, self.size * max(WINDOW, BLOCKS_PER_LEAF * leaves) // self.blocks)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """Offsets of the first byte of the packed form, and of the one after its last byte."""
        (first,), _ = self.runs_of(0, 1, 1, 0)
        (last,), _ = self.runs_of(self.size - 1, self.size, 1, 0)
        return int(first), int(last) + 1

    def repeated_leaves(self, count: int, extent: int) -> Iterator[Leaf]:
        """The leaves of `repeated`, as they are."""
        if count == 1:
            return iter(self.leaves)
        turn = Turn(count, extent, self.size)
        return (leaf._replace(stack=(turn, *leaf.stack)) for leaf in self.leaves)

    def runs_of(self, begin: int, end: int, count: int, extent: int) -> tuple[Ints, Ints]:
        """Offsets and lengths of the runs of bytes begin..end-1 of `count` elements, packed, as
        arrays."""
        if self._listed is not None:
            return self._listed.runs_of(begin, end, extent, self.size)
        places: list[tuple[Ints, Ints]] = []
        lengths: list[Ints] = []
        for leaf in self.repeated_leaves(count, extent):
            first, last = max(0, leaf.blocks_before(begin) - 1), leaf.blocks_before(end)
            if first < last:
                places.append(leaf.places(first, last))
                lengths.append(np.full(last - first, leaf.length, np.int64))
        if not places:
            return NO_RUNS
        offsets, packed = (np.concatenate(column) for column in zip(*places, strict=True))
        order = np.argsort(packed, kind="stable") if len(places) > 1 else slice(None)
        return cut_runs(offsets[order], np.concatenate(lengths)[order], packed[order], begin, end)


EMPTY = Layout((), 0)


def block(length: int) -> Layout:
    """`length` bytes at 0."""
    return Layout((Leaf(length, 0, 0),), length) if length else EMPTY


def listed(offsets: Ints, lengths: Ints) -> Layout:
    """Runs of bytes in the order of the packed stream; none is empty."""
    offsets, lengths = merge_runs(offsets, lengths)
    runs = RunTable(offsets, lengths)
    steps = np.diff(offsets)
    if len(offsets) > 2 and ((lengths != lengths[0]).any() or (steps != steps[0]).any()):
        return Layout(None, int(lengths.sum()), runs)
    rows = (column.tolist() for column in (lengths[:2], offsets[:2], runs.packed[:2]))
    leaves = list(map(Leaf, *rows))
    if len(offsets) > 2:
        leaf = leaves[0]
        leaves = [leaf._replace(stack=(Turn(len(offsets), int(steps[0]), leaf.length),))]
    return tidy(leaves, int(lengths.sum()))


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
    """One leaf with turns dropped that repeat once, that only lengthen the block, or that continue
    the one outside."""
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
    """Both as one leaf with one turn, if one of them has that turn and the other goes on at its
    distances. A type that grows by one block at each level of nesting so stays one leaf."""
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
