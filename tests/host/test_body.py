"""Bodies that are one run, a list of runs, or a part of another body."""

import ctypes
import gc
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanai_host.body import NOTHING, Headed, Run, Runs
from lanai_host.bus.base import BusError
from lanai_host.mpi.datatypes import (
    PREDEFINED,
    contiguous,
    hindexed,
    resized,
    vector,
)
from lanai_host.mpi.datatypes import layout as layouts
from lanai_host.mpi.datatypes.datatype import TypedBody
from lanai_host.scratch_pool import LEAST, MOST, PAGE, POOL, Pool

from .mpi.test_layout import models

MEMORY = 4096
NOWHERE = 8  # an address in the page that is never mapped


class Given:
    """A body, and the offsets of its bytes in `memory`, in the message's order."""

    def __init__(self, body, memory, offsets):
        self.body, self.memory, self.offsets = body, memory, offsets

    @property
    def packed(self):
        return bytes(self.memory[offset] for offset in self.offsets)

    def runs(self, begin, end):
        """Maximal runs of a part, found byte by byte."""
        found = []
        for offset in self.offsets[begin:end]:
            if found and found[-1][0] + found[-1][1] == offset:
                found[-1][1] += 1
            else:
                found.append([offset, 1])
        return [tuple(run) for run in found]


def random_memory():
    return np.random.default_rng(7).integers(0, 256, MEMORY, np.uint8)


class BodyContract:
    """Subclasses set `cases`, a strategy of `Given`, and have `unreachable()`: a body of which part
    is not mapped."""

    cases: st.SearchStrategy

    def check(self, property):
        @given(self.cases, st.data())
        @settings(max_examples=50, deadline=None)
        def run(case, data):
            begin = data.draw(st.integers(0, len(case.offsets)))
            property(case, begin, data.draw(st.integers(begin, len(case.offsets))))

        run()

    def test_size_and_bytes(self):
        def property(case, begin, end):
            assert case.body.size == len(case.offsets)
            assert case.body.read() == case.packed
            if case.offsets:
                assert case.body.address == case.memory.ctypes.data + case.offsets[0]

        self.check(property)

    def test_runs_of_any_part_are_maximal_and_in_order(self):
        def property(case, begin, end):
            base = case.memory.ctypes.data
            found = [(address - base, size) for address, size in case.body.segments(begin, end)]
            assert found == case.runs(begin, end)
            assert case.body.count_runs(begin, end) == len(found)
            assert case.body.runs == len(case.runs(0, None))

        self.check(property)

    def test_packing_any_part(self):
        def property(case, begin, end):
            target = (ctypes.c_uint8 * (end - begin + 1))()
            target[end - begin] = 99
            case.body.pack(begin, end, ctypes.addressof(target))
            assert bytes(target) == case.packed[begin:end] + b"c"

        self.check(property)

    def test_unpacking_any_part_changes_its_bytes_only(self):
        def property(case, begin, end):
            before = case.memory.copy()
            stream = bytes(255 - byte for byte in case.packed[begin:end])
            source = ctypes.create_string_buffer(stream)
            case.body.unpack(begin, end, ctypes.addressof(source))
            expected = before.copy()
            for offset, byte in zip(case.offsets[begin:end], stream, strict=True):
                expected[offset] = byte
            after = case.memory.copy()
            case.memory[:] = before
            assert after.tobytes() == expected.tobytes()

        self.check(property)

    def test_a_part_is_a_body(self):
        def property(case, begin, end):
            part = case.body.part(begin, end)
            assert (part.size, part.read()) == (end - begin, case.packed[begin:end])
            inner = part.part(1, max(1, part.size - 1))
            assert inner.read() == case.packed[begin:end][1:-1]
            assert part.runs == len(case.runs(begin, end))
            assert case.body.part(begin, len(case.offsets) + 100).read() == case.packed[begin:]

        self.check(property)

    def test_writing_stops_where_the_body_ends(self):
        def property(case, begin, end):
            data = bytes(255 - byte for byte in case.packed) + b"more"
            before = case.memory.copy()
            assert case.body.write(memoryview(data)) == len(case.offsets)
            assert case.packed == data[:-4]
            assert case.body.write(data[:end]) == end
            case.memory[:] = before

        self.check(property)

    def test_memory_that_is_not_there_is_an_error(self):
        body = self.unreachable()
        with pytest.raises(BusError, match="cannot read the send buffer, ") as found:
            body.read()
        assert str(found.value) == str(body.unreadable())
        with pytest.raises(BusError, match="cannot write the receive buffer, ") as found:
            body.write(bytes(body.size))
        assert str(found.value) == str(body.unwritable())


def of_runs(runs):
    """A body of (offset, bytes) in some memory, by its offsets."""
    memory = random_memory()
    body = Runs([(memory.ctypes.data + offset, size) for offset, size in runs])
    return Given(body, memory, [offset + step for offset, size in runs for step in range(size)])


def one_run(offset, size):
    memory = random_memory()
    return Given(Run(memory.ctypes.data + offset, size), memory, list(range(offset, offset + size)))


@st.composite
def lists_of_runs(draw):
    """Runs that do not overlap, in any order, some of them empty, some neighbours."""
    edges = sorted(draw(st.sets(st.integers(0, 200), min_size=2, max_size=16)))
    runs = [(first, last - first) for first, last in pairwise(edges)]
    kept = draw(st.lists(st.sampled_from(runs), unique=True))
    return [*kept, (7, 0)] if draw(st.booleans()) else kept


