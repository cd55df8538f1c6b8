"""The contract of every `Body`. A test class makes one of given runs of memory."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanai_host.bus.base import BusError

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
