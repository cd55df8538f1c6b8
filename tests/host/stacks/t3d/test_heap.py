"""The symmetric heap: no two objects of it overlap, and all lie inside."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lanai_firmware.programs.put.layout import COUNTERS, RING
from lanai_host.stacks.t3d.heap import WORD, HeapLayout, T3dOptions


@given(
    st.integers(1, 64),
    st.integers(16, 1024).map(lambda words: 4 * words),
    st.integers(1, 64),
    st.integers(1, 1024),
)
def test_objects_lie_side_by_side(ranks, short, long_sends, reply_pages):
    layout = HeapLayout(ranks, T3dOptions(short, long_sends, reply_pages))
    ranges = [(0, WORD.size * int(COUNTERS))]
    ranges += [(layout.slot(peer), layout.slot_size) for peer in range(ranks)]
    ranges += [(layout.flag(peer), WORD.size) for peer in range(ranks)]
    ranges += [(layout.reply(number), layout.reply_size) for number in range(long_sends)]
    ranges += [(layout.arrival(number), WORD.size) for number in range((long_sends + 1) * ranks)]
    ranges += [(layout.staging(number), layout.staging_size) for number in range(int(RING))]
    ranges.sort()
    assert all(start + size <= following for (start, size), (following, _) in pairwise(ranges))
    assert ranges[-1][0] + ranges[-1][1] <= layout.size
    assert all(start % WORD.size == 0 for start, _ in ranges)


def test_a_request_number_has_the_staging_memory_of_its_slot():
    layout = HeapLayout(2, T3dOptions())
    assert layout.staging(int(RING) + 3) == layout.staging(3)
