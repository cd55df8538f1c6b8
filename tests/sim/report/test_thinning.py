"""Fewer slices and values, of every lane and of the whole time."""

from lanai_sim.report.activity import HOST
from lanai_sim.report.timeline import Slice, Thinned, Values, thin, thin_values


def test_a_long_timeline_keeps_every_lane_and_the_whole_time() -> None:
    """Ranks come first: cut by number, the links would have vanished."""
    long = [Slice(10 * n, 10 * n + 5 + n % 3, "x", HOST) for n in range(9000)]
    short, one = [Slice(50, 60, "y", HOST, 3)], [Slice(0, 90_000, "z", HOST)]
    made = thin([long, short, one], 1000)
    assert made[1:] == [Thinned(short), Thinned(one)]
    kept = made[0].slices
    assert 700 < len(kept) <= 998
    assert made[0].lost == 9000 - len(kept)
    assert 80 < made[0].window < 100
    times = [one.begin for one in kept]
    assert times == sorted(times)
    assert times[0] < 100
    assert times[-1] > 89_000
    assert all(one.end - one.begin == 7 for one in kept)  # the longest ones


def test_a_short_timeline_is_whole() -> None:
    lanes = [[Slice(0, 1, "x", HOST)], [Slice(0, 1, "y", HOST)]]
    assert thin(lanes, 2) == [Thinned(lane) for lane in lanes]


def test_values_keep_the_largest_of_each_window() -> None:
    values = Values("bytes", list(range(1000)), [n % 100 for n in range(1000)])
    made = thin_values(values, 10)
    assert len(made.times) <= 10
    assert set(made.levels) == {99}
    assert thin_values(values, 1000) == values
