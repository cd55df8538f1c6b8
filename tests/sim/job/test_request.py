"""PIO writes in a row: what is found in a rank's bytes, and which bursts they make."""

import ctypes
import sys

import pytest

from lanai_hdl.machine import PIO_WINDOW_SIZE, host_offset
from lanai_host.simulator.protocol import HEADER, Op
from lanai_host.simulator.requests import PIO_WRITE, PioWrite
from lanai_host.stacks.mpi_np.driver import Attachment
from lanai_sim.engines.declared import BURST
from lanai_sim.job.request import DOORBELL, ROOM, SHORTEST, Forbidden, Grant, Packer, WritesFinder
from lanai_sim.job.result import Exit
from openlanai import Job

GRANT = Grant(0, [range(0x100, 0x200), range(0x1000, 0x1000 + 2 * ROOM)], bells=0b101)


def frame(op, payload=b"", elapsed=0, flags=0):
    return HEADER.pack(len(payload), op, flags, elapsed) + payload


def write(offset, data, elapsed=0):
    return frame(Op.PIO_WRITE, PIO_WRITE.pack(PioWrite(offset), data), elapsed)


def found(data):
    return WritesFinder().first(data)


def packed(*frames, packer=None):
    """The bursts that the frames make: of each its time, offset and data."""
    made = (packer or Packer(GRANT)).pack(found(b"".join(frames)))
    if made is None:
        return None
    bursts = [
        BURST.struct.unpack(ctypes.string_at(made.bursts + i * BURST.size, BURST.size)) for i in range(made.burst_count)
    ]
    data, at = [], made.data
    for _, _, size in bursts:
        data.append(ctypes.string_at(at, size))
        at += size
    return [(elapsed, offset, one) for (elapsed, offset, _), one in zip(bursts, data, strict=True)]


def test_all_writes_up_to_another_request_are_found():
    writes = [write(0x100, b"abcd", 5), write(0x104, b"", 7), write(0, b"x" * 300, 2**40)]
    last = found(b"".join(writes) + frame(Op.SYNC, elapsed=9) + write(0x100, b"efgh"))
    assert (last.op, last.elapsed, last.payload) == (Op.PIO_WRITE, 12 + 2**40, b"".join(writes))
    each = [(one.op, one.elapsed, one.payload) for one in last.each()]
    assert each == [
        (Op.PIO_WRITE, 5, b"\0\1\0\0abcd"),
        (Op.PIO_WRITE, 7, b"\4\1\0\0"),
        (Op.PIO_WRITE, 2**40, bytes(4) + b"x" * 300),
    ]


@pytest.mark.parametrize(
    "data",
    [b"", frame(Op.SYNC), frame(Op.PIO_WRITE, bytes(8), flags=1), write(0, b"abcd")[:-1], write(0, b"")[:15]],
    ids=["nothing", "another", "flags", "part", "part of a header"],
)
def test_what_is_no_whole_write_is_not_found(data):
    assert found(data) is None
    assert found(write(0x100, b"abcd") + data).payload == write(0x100, b"abcd")


def test_allowed_writes_make_bursts():
    bell = write(DOORBELL, b"\0\0\0\4", 3)
    frames = [write(0x100, b"a", 1), write(0x1FC, b"bcde", 2), bell, write(0x1001, b"f" * 777)]
    assert packed(*frames) == [
        (1, 0x100, b"a"), (2, 0x1FC, b"bcde"), (3, DOORBELL, b"\0\0\0\4"), (0, 0x1001, b"f" * 777)
    ]  # fmt: skip


def test_more_writes_than_usual():
    packer = Packer(GRANT)
    many = [(i, 0x100 + i % 256, bytes([i % 251])) for i in range(3 * ROOM // SHORTEST)]
    assert packed(*[write(offset, data, elapsed) for elapsed, offset, data in many], packer=packer) == many
    assert packed(write(0x1000, b"g" * 2 * ROOM), packer=packer) == [(0, 0x1000, b"g" * 2 * ROOM)]


@pytest.mark.parametrize(
    "one",
    [
        write(0x0FF, b"a"),
        write(0x1FD, b"abcd"),
        write(0x1FD, b"abcd" * 1000),
        write(DOORBELL, b"\0\0\0\2"),
        write(DOORBELL, b"\1\0\0\0"),
        write(DOORBELL, b"\0\0\0"),
        write(PIO_WINDOW_SIZE, b"a"),
        write(0xFFFFFFFF, b"abcd"),
        write(0x100, b""),
        write(0x100, b"abcd", -1),
        frame(Op.PIO_WRITE, b"\0\1\0"),
    ],
)
def test_all_else_is_left_to_the_one_who_says_what_is_wrong(one):
    assert packed(write(0x100, b"abcd"), one) is None


def test_a_rank_without_a_grant_writes_nothing():
    assert packed(write(0x100, b"abcd"), packer=Packer(Grant(0))) is None


# A rank reaches its own part of its NIC and nothing else: request slots, doorbell bit, what it may read.


ATTACHMENT = Attachment(
    rank=5, ranks=8, local_rank=1, region=0x110000, slot_bytes=1072, copyblock=0, records=0, page_entries=0, receives=0,
    any_receives=0, messages=0,
)  # fmt: skip
FIRST, END = ATTACHMENT.region, ATTACHMENT.region + ATTACHMENT.region_bytes
OWN_DOORBELL = host_offset("DOORBELL")


def test_its_own_part_is_granted():
    grant = Grant.of(ATTACHMENT)
    grant.check_write(FIRST, bytes(4))
    grant.check_write(END - 1000, bytes(1000))
    grant.check_write(OWN_DOORBELL, (1 << ATTACHMENT.local_rank).to_bytes(4, "big"))
    grant.check_read(FIRST, END - FIRST)


@pytest.mark.parametrize(
    ("offset", "size"),
    [(FIRST - 4, 4), (FIRST - 4, 8), (END, 4), (END - 4, 8), (host_offset("CONTROL"), 4), (OWN_DOORBELL, 8), (0, 4),
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
        Grant.of(ATTACHMENT).check_write(OWN_DOORBELL, bits.to_bytes(4, "big"))


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