class TestRun(BodyContract):
    cases = st.builds(one_run, st.integers(0, MEMORY - 100), st.integers(0, 100))

    def unreachable(self):
        return Run(NOWHERE, 100)


class TestRuns(BodyContract):
    cases = lists_of_runs().map(of_runs)

    def unreachable(self):
        self.memory = random_memory()
        return Runs([(self.memory.ctypes.data, 10), (NOWHERE, 90)])


@st.composite
def headed(draw):
    """Some runs behind the first of them."""
    runs = [(0, 40), *((40 + offset, size) for offset, size in draw(lists_of_runs()))]
    whole = of_runs(runs)
    base = whole.memory.ctypes.data
    body = Headed(base, 40, Runs([(base + offset, size) for offset, size in runs[1:]]))
    return Given(body, whole.memory, whole.offsets)


class TestHeaded(BodyContract):
    cases = headed()

    def unreachable(self):
        self.memory = random_memory()
        return Headed(self.memory.ctypes.data, 10, Run(NOWHERE, 90))

    def test_an_error_names_what_follows_the_header(self):
        assert str(self.unreachable().unreadable()).startswith(f"cannot read the send buffer, 90 bytes at {NOWHERE:#x}")


@st.composite
def parts(draw):
    whole = of_runs(draw(lists_of_runs()))
    begin = draw(st.integers(0, len(whole.offsets)))
    end = draw(st.integers(begin, len(whole.offsets)))
    return Given(whole.body.part(begin, end), whole.memory, whole.offsets[begin:end])


class TestPart(BodyContract):
    cases = parts()

    def unreachable(self):
        self.memory = random_memory()
        return Runs([(self.memory.ctypes.data, 10), (NOWHERE, 90)]).part(5, 50)


def test_an_error_of_a_part_names_the_whole_buffer():
    part = Run(NOWHERE, 100).part(10, 20).part(0, 5)
    assert str(Runs([(NOWHERE, 60), (200, 40)]).part(1, 9).unreadable()).startswith(
        f"cannot read the send buffer, 100 bytes at {NOWHERE:#x}"
    )
    assert (part.address, part.size) == (NOWHERE + 10, 5)


def test_a_message_without_bytes_lies_nowhere():
    assert (NOTHING.size, NOTHING.runs, NOTHING.address, list(NOTHING.segments()), NOTHING.read()) == (0, 0, 0, [], b"")


# Memory for the library's own messages.


def test_a_slot_is_free_when_all_views_are_gone():
    pool = Pool()
    made, address = pool.take(100)
    part = made[10:20].data
    del made
    gc.collect()
    second, elsewhere = pool.take(100)
    assert elsewhere != address
    del part
    gc.collect()
    third, again = pool.take(65)
    assert again == address
    third[:] = 1
    second[:] = 2
    assert set(third.tolist()) == {1}


def test_slots_cross_no_page_boundary_that_their_size_does_not_need():
    pool = Pool()
    kept = [pool.take(size) for size in (1, LEAST, LEAST + 1, 1000, PAGE, PAGE + 1, MOST) for _ in range(5)]
    kept += [pool.take(0), pool.take(MOST + 1)]
    for made, address in kept:
        assert made.ctypes.data == address
        if 0 < made.size <= MOST:
            assert -(-(address % PAGE + made.size) // PAGE) == -(-made.size // PAGE)
    places = sorted((address, made.size) for made, address in kept)
    assert all(first + size <= second for (first, size), (second, _) in pairwise(places))


def test_the_pool_of_the_library_holds_what_is_written():
    made, address = POOL.take(300)
    made[:] = 5
    assert bytes(made.data) == b"\5" * 300
    assert address % 512 == 0


# Bodies of typed buffers: with a table of runs, and leaf by leaf.

DOUBLE_BODY, CHAR_BODY = PREDEFINED["MPI_DOUBLE"], PREDEFINED["MPI_CHAR"]


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
        return hindexed([8, 8], [start, NOWHERE], CHAR_BODY).body(0, 1)


class TestLeafByLeaf(TestTypedBody):
    """The same without tables, in windows of a few blocks."""

    @pytest.fixture(autouse=True)
    def no_tables(self, monkeypatch):
        monkeypatch.setattr(layouts, "TABLE_BLOCKS", 0)
        monkeypatch.setattr(layouts, "BLOCKS_PER_LEAF", 0)
        monkeypatch.setattr(layouts, "WINDOW", 3)


def test_dense_elements_are_one_run():
    body = contiguous(3, DOUBLE_BODY).body(1000, 5)
    assert isinstance(body, Run)
    assert (body.start, body.size) == (1000, 120)


def test_a_body_of_a_million_blocks_makes_no_list_of_them():
    blocks = 1 << 20
    memory = np.arange(2 * blocks, dtype=np.float64)
    packed = np.empty(blocks)
    kind = vector(blocks, 1, 2, DOUBLE_BODY)
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
    kind = resized(hindexed([2, 2], [0, 6], CHAR_BODY), 0, 8)
    body = kind.body(1 << 20, 100)
    assert (body.runs, len(list(body.segments()))) == (101, 101)
