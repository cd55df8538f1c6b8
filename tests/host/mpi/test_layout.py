"""Layouts against the type map written out byte by byte."""

import ctypes
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanai_host.body import Runs
from lanai_host.mpi.datatypes import (
    PREDEFINED,
    Datatype,
    contiguous,
    duplicate,
    hindexed,
    hindexed_block,
    hvector,
    indexed,
    indexed_block,
    resized,
    struct,
    vector,
)
from lanai_host.mpi.errors import ErrorClass, MpiError

INT, CHAR, DOUBLE = (PREDEFINED[f"MPI_{name}"] for name in ("INT", "CHAR", "DOUBLE"))


@dataclass
class Model:
    """A datatype beside the offsets of its bytes, in order."""

    datatype: Datatype
    offsets: list[int] = field(default_factory=list)

    def at(self, displacement: int, count: int = 1) -> list[int]:
        extent = self.datatype.extent
        return [displacement + step * extent + offset for step in range(count) for offset in self.offsets]


BASIC = [Model(t, list(range(t.size))) for t in (INT, CHAR, DOUBLE)] + [
    Model(PREDEFINED["MPI_SHORT_INT"], [0, 1, 4, 5, 6, 7])
]
small = st.integers(0, 4)


@st.composite
def models(draw: st.DrawFn, depth: int = 3) -> Model:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(BASIC))
    old = draw(models(depth=depth - 1))
    extent = old.datatype.extent
    kind = draw(
        st.sampled_from(["contiguous", "vector", "hvector", "indexed", "hindexed", "block", "struct", "resized"])
    )
    if kind == "contiguous":
        count = draw(small)
        return Model(contiguous(count, old.datatype), old.at(0, count))
    if kind in ("vector", "hvector"):
        count, length, stride = draw(small), draw(small), draw(st.integers(-20, 20))
        step = stride * extent if kind == "vector" else stride
        make = vector if kind == "vector" else hvector
        return Model(
            make(count, length, stride, old.datatype),
            [byte for turn in range(count) for byte in old.at(turn * step, length)],
        )
    if kind == "resized":
        return Model(resized(old.datatype, draw(st.integers(-8, 8)), draw(st.integers(-16, 40))), old.offsets)
    displacements = draw(st.lists(st.integers(-30, 60), max_size=5))
    if kind == "block":
        length = draw(small)
        by_bytes = draw(st.booleans())
        make_block = hindexed_block if by_bytes else indexed_block
        scale = 1 if by_bytes else extent
        return Model(
            make_block(length, displacements, old.datatype),
            [byte for shift in displacements for byte in old.at(shift * scale, length)],
        )
    lengths = draw(st.lists(small, min_size=len(displacements), max_size=len(displacements)))
    if kind in ("indexed", "hindexed"):
        make_indexed, scale = (indexed, extent) if kind == "indexed" else (hindexed, 1)
        return Model(
            make_indexed(lengths, displacements, old.datatype),
            [b for shift, length in zip(displacements, lengths, strict=True) for b in old.at(shift * scale, length)],
        )
    others = [draw(models(depth=depth - 1)) for _ in displacements]
    return Model(
        struct(lengths, displacements, [other.datatype for other in others]),
        [
            b
            for shift, length, other in zip(displacements, lengths, others, strict=True)
            for b in other.at(shift, length)
        ],
    )


def byte_list(model: Model, count: int) -> list[int]:
    return model.at(0, count)


@given(models(), st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_segments_are_the_type_map_in_order(model: Model, count: int) -> None:
    runs = model.datatype.body(1 << 40, count).segments()
    got = [start - (1 << 40) + step for start, size in runs for step in range(size)]
    assert got == byte_list(model, count)
    assert model.datatype.size == len(model.offsets)
    if model.offsets:
        assert model.datatype.true_lb == min(model.offsets)
        assert model.datatype.true_ub == max(model.offsets) + 1


@given(models(), st.integers(1, 3), st.data())
@settings(max_examples=300, deadline=None)
def test_packing_any_part_gives_that_part_of_the_whole(model: Model, count: int, data: st.DataObject) -> None:
    """SC-15: from any byte to any byte."""
    offsets = byte_list(model, count)
    if not offsets:
        return
    low = min(offsets)
    memory = np.random.default_rng(1).integers(0, 256, max(offsets) - low + 1, np.uint8)
    address = memory.ctypes.data - low
    whole = bytes(memory[offset - low] for offset in offsets)
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(begin, len(whole)))
    target = (ctypes.c_uint8 * (end - begin + 1))()
    target[end - begin] = 99
    assert model.datatype.pack(address, count, ctypes.addressof(target), begin, end) == end - begin
    assert bytes(target)[:-1] == whole[begin:end]
    assert target[end - begin] == 99


