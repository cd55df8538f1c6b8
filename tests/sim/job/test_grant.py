"""A rank reaches its own part of its NIC and nothing else: request slots, doorbell bit, what it may
read."""

import sys

import pytest

from lanai_hdl.machine import PIO_WINDOW_SIZE, host_offset
from lanai_host.stacks.mpi_np.driver import Attachment
from lanai_sim.job.request import Forbidden, Grant
from lanai_sim.job.result import Exit
from openlanai import Job

ATTACHMENT = Attachment(
    rank=5, ranks=8, local_rank=1, region=0x110000, slot_bytes=1072, copyblock=0, records=0, page_entries=0, receives=0,
    any_receives=0, messages=0,
)  # fmt: skip
FIRST, END = ATTACHMENT.region, ATTACHMENT.region + ATTACHMENT.region_bytes
DOORBELL = host_offset("DOORBELL")


def test_its_own_part_is_granted():
    grant = Grant.of(ATTACHMENT)
    grant.check_write(FIRST, bytes(4))
    grant.check_write(END - 1000, bytes(1000))
    grant.check_write(DOORBELL, (1 << ATTACHMENT.local_rank).to_bytes(4, "big"))
    grant.check_read(FIRST, END - FIRST)


@pytest.mark.parametrize(
    ("offset", "size"),
    [(FIRST - 4, 4), (FIRST - 4, 8), (END, 4), (END - 4, 8), (host_offset("CONTROL"), 4), (DOORBELL, 8), (0, 4),
     (PIO_WINDOW_SIZE, 4)],
)  # fmt: skip
def test_anything_else_is_refused_with_offset_and_range(offset, size):
    grant = Grant.of(ATTACHMENT)
    words = f"{size} bytes at PIO offset {offset:#x} of its NIC; its own offsets are {FIRST:#x} to {END - 1:#x}"
    with pytest.raises(Forbidden, match=f"rank 5 wrote {words}"):
        grant.check_write(offset, bytes(size))
    with pytest.raises(Forbidden, match=f"rank 5 read {words}"):
        grant.check_read(offset, size)


@pytest.mark.parametrize("bits", [0b1, 0b11, 0b100, 1 << 31])
def test_other_ranks_doorbells_are_refused(bits):
    with pytest.raises(Forbidden, match=f"rank 5 wrote {bits:#x} to DOORBELL .* its own bits are 0x2"):
        Grant.of(ATTACHMENT).check_write(DOORBELL, bits.to_bytes(4, "big"))


def test_a_rank_that_was_not_attached_may_do_nothing():
    with pytest.raises(Forbidden, match="its own offsets are none"):
        Grant(3).check_read(0, 4)


REACH = """
from mpi4py import MPI
from lanai_host.abi.context import abi
world = MPI.COMM_WORLD
device = abi.world.process.device
mine = device.endpoint.attachment
offset = mine.region + (1 - 2 * world.rank) * (mine.region_bytes + 4095) // 4096 * 4096
if world.rank == 0:
    ACT
world.Barrier()
print("passed", world.rank, flush=True)
"""
ACTS = {
    "a request slot": (
        "device.bus.write_block(offset + 64, bytes(16))",
        "rank 0 wrote 16 bytes at PIO offset",
    ),
    "the doorbell": (
        "from lanai_hdl.machine import host_offset; device.bus.write(host_offset('DOORBELL'), 2)",
        "rank 0 wrote 0x2 to DOORBELL",
    ),
    "the region by reading": ("device.bus.read(offset)", "rank 0 read 4 bytes at PIO offset"),
}


@pytest.mark.parametrize("what", ACTS)
def test_a_rank_cannot_reach_its_neighbour_on_the_nic(what, capfd):
    act, words = ACTS[what]
    command = (sys.executable, "-c", REACH.replace("ACT", act))
    result = Job(command, 2, "mpi-np", ranks_per_node=2).run()
    assert result.code == Exit.FORBIDDEN
    assert result.report.startswith(words)
    assert "its own" in result.report
    assert "passed" not in capfd.readouterr().out
