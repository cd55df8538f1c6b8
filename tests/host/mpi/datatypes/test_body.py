"""Bodies of typed buffers: with a table of runs, and leaf by leaf."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import strategies as st

from lanai_host.body import Run
from lanai_host.mpi.datatypes import PREDEFINED, contiguous, hindexed, resized, vector
from lanai_host.mpi.datatypes import layout as layouts
from lanai_host.mpi.datatypes.datatype import TypedBody

from ...body_contract import MEMORY, NOWHERE, BodyContract, Given
from .test_layout import models

DOUBLE, CHAR = PREDEFINED["MPI_DOUBLE"], PREDEFINED["MPI_CHAR"]


@st.composite
def typed(draw):
    """Types whose bytes do not overlap."""
    model = draw(models())
    count = draw(st.integers(1, 3))
    offsets = model.at(0, count)
    low = min(offsets, default=0)
    memory = np.random.default_rng(3).integers(0, 256, max(offsets, default=0) - low + MEMORY, np.uint8)
    body = model.datatype.body(memory.ctypes.data - low, count)
    return Given(body, memory, [offset - low for offset in offsets])


def no_byte_twice(case):
    return len(set(case.offsets)) == len(case.offsets)


class TestTypedBody(BodyContract):
    cases = typed().filter(no_byte_twice)

    def unreachable(self):
        """Its second byte is far above the first."""
        self.memory = np.zeros(8, np.uint8)
        start = self.memory.ctypes.data
        return hindexed([8, 8], [start, NOWHERE], CHAR).body(0, 1)


class TestLeafByLeaf(TestTypedBody):
    """The same without tables, in windows of a few blocks."""

    @pytest.fixture(autouse=True)
    def no_tables(self, monkeypatch):
        monkeypatch.setattr(layouts, "TABLE_BLOCKS", 0)
        monkeypatch.setattr(layouts, "BLOCKS_PER_LEAF", 0)
        monkeypatch.setattr(layouts, "WINDOW", 3)


def test_dense_elements_are_one_run():
    body = contiguous(3, DOUBLE).body(1000, 5)
    assert isinstance(body, Run)
    assert (body.start, body.size) == (1000, 120)


def test_a_body_of_a_million_blocks_makes_no_list_of_them():
    blocks = 1 << 20
    memory = np.arange(2 * blocks, dtype=np.float64)
    packed = np.empty(blocks)
    kind = vector(blocks, 1, 2, DOUBLE)
    tracemalloc.start()
    body = kind.body(memory.ctypes.data, 1)
    assert isinstance(body, TypedBody)
    body.pack(0, body.size, packed.ctypes.data)
    first = next(iter(body.segments()))
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (packed == memory[::2]).all()
    assert first == (memory.ctypes.data, 8)
    assert used < 1 << 20
    assert body.runs == blocks


def test_elements_that_continue_each_other_are_counted_as_one_run():
    """Each element is a block at its end and one at its start: the last byte of one touches the
    first of the next."""
    kind = resized(hindexed([2, 2], [0, 6], CHAR), 0, 8)
    body = kind.body(1 << 20, 100)
    assert (body.runs, len(list(body.segments()))) == (101, 101)
