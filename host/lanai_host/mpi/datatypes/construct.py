"""Constructors of derived datatypes (SC-12): each builds the flattened layout from that of the old
type.

`large` says that the call had the large-count binding, which sorts its arguments differently in the
envelope.
"""

from collections.abc import Sequence

import numpy as np

from ..errors import ErrorClass, MpiError
from .datatype import Datatype, Envelope
from .layout import Layout, joined, listed
from .runs import Ints
from .signature import Combiner, Signature

MANY = 64  # blocks of which arrays are made
FARTHEST = 1 << 60  # bytes that arrays can hold without care
Part = tuple[int, int, Datatype]  # displacement in bytes, number of elements, their type


def not_negative(call: str, name: str, value: int) -> None:
    if value < 0:
        raise MpiError(ErrorClass.COUNT, f"{call}: {name} is {value}; it must not be negative")


def _lengths(call: str, blocklengths: Sequence[int], *others: Sequence[object]) -> None:
    if min(blocklengths, default=0) < 0:
        index, length = next((index, length) for index, length in enumerate(blocklengths) if length < 0)
        raise MpiError(ErrorClass.COUNT, f"{call}: array_of_blocklengths[{index}] is {length}; it must not be negative")
    if any(len(other) != len(blocklengths) for other in others):
        raise MpiError(ErrorClass.ARG, f"{call}: its arrays have different lengths")


