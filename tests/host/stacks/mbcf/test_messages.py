"""Messages between devices over modelled adapters, in many interleavings: every byte right, no
message overtaken, nothing forgotten."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
from pairs import first_of

from lanai_hdl.remote.packets import Op
from lanai_host.adapter.jobs import Job, Jobs, ignored
from lanai_host.adapter.operation import Token
from lanai_host.bus.base import PAGE_SIZE
from lanai_host.config import free
from lanai_host.host_model.meter import Meter
from lanai_host.stacks.mbcf.layout import BLOCK_BYTES, ROOM_AT, MbcfOptions, Queue, QueueLayout

from ..random_traffic import compare


@pytest.mark.parametrize(
    "options",
    first_of(
        {"fifo_pages": 1, "window": 2, "ask_from": 0},
        {},
        {"requests": False},
        {"request_list": True, "ask_from": 0},
        {"greet": 0},
        {"fifo_pages": 1, "requests": False, "quiet": 3},
    ),
    ids=["small", "sr", "nsr", "list", "greet", "quiet"],
)
def test_random_traffic(options):
    written = queued = 0
    for seed in range(4):
        devices = compare(3, 12, seed, **options)
        written += sum(device.read_counter("mbcf_written") for device in devices)
        queued += sum(device.read_counter("mbcf_queued") for device in devices)
    assert queued > 100
    assert (written > 10) == options.get("requests", True)


# The queue of commands to the adapter.


@pytest.mark.parametrize("begun_before", [False, True])
def test_a_job_that_will_not_begin_is_told_of_once(begun_before):
    """Also if that was found out between two looks: what waits for it may go on."""

    def none_ended():
        return []

    commands = SimpleNamespace(free=0, take_ended=none_ended)
    jobs = Jobs(SimpleNamespace(share=lambda: commands), 100, Meter(free(), None))
    jobs.add(Job(Op.APPEND, Token(1, 0, 1, 0, 8), 0, "a record", ignored, b"1", begins=lambda: False))
    if begun_before:
        jobs.begin()
    assert [jobs.advance() for _ in range(2)] == [True, False]


# The layout of a rank's queues in its memory.


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
