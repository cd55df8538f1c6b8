"""Numbers over time: queues, messages under way, shares in use."""

from lanai_sim.report.timeline import Values
from lanai_sim.report.tracks import timeline

from .sample import NS, sample


def test_queues_and_shares_of_the_sample() -> None:
    found = {lane.path[1:]: lane.values for lane in timeline(sample()).lanes if lane.values is not None}
    assert found["rank 1", "receives posted"] == Values("receives", [80 * NS, 880 * NS], [1, 0])
    assert found["rank 0", "bytes under way"] == Values("bytes", [150 * NS, 880 * NS], [4, 0])
    assert found["NIC 0", "LBUS in use"] == Values("% of slots", [256 * NS, 768 * NS], [50, 0])
    link = found["NIC 0", "link out in use"]
    assert link is not None
    assert (link.unit, max(link.levels), link.levels[-1]) == ("% of time", 100, 0)
    assert abs(link.times[1] - 500 * NS) < 3 * NS


def test_what_never_happened_has_no_lane() -> None:
    names = {lane.path[1:] for lane in timeline(sample()).lanes if lane.values is not None}
    assert ("rank 0", "receives posted") not in names
    assert ("NIC 1", "link out in use") not in names
    assert ("rank 1", "messages without a receive") not in names
