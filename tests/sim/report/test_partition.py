"""Time is split exactly, and each moment goes to the first layer that claims it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lanai_sim.report.activity import Layer, partition

stretch = st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 3))


def layer(stretches: list[tuple[int, int, int]]) -> Layer:
    begins = [begin for begin, _, _ in stretches]
    return Layer.of(begins, [begin + size for begin, size, _ in stretches], [label for _, _, label in stretches])


def test_first_layer_wins_and_the_rest_belongs_to_no_layer() -> None:
    parts = partition(10, 50, [layer([(0, 15, 1), (20, 5, 2)]), layer([(12, 20, 3)])])
    assert parts.sums() == {(0, 1): 5, (1, 3): 12 - 0, (0, 2): 5, (-1, 0): 18}
    assert parts.total == 40


def test_overlapping_stretches_keep_the_earlier() -> None:
    flat = layer([(0, 10, 1), (5, 10, 2), (6, 2, 3)])
    assert (flat.begin.tolist(), flat.end.tolist(), flat.label.tolist()) == ([0, 10], [10, 15], [1, 2])


def test_nothing_at_all() -> None:
    assert partition(5, 5, [layer([])]).sums() == {}
    assert partition(5, 9, []).sums() == {(-1, 0): 4}


@given(st.lists(st.lists(stretch, max_size=8), max_size=4), st.integers(0, 70), st.integers(0, 70))
def test_each_moment_as_a_slow_count_gives_it(many: list[list[tuple[int, int, int]]], one: int, other: int) -> None:
    begin, end = min(one, other), max(one, other)
    layers = [layer(stretches) for stretches in many]
    expected: dict[tuple[int, int], int] = {}
    for moment in range(begin, end):
        owner = (-1, 0)
        for index, entry in enumerate(layers):
            active = np.flatnonzero((entry.begin <= moment) & (moment < entry.end))
            if len(active):
                owner = (index, int(entry.label[active[0]]))
                break
        expected[owner] = expected.get(owner, 0) + 1
    parts = partition(begin, end, layers)
    assert parts.sums() == expected
    assert sum(parts.sums().values()) == end - begin