def bounds(parts: Sequence[Part], align: int = 1) -> tuple[int, int, tuple[bool, bool]]:
    """(lb, extent, markers) of parts side by side. Where a part carries a marker, only marked
    bounds count; where none does, the upper bound is rounded up to `align`."""
    lows: list[tuple[bool, int]] = []
    highs: list[tuple[bool, int]] = []
    for displacement, count, old in parts:
        if count == 0 or not (old.size or any(old.markers) or old.extent):
            continue
        reach = (count - 1) * old.extent
        lows.append((old.markers[0], displacement + old.lb + min(0, reach)))
        highs.append((old.markers[1], displacement + old.ub + max(0, reach)))
    marked_low = [low for marked, low in lows if marked]
    marked_high = [high for marked, high in highs if marked]
    lb = min(marked_low or [low for _, low in lows], default=0)
    ub = max(marked_high or [high for _, high in highs], default=0)
    if not marked_high:
        ub = lb + -(-(ub - lb) // align) * align
    return lb, ub - lb, (bool(marked_low), bool(marked_high))


def from_parts(parts: Sequence[Part], envelope: Envelope, align: bool = False) -> Datatype:
    """A type whose elements lie at given displacements, in this order."""
    alignment = max((old.alignment for _, count, old in parts if count), default=1)
    lb, extent, markers = bounds(parts, alignment if align else 1)

    def describe() -> tuple[Layout, Signature]:
        layout = joined((shift, old.layout.repeated(count, old.extent)) for shift, count, old in parts)
        return layout, Signature(tuple((old.signature, count) for _, count, old in parts if count and old.size))

    size = sum(count * old.size for _, count, old in parts)
    return Datatype(describe, size, lb, extent, alignment=alignment, markers=markers, envelope=envelope)


def _blocks(
    old: Datatype, lengths: Sequence[int], displacements: Sequence[int], scale: int, envelope: Envelope
) -> Datatype:
    """Blocks of one type at displacements of `scale` bytes."""
    if len(lengths) >= MANY and old.dense and old.size and max(map(abs, displacements)) * abs(scale) < FARTHEST:
        many = _many_blocks(old, np.array(lengths), np.array(displacements) * scale, envelope)
        if many is not None:
            return many
    parts = [(shift * scale, length, old) for shift, length in zip(displacements, lengths, strict=True) if length]
    return from_parts(parts, envelope)


def _many_blocks(old: Datatype, lengths: Ints, shifts: Ints, envelope: Envelope) -> Datatype | None:
    """The same of blocks without gaps, as arrays; None if all are empty."""
    used = lengths > 0
    lengths, shifts = lengths[used], shifts[used]
    elements = int(lengths.sum())
    if not elements:
        return None
    lb = int(shifts.min()) + old.lb
    extent = int((shifts + (lengths - 1) * old.extent).max()) + old.ub - lb

    def describe() -> tuple[Layout, Signature]:
        return listed(shifts + old.true_lb, lengths * old.size), old.signature.repeated(elements)

    size = elements * old.size
    return Datatype(describe, size, lb, extent, alignment=old.alignment, markers=old.markers, envelope=envelope)


def _regular(old: Datatype, count: int, blocklength: int, stride: int, envelope: Envelope) -> Datatype:
    """Blocks at a constant stride in bytes."""
    ends = [(step * stride, blocklength, old) for step in ((0, count - 1) if count > 1 else range(count))]
    lb, extent, markers = bounds(ends)
    elements = count * blocklength

    def describe() -> tuple[Layout, Signature]:
        layout = old.layout.repeated(blocklength, old.extent).repeated(count, stride)
        return layout, old.signature.repeated(elements)

    size = elements * old.size
    return Datatype(describe, size, lb, extent, alignment=old.alignment, markers=markers, envelope=envelope)


def contiguous(count: int, old: Datatype, large: bool = False) -> Datatype:
    """MPI_Type_contiguous."""
    not_negative("MPI_Type_contiguous", "count", count)
    integers, counts = ((), (count,)) if large else ((count,), ())
    return _regular(old, count, 1, old.extent, Envelope(Combiner.CONTIGUOUS, integers, (), counts, (old,)))


def vector(count: int, blocklength: int, stride: int, old: Datatype, large: bool = False) -> Datatype:
    """MPI_Type_vector: the stride counts elements."""
    not_negative("MPI_Type_vector", "count", count)
    not_negative("MPI_Type_vector", "blocklength", blocklength)
    shape = (count, blocklength, stride)
    integers, counts = ((), shape) if large else (shape, ())
    envelope = Envelope(Combiner.VECTOR, integers, (), counts, (old,))
    return _regular(old, count, blocklength, stride * old.extent, envelope)


def hvector(count: int, blocklength: int, stride: int, old: Datatype, large: bool = False) -> Datatype:
    """MPI_Type_create_hvector: the stride counts bytes."""
    not_negative("MPI_Type_create_hvector", "count", count)
    not_negative("MPI_Type_create_hvector", "blocklength", blocklength)
    if large:
        envelope = Envelope(Combiner.HVECTOR, (), (), (count, blocklength, stride), (old,))
    else:
        envelope = Envelope(Combiner.HVECTOR, (count, blocklength), (stride,), (), (old,))
    return _regular(old, count, blocklength, stride, envelope)


def indexed(blocklengths: Sequence[int], displacements: Sequence[int], old: Datatype, large: bool = False) -> Datatype:
    """MPI_Type_indexed: displacements count elements."""
    _lengths("MPI_Type_indexed", blocklengths, displacements)
    arguments = (len(blocklengths), *blocklengths, *displacements)
    integers, counts = ((), arguments) if large else (arguments, ())
    envelope = Envelope(Combiner.INDEXED, integers, (), counts, (old,))
    return _blocks(old, blocklengths, displacements, old.extent, envelope)


def hindexed(blocklengths: Sequence[int], displacements: Sequence[int], old: Datatype, large: bool = False) -> Datatype:
    """MPI_Type_create_hindexed: displacements count bytes."""
    _lengths("MPI_Type_create_hindexed", blocklengths, displacements)
    lengths = (len(blocklengths), *blocklengths)
    if large:
        envelope = Envelope(Combiner.HINDEXED, (), (), (*lengths, *displacements), (old,))
    else:
        envelope = Envelope(Combiner.HINDEXED, lengths, tuple(displacements), (), (old,))
    return _blocks(old, blocklengths, displacements, 1, envelope)


def indexed_block(blocklength: int, displacements: Sequence[int], old: Datatype, large: bool = False) -> Datatype:
    """MPI_Type_create_indexed_block."""
    not_negative("MPI_Type_create_indexed_block", "blocklength", blocklength)
    arguments = (len(displacements), blocklength, *displacements)
    integers, counts = ((), arguments) if large else (arguments, ())
    envelope = Envelope(Combiner.INDEXED_BLOCK, integers, (), counts, (old,))
    return _blocks(old, [blocklength] * len(displacements), displacements, old.extent, envelope)


def hindexed_block(blocklength: int, displacements: Sequence[int], old: Datatype, large: bool = False) -> Datatype:
    """MPI_Type_create_hindexed_block."""
    not_negative("MPI_Type_create_hindexed_block", "blocklength", blocklength)
    shape = (len(displacements), blocklength)
    if large:
        envelope = Envelope(Combiner.HINDEXED_BLOCK, (), (), (*shape, *displacements), (old,))
    else:
        envelope = Envelope(Combiner.HINDEXED_BLOCK, shape, tuple(displacements), (), (old,))
    return _blocks(old, [blocklength] * len(displacements), displacements, 1, envelope)


def struct(
    blocklengths: Sequence[int], displacements: Sequence[int], types: Sequence[Datatype], large: bool = False
) -> Datatype:
    """MPI_Type_create_struct: the extent is rounded up to the strictest alignment, as C does it for
    arrays of structs."""
    _lengths("MPI_Type_create_struct", blocklengths, displacements, types)
    lengths = (len(blocklengths), *blocklengths)
    if large:
        envelope = Envelope(Combiner.STRUCT, (), (), (*lengths, *displacements), tuple(types))
    else:
        envelope = Envelope(Combiner.STRUCT, lengths, tuple(displacements), (), tuple(types))
    parts = [part for part in zip(displacements, blocklengths, types, strict=True) if part[1]]
    return from_parts(parts, envelope, align=True)


def resized(old: Datatype, lb: int, extent: int, large: bool = False) -> Datatype:
    """MPI_Type_create_resized."""
    addresses, counts = ((), (lb, extent)) if large else ((lb, extent), ())
    return _same_bytes(old, lb, extent, (True, True), Envelope(Combiner.RESIZED, (), addresses, counts, (old,)))


def duplicate(old: Datatype) -> Datatype:
    """MPI_Type_dup: a copy with the attributes that their keys let pass."""
    new = _same_bytes(old, old.lb, old.extent, old.markers, Envelope(Combiner.DUP, datatypes=(old,)))
    new.committed = old.committed
    new.attributes = old.attributes.copy_to(old)
    return new


def _same_bytes(old: Datatype, lb: int, extent: int, markers: tuple[bool, bool], envelope: Envelope) -> Datatype:
    same = extent == old.extent and lb == old.lb
    return Datatype(
        lambda: (old.layout, old.signature),
        old.size,
        lb,
        extent,
        alignment=old.alignment,
        markers=markers,
        dtype=old.dtype if same else None,
        kind=old.kind if same else "",
        envelope=envelope,
    )
