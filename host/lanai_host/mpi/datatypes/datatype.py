"""The datatype object, and the record of how it was made."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import process_memory
from ...body import Body, Run
from ...bus.base import BusError
from ..added_codes import byte_length
from ..attributes import Attributes
from ..constants import MAX_OBJECT_NAME
from ..errors import ErrorClass, MpiError
from .layout import Layout, Leaf, Turn
from .runs import Ints
from .signature import Combiner, Signature

# The body of a message of elements of a datatype that leave gaps (see `lanai_host.body`).
#
# A layout that keeps a table of its runs is copied run by run. Any other is copied leaf by leaf, so
# that a message of a million blocks needs no table of them, from any byte to any byte (SC-14, SC-15).
# The part of a leaf in the wanted part of the stream is found by arithmetic. The two blocks that the
# part may cut are copied by themselves, the rest in strided boxes.


class TypedBody(Body):
    """`count` elements of a layout, `extent` bytes apart, the first at `start`."""

    __slots__ = ("_count", "_extent", "_layout", "_start")

    def __init__(self, layout: Layout, extent: int, count: int, start: int) -> None:
        self._layout = layout
        self._extent = extent
        self._count = count
        self._start = start
        self.size = layout.size * count

    def __repr__(self) -> str:
        return f"TypedBody({self._count} of {self._layout.size} bytes at {self._start:#x})"

    def count_runs(self, begin: int, end: int) -> int:
        if begin or end != self.size:
            return sum(1 for _ in self.segments(begin, end))
        first, after = self._layout.ends
        joined = self._count - 1 if after == first + self._extent else 0  # elements that continue the one before
        return self._layout.run_count * self._count - joined

    def segments(self, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        end = self.size if end is None else end
        start = size = 0  # the last run found, which the next window may continue
        step = self._layout.window
        for first in range(begin, end, step):
            offsets, lengths = self._runs(first, min(first + step, end))
            for address, length in zip((offsets + self._start).tolist(), lengths.tolist(), strict=True):
                if start + size == address and size:
                    size += length
                    continue
                if size:
                    yield start, size
                start, size = address, length
        if size:
            yield start, size

    def pack(self, begin: int, end: int, stream: int) -> None:
        if not self._copy(True, begin, end, stream):
            raise self.unreadable()

    def unpack(self, begin: int, end: int, stream: int) -> None:
        if not self._copy(False, begin, end, stream):
            raise self.unwritable()

    def _copy(self, packing: bool, begin: int, end: int, stream: int) -> bool:
        layout, extent = self._layout, self._extent
        table = layout.table
        if table is not None:
            element, rest = divmod(begin, layout.size)
            return table.copy(packing, stream, self._start + element * extent, extent, rest, end - begin)
        leaves = layout.repeated_leaves(self._count, extent)
        return all(copy_leaf(packing, leaf, self._start, stream, begin, end) for leaf in leaves)

    def _runs(self, begin: int, end: int) -> tuple[Ints, Ints]:
        """Offsets and lengths of the runs of a part."""
        table = self._layout.table
        if table is None:
            return self._layout.runs_of(begin, end, self._count, self._extent)
        return table.runs_of(begin, end, self._extent, self._layout.size)


def copy_leaf(packing: bool, leaf: Leaf, address: int, stream: int, begin: int, end: int) -> bool:
    """Copy the bytes of a leaf that lie in begin..end-1 of the packed form, which are at `stream`. Return False if
    some of the memory cannot be reached."""
    origin = stream - begin
    first, last = leaf.blocks_before(begin), leaf.blocks_before(end)
    if first and not _copy_piece(packing, leaf, first - 1, address, origin, begin, end):
        return False  # the last block that begins before the part may reach into it
    if last <= first:
        return True
    if leaf.place(last - 1)[1] + leaf.length > end:
        last -= 1
        if not _copy_piece(packing, leaf, last, address, origin, begin, end):
            return False
    return all(_copy_box(packing, leaf, box, turns, address, origin) for box, turns in leaf.boxes(first, last))


def _copy_piece(packing: bool, leaf: Leaf, block: int, address: int, origin: int, begin: int, end: int) -> bool:
    """Copy what of one block lies inside the part."""
    offset, packed = leaf.place(block)
    start, stop = max(begin, packed), min(end, packed + leaf.length)
    if start >= stop:
        return True
    return process_memory.copy_blocks(packing, origin + start, address + offset + start - packed, stop - start, ())


def _copy_box(packing: bool, leaf: Leaf, first: int, turns: tuple[Turn, ...], address: int, origin: int) -> bool:
    """Copy a regular box of whole blocks."""
    offset, packed = leaf.place(first)
    return process_memory.copy_blocks(packing, origin + packed, address + offset, leaf.length, turns)


_SETTLED = frozenset({"dense", "layout", "signature", "true_extent", "true_lb"})


class Envelope(NamedTuple):
    """The constructor of a datatype and its arguments, sorted as MPI sorts them: by C
    type, in order of appearance. MPI_Type_get_envelope and MPI_Type_get_contents tell it."""

    combiner: Combiner = Combiner.NAMED
    integers: tuple[int, ...] = ()
    addresses: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    datatypes: "tuple[Datatype, ...]" = ()


class Datatype:
    """MPI_Datatype. Immutable but for commit, name and attributes.

    Attributes:
        size, lb, extent, true_lb, true_extent: bytes, as MPI defines them; `ub` and `true_ub`
            follow.
        dtype, kind: for reductions: numpy's type of one element and the kind of basic type (see
            `Basic.kind`); None and "" for types that no predefined operation takes. A duplicate of
            a predefined type keeps them.
        dense: elements are whole blocks without gaps, so `count` of them are one run.
        signature: the basic types behind it.
        layout: where the bytes lie.
        envelope: how it was made.
        markers: whether lower and upper bound were set by the program (MPI_Type_create_resized,
            MPI_LB, MPI_UB), so that types built from this one take them as they are.
    """

    __slots__ = (
        "_describe",
        "alignment",
        "attributes",
        "committed",
        "dense",
        "dtype",
        "envelope",
        "extent",
        "freed",
        "kind",
        "layout",
        "lb",
        "markers",
        "name",
        "predefined",
        "signature",
        "size",
        "true_extent",
        "true_lb",
    )

    def __init__(
        self,
        describe: Callable[[], tuple[Layout, Signature]],
        size: int,
        lb: int,
        extent: int,
        *,
        alignment: int = 1,
        markers: tuple[bool, bool] = (False, False),
        dtype: npt.DTypeLike | None = None,
        kind: str = "",
        envelope: Envelope | None = None,
        name: str = "",
    ) -> None:
        self._describe: Callable[[], tuple[Layout, Signature]] | None = describe
        self.size = size
        self.lb = lb
        self.extent = extent
        self.alignment = alignment
        self.markers = markers
        self.dtype: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
        self.kind = kind
        self.envelope = envelope or Envelope()
        self.name = name
        self.attributes = Attributes()
        self.predefined = False
        self.committed = False
        self.freed = False

    # Set when first asked for, at the latest by commit: programs build many types only to build
    # others from them.
    layout: Layout
    signature: Signature
    true_lb: int
    true_extent: int
    dense: bool

    def __getattr__(self, name: str) -> Any:
        if name in _SETTLED and self._describe is not None:
            self._settle()
            return getattr(self, name)
        raise AttributeError(f"a Datatype has no {name!r}")

    def _settle(self) -> None:
        """Describe this type, after the types that it was built from: one by one, because types may
        be nested deeper than Python calls may be."""
        pending = [self]
        while pending:
            inner = [old for old in pending[-1].envelope.datatypes if old._describe is not None]
            if inner:
                pending += inner
            else:
                pending.pop()._describe_once()

    def _describe_once(self) -> None:
        describe, self._describe = self._describe, None
        if describe is None:  # it was pending twice
            return
        self.layout, self.signature = describe()
        self.true_lb, true_ub = self.layout.bounds
        self.true_extent = true_ub - self.true_lb
        leaf = self.layout.only_leaf
        self.dense = not self.layout.size or (leaf is not None and not leaf.stack and leaf.length == self.extent)

    def __repr__(self) -> str:
        return f"<Datatype {self.name or self.envelope.combiner.name} size {self.size} extent {self.extent}>"

    @property
    def ub(self) -> int:
        return self.lb + self.extent

    @property
    def true_ub(self) -> int:
        return self.true_lb + self.true_extent

    def commit(self) -> None:
        """MPI_Type_commit: builds the flattened form (SC-11)."""
        if self._describe is not None:
            self._settle()
        self.committed = True

    def set_name(self, name: str) -> None:
        """MPI_Type_set_name."""
        length = byte_length(name)
        if length >= MAX_OBJECT_NAME:
            raise MpiError(
                ErrorClass.ARG,
                f"MPI_Type_set_name: type_name has {length} bytes; at most {MAX_OBJECT_NAME - 1} fit",
            )
        self.name = name

    def body(self, address: int, count: int) -> Body:
        """Return where the bytes of a message of `count` elements at `address` lie."""
        size = self.size * count
        if self.dense or size == 0:
            return Run(address + self.true_lb, size)
        leaf = self.layout.only_leaf
        if leaf is not None and count == 1 and not leaf.stack:
            return Run(address + leaf.offset, size)
        return TypedBody(self.layout, self.extent, count, address)

    def pack(self, address: int, count: int, stream: int, begin: int = 0, end: int | None = None) -> int:
        """Copy bytes begin..end-1 of the packed form of `count` elements at `address` to `stream`;
        how many."""
        begin, end = self._part(count, begin, end)
        try:
            self.body(address, count).pack(begin, end, stream)
        except BusError as error:
            raise MpiError(ErrorClass.BUFFER, str(error)) from error
        return end - begin

    def unpack(self, stream: int, address: int, count: int, begin: int = 0, end: int | None = None) -> int:
        """Copy `stream`, which is bytes begin..end-1 of the packed form, into `count` elements at
        `address`; how many."""
        begin, end = self._part(count, begin, end)
        try:
            self.body(address, count).unpack(begin, end, stream)
        except BusError as error:
            raise MpiError(ErrorClass.BUFFER, str(error)) from error
        return end - begin

    def _part(self, count: int, begin: int, end: int | None) -> tuple[int, int]:
        total = self.size * count
        stop = total if end is None else min(end, total)
        return min(begin, stop), stop

    def whole_count(self, size: int) -> int | None:
        """Return how many whole elements `size` received bytes are (MPI_Get_count); None if they end
        inside one."""
        if self.size == 0:
            return None if size else 0
        full, rest = divmod(size, self.size)
        return None if rest else full

    def whole_elements(self, size: int) -> int | None:
        """Return how many basic elements `size` received bytes are (MPI_Get_elements); None if they end
        inside one."""
        return self.signature.whole_elements(size)
