"""PIO writes in a row: what is found in a rank's bytes, and which bursts they make."""

import ctypes

import pytest

from lanai_hdl.machine import PIO_WINDOW_SIZE
from lanai_host.simulator.protocol import HEADER, Op
from lanai_host.simulator.requests import PIO_WRITE, PioWrite
from lanai_sim.engines.declared import BURST
from lanai_sim.job.request import DOORBELL, ROOM, SHORTEST, Grant, Packer, WritesFinder

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
