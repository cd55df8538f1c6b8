"""The layout of a rank's queues in its memory."""

from itertools import pairwise

import pytest

from lanai_host.bus.base import PAGE_SIZE
from lanai_host.stacks.mbcf.layout import BLOCK_BYTES, ROOM_AT, MbcfOptions, Queue, QueueLayout


@pytest.mark.parametrize("ranks", [2, 5, 16])
def test_each_peer_has_a_fifo_for_requests_and_one_for_messages(ranks):
    """Control words and rings of all of them lie apart, and inside the queues' memory."""
    layout = QueueLayout(ranks, MbcfOptions(fifo_pages=4, request_pages=2))
    each = [(peer, queue) for peer in range(ranks) for queue in Queue]
    assert len(each) == 2 * ranks
    spans = [(layout.control(*one), layout.control(*one) + BLOCK_BYTES) for one in each]
    rings = [(layout.ring(*one) * PAGE_SIZE, (layout.ring(*one) + layout.pages(one[1])) * PAGE_SIZE) for one in each]
    assert all(layout.room(*one) == layout.control(*one) + ROOM_AT for one in each)
    spans = sorted([*spans, *rings])
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    assert spans[-1][1] == layout.size
    assert all(layout.ring(*one) % layout.pages(one[1]) == 0 for one in each)
