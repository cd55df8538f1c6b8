"""Channels with send buffers on the gateware (NP-04, NP-39)."""

import random

import pytest

from lanai_firmware.programs.mpi_np.plan import McpConfig

from .np_calls import pattern
from .np_cluster import Ranks

SIZES = (0, 4, 1024, 1500, 3000, 4096, 5000, 12345)


@pytest.mark.parametrize("changes", [{}, {"cut_through": 0, "quick": 0}, {"recovery": 1}])
def test_random_messages_both_ways(changes):
    """Many wait for credit, and receives take them in another order."""
    dice = random.Random(1)
    messages = [[(tag, dice.choice(SIZES)) for tag in range(40)] for _ in range(2)]

    def program(rank):
        mine, others = messages[rank.rank], list(messages[1 - rank.rank])
        sent = [rank.send(1 - rank.rank, pattern(size, tag), tag) for tag, size in mine]
        random.Random(2 + rank.rank).shuffle(others)
        for tag, size in others:
            received = rank.receive(1 - rank.rank, size, tag)
            rank.finish(received)
            assert received[1].data == pattern(size, tag)
        rank.finish(*sent)
        return len(others)

    mcp = McpConfig(messages=8, ack_slots=1, send_buffer=16384).but(**changes)
    assert Ranks(mcp=mcp).run(program, program) == [40, 40]
