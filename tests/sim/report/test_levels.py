"""Numbers over time: queues, messages under way, shares in use."""

import sys
from pathlib import Path

import pytest

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_sim.report.timeline import Values
from lanai_sim.report.tracks import timeline
from lanai_sim.trace import Trace
from openlanai import Job

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


FLOOD = """
from mpi4py import MPI
import mmap
world = MPI.COMM_WORLD
data = memoryview(mmap.mmap(-1, 4096))[:4]
if world.rank == 0:
    sends = [world.Isend(data, 1, 0) for _ in range(20)]
    world.Send(data, 1, 1)
    MPI.Request.Waitall(sends)
else:
    world.Recv(data, 0, 1)
    for _ in range(20):
        world.Recv(data, 0, 0)
"""


@pytest.mark.parametrize(("unpaid", "most"), [(0, 4), (64, 5)])
def test_credit_in_use_comes_to_all_message_slots_and_goes_back(tmp_path: Path, unpaid: int, most: int) -> None:
    """More messages than slots. One may go without credit; the slot of one that is dropped comes back."""
    options = McpConfig(messages=4, ack_slots=1, unpaid_limit=unpaid)
    assert Job((sys.executable, "-c", FLOOD), 2, "mpi-np", options=options, trace=str(tmp_path / "t")).run().code == 0
    assert _credit(tmp_path / "t") == ("slots", most, 0, 0)


def test_credit_in_use_on_the_t3d_is_the_slot_of_each_pair(tmp_path: Path) -> None:
    assert Job((sys.executable, "-c", FLOOD), 2, "t3d", trace=str(tmp_path / "t")).run().code == 0
    assert _credit(tmp_path / "t") == ("slots", 1, 0, 0)


def _credit(path: Path) -> tuple[str, int, int, int]:
    """Return unit, largest, smallest and last level of what rank 0 has in use."""
    (found,) = [
        lane.values for lane in timeline(Trace.open(path)).lanes if lane.path[1:] == ("rank 0", "credit in use")
    ]
    assert found is not None
    return found.unit, max(found.levels), min(found.levels), found.levels[-1]


def test_systems_without_credit_have_no_lane_for_it(tmp_path: Path) -> None:
    assert Job((sys.executable, "-c", FLOOD), 2, "ideal", trace=str(tmp_path / "t")).run().code == 0
    assert not [lane for lane in timeline(Trace.open(tmp_path / "t")).lanes if lane.name == "credit in use"]
