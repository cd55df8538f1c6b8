"""Interfaces of two latencies are not joined."""

import pytest
from amaranth import Module
from amaranth.lib import wiring

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.sequencer import EntryRead
from lanai_hdl.remote.timed import Ahead, join


@pytest.mark.parametrize("kind", [lambda slots: EntryRead(Remote(), slots), lambda slots: Ahead(8, slots)])
def test_two_interfaces_are_joined_only_if_their_latencies_are_the_same(kind):
    m, asks = Module(), kind(1).create()
    join(m, asks, kind(1).flip().create())
    with pytest.raises(wiring.ConnectionError, match="a latency of 1 slots cannot be joined with one of 0"):
        join(m, asks, kind(0).flip().create())
