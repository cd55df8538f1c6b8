"""Frames on a segment's wire: lead, least length and gap."""

from itertools import pairwise

import pytest

from lanai_hdl.hub.config import FrameTimes
from lanai_hdl.link.flit import Kind

from .wire import Node, packet, run, small

TIMES = FrameTimes(lead=20, least=60, gap=15)
RUN_IN = 8  # slots between a flit on a port and that it may leave


@pytest.mark.parametrize("words", [1, 100])
def test_a_wire_takes_a_frame_for_each_packet(words):
    """The HEAD leaves after the lead, the TAIL when the frame is long enough, and the next frame
    begins after the gap."""
    nodes = [Node(send=packet([n] * words, 2) * 2) for n in range(2)] + [Node()]
    run(small(3, frame=TIMES), nodes)
    heads = [slot for kind, _, slot in nodes[2].got if kind == Kind.HEAD]
    tails = [slot for kind, _, slot in nodes[2].got if kind == Kind.TAIL]
    found = list(zip(heads, tails, strict=True))
    assert len(found) == 4
    assert TIMES.lead <= found[0][0] <= TIMES.lead + RUN_IN
    inside = max(words + 1, TIMES.least - TIMES.lead)
    assert {tail - head for head, tail in found} == {inside}
    between = {after[0] - before[1] for before, after in pairwise(found)}
    assert between == {TIMES.gap + TIMES.lead + 1}