@given(models(), st.integers(1, 3), st.integers(1, 9))
@settings(max_examples=200, deadline=None)
def test_unpacking_in_pieces_touches_only_the_typed_bytes(model: Model, count: int, piece: int) -> None:
    offsets = byte_list(model, count)
    if not offsets:
        return
    low = min(offsets)
    memory = np.zeros(max(offsets) - low + 1, np.uint8)
    stream = np.arange(1, len(offsets) + 1, dtype=np.uint64).astype(np.uint8)
    expected = np.zeros_like(memory)
    for position, offset in enumerate(offsets):  # overlapping types keep what comes last
        expected[offset - low] = stream[position]
    for begin in range(0, len(offsets), piece):
        model.datatype.unpack(stream.ctypes.data + begin, memory.ctypes.data - low, count, begin, begin + piece)
    if len(set(offsets)) == len(offsets):
        assert memory.tolist() == expected.tolist()
    untouched = np.ones(len(memory), bool)
    untouched[[offset - low for offset in offsets]] = False
    assert not memory[untouched].any()


@pytest.mark.parametrize("piece", range(1, 65))
def test_packing_in_pieces_of_every_size(piece: int) -> None:
    kind = struct([2, 1], [0, 40], [vector(3, 1, 2, INT), resized(CHAR, 0, 3)])
    memory = np.arange(kind.extent * 3 + 64, dtype=np.uint8)
    whole, pieces = np.zeros(kind.size * 3, np.uint8), np.zeros(kind.size * 3, np.uint8)
    kind.pack(memory.ctypes.data, 3, whole.ctypes.data)
    for begin in range(0, len(whole), piece):
        kind.pack(memory.ctypes.data, 3, pieces.ctypes.data + begin, begin, begin + piece)
    assert pieces.tobytes() == whole.tobytes()


def test_merging_collapses_what_is_one_block() -> None:
    """SC-13."""
    for kind in (
        contiguous(5, contiguous(7, INT)),
        vector(4, 3, 3, DOUBLE),
        hvector(4, 3, 24, DOUBLE),
        indexed([1, 2, 3], [0, 1, 3], INT),
        struct([1, 1, 2], [0, 4, 8], [INT, INT, INT]),
    ):
        assert kind.dense
        assert len(kind.layout.leaves) == 1
        assert kind.layout.leaves[0].stack == ()
    regular = indexed_block(1, range(0, 1000, 5), INT)
    assert len(regular.layout.leaves) == 1
    assert regular.layout.leaves[0].stack == ((200, 20, 4),)


def test_large_strided_types_stay_small() -> None:
    column = vector(1 << 20, 1, 1 << 10, DOUBLE)
    assert len(column.layout.leaves) == 1
    matrix = contiguous(1 << 20, resized(column, 0, 8))
    assert matrix.size == 8 << 40
    assert matrix.layout.leaves[0].blocks_before(8 << 39) == (8 << 39) // 8


def test_bad_arguments_are_quoted() -> None:
    with pytest.raises(MpiError, match="MPI_Type_vector: blocklength is -2; it must not be negative") as caught:
        vector(3, -2, 1, INT)
    assert caught.value.error_class == ErrorClass.COUNT
    with pytest.raises(MpiError, match=r"array_of_blocklengths\[1\] is -1"):
        indexed([1, -1], [0, 4], INT)


