"""Types nested deeper than Python calls may be, and what they cost."""

import pytest

from lanai_host.mpi.datatypes import PREDEFINED, Datatype, contiguous, duplicate, hindexed, resized, struct

INT, DOUBLE = PREDEFINED["MPI_INT"], PREDEFINED["MPI_DOUBLE"]
BASE = 1 << 40  # an address
DEPTH = 5000


def _behind(old: Datatype, displacement: int, basic: Datatype = INT) -> Datatype:
    return struct((1, 1), (0, displacement), (old, basic))


def _nested(wrap, depth=DEPTH):
    datatype = INT
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
    datatype = _nested(lambda old, level: struct((1, 1), (-8 * (level + 1), 0), (INT, old)))
    assert len(datatype.layout.leaves) == 1
    assert offsets(datatype) == [-8 * step for step in range(DEPTH, -1, -1)]


def test_the_signature_of_a_deep_mixture():
    datatype = _nested(lambda old, level: _behind(old, 8 * level + 8, DOUBLE if level % 2 else INT), 2000)
    assert sum(count for _, count in datatype.signature.runs()) == 2001
    first = [(basic.name, count) for basic, count in datatype.signature.runs()][:3]
    assert first == [("MPI_INT", 2), ("MPI_DOUBLE", 1), ("MPI_INT", 1)]
    assert datatype.whole_elements(4 + 4 + 8 + 4) == 4
    assert datatype.whole_elements(4 + 4 + 4) is None
    assert datatype.whole_elements(datatype.size) == 2001
