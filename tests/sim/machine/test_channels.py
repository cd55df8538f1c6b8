"""Dependencies between channels: a cycle is found if and only if there is one."""

from graphlib import CycleError, TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from lanai_sim.machine.fabric import dependencies, find_cycle

channels = st.tuples(st.integers(0, 7), st.just(0))


@given(st.lists(st.lists(channels, max_size=4, unique=True), max_size=8))
def test_a_cycle_is_found_exactly_if_there_is_one(routes):
    follows = dependencies(routes)
    ring = find_cycle(follows)
    try:
        tuple(TopologicalSorter(follows).static_order())
    except CycleError:
        assert ring
    else:
        assert not ring
    for channel, following in zip(ring, ring[1:] + ring[:1], strict=True):
        assert following in follows[channel]


def test_a_route_makes_each_channel_wait_for_the_next():
    assert dependencies([[(5, 1), (6, 1), (7, 2)], [(5, 1), (6, 3)]]) == {
        (5, 1): [(6, 1), (6, 3)],
        (6, 1): [(7, 2)],
        (7, 2): [],
        (6, 3): [],
    }