@pytest.mark.parametrize("old", [INT, contiguous(3, CHAR), resized(INT, -2, 4), resized(INT, 0, 6)])
@pytest.mark.parametrize(
    ("lengths", "displacements"),
    [
        ([1] * 100, list(range(0, 300, 3))),
        ([1] * 100, list(range(100))),
        ([2] * 100, list(range(300, 0, -3))),
        ([index % 3 for index in range(100)], [7 * index % 211 for index in range(100)]),
        ([0] * 100, list(range(100))),
        ([0] * 98 + [1, 2], list(range(100))),
        ([1] * 50 + [2] * 50, [*range(0, 100, 2), *range(200, 350, 3)]),
    ],
)
def test_many_blocks_are_as_the_same_in_two_halves(old, lengths, displacements):
    """Types of few blocks are made block by block."""
    extent = old.extent
    whole = indexed(lengths, displacements, old)
    few = [indexed(lengths[first : first + 10], displacements[first : first + 10], old) for first in range(0, 100, 10)]
    same = struct([1] * 10, [0] * 10, few)
    by_bytes = hindexed(lengths, [extent * one for one in displacements], old)
    for one in (whole, by_bytes):
        one.commit()
        assert (one.size, one.lb, one.true_lb, one.true_extent) == (same.size, same.lb, same.true_lb, same.true_extent)
        assert one.ub == max((part.ub for part in few if part.size), default=0)
        for count in (1, 3):
            step = one.extent
            expected = Runs([part for turn in range(count) for part in same.body(turn * step, 1).segments()])
            assert list(one.body(0, count).segments()) == list(expected.segments())
            assert one.body(0, count).runs == expected.runs
        assert one.layout.leaves == same.layout.leaves
        assert one.signature.elements == same.signature.elements
        assert one.whole_elements(one.size) == same.whole_elements(same.size)
    nested = contiguous(2, whole)
    assert list(nested.body(5, 1).segments()) == list(whole.body(5, 2).segments())


def test_copying_many_blocks_needs_no_leaf_for_each():
    count = 5000
    shifts = [7 * index + index % 3 for index in range(count)]
    kind = indexed([1 + index % 2 for index in range(count)], shifts, INT)
    kind.commit()
    source, packed = np.arange(7 * count + 9, dtype=np.int32), np.zeros(kind.size // 4, np.int32)
    kind.pack(source.ctypes.data, 1, packed.ctypes.data)
    expected = [value for index, shift in enumerate(shifts) for value in range(shift, shift + 1 + index % 2)]
    assert packed.tolist() == expected
    assert "leaves" not in vars(kind.layout)


# Types nested deeper than Python calls may be, and what they cost.

INT_NESTING, DOUBLE_NESTING = PREDEFINED["MPI_INT"], PREDEFINED["MPI_DOUBLE"]
BASE = 1 << 40  # an address
DEPTH = 5000


def _behind(old: Datatype, displacement: int, basic: Datatype = INT_NESTING) -> Datatype:
    return struct((1, 1), (0, displacement), (old, basic))


def _nested(wrap, depth=DEPTH):
    datatype = INT_NESTING
    for level in range(depth):
        datatype = wrap(datatype, level)
    datatype.commit()
    return datatype


def offsets(datatype):
    return [address - BASE for address, _ in datatype.body(BASE, 1).segments()]


def lengths(datatype):
    return [size for _, size in datatype.body(BASE, 1).segments()]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda old, level: contiguous(1, old),
        lambda old, level: duplicate(old),
        lambda old, level: resized(old, 0, 4 + level % 2),
        lambda old, level: hindexed((1,), (0,), old),
    ],
)
def test_types_that_only_wrap(wrap):
    datatype = _nested(wrap)
    assert lengths(datatype) == [4]
    assert datatype.whole_elements(4) == 1


@pytest.mark.parametrize("distance", [8, 12, -8])
def test_one_block_more_a_level_stays_one_leaf(distance):
    datatype = _nested(lambda old, level: _behind(old, distance * (level + 1)))
    assert len(datatype.layout.leaves) == 1
    assert offsets(datatype) == [distance * step for step in range(DEPTH + 1)]
    assert datatype.whole_elements(4 * 77) == 77


def test_a_block_before_the_rest_stays_one_leaf():
    datatype = _nested(lambda old, level: struct((1, 1), (-8 * (level + 1), 0), (INT_NESTING, old)))
    assert len(datatype.layout.leaves) == 1
    assert offsets(datatype) == [-8 * step for step in range(DEPTH, -1, -1)]


def test_the_signature_of_a_deep_mixture():
    datatype = _nested(
        lambda old, level: _behind(old, 8 * level + 8, DOUBLE_NESTING if level % 2 else INT_NESTING), 2000
    )
    assert sum(count for _, count in datatype.signature.runs()) == 2001
    first = [(basic.name, count) for basic, count in datatype.signature.runs()][:3]
    assert first == [("MPI_INT", 2), ("MPI_DOUBLE", 1), ("MPI_INT", 1)]
    assert datatype.whole_elements(4 + 4 + 8 + 4) == 4
    assert datatype.whole_elements(4 + 4 + 4) is None
    assert datatype.whole_elements(datatype.size) == 2001
