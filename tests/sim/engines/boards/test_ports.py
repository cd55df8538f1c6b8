"""Boards on serial ports: ports of this machine with simulated boards behind them."""

import os
import select
import sys
import threading
import tty

import pytest

from lanai_hdl.boards import BOARDS
from lanai_hdl.uart.frame import Frame, FrameKind
from lanai_host.errors import UserError
from lanai_sim.engines.boards.lines import Came
from lanai_sim.engines.boards.ports import SerialBoards
from lanai_sim.engines.boards.simulated import SimulatedBoards
from lanai_sim.engines.kinds.board import USUAL
from openlanai import Job

SLOTS = 5_000  # between two looks at the lines
PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, after, before = world.rank, (world.rank + 1) % world.size, (world.rank - 1) % world.size
for size in (0, 100, 1000):
    text = world.bcast("x" * size if rank == 0 else None)
    assert text == "x" * size
    assert world.sendrecv(rank, after, source=before) == before
print(rank, "ok")
"""


@pytest.fixture
def lines():
    """(board's end, name of the port) of three lines."""
    ends = [os.openpty() for _ in range(3)]
    for _, port in ends:
        tty.setraw(port)
    yield [(board, os.ttyname(port)) for board, port in ends]
    for end in ends:
        for file in end:
            os.close(file)


def test_frames_come_whole_and_time_does_not_stop(lines):
    boards = SerialBoards([name for _, name in lines[:2]], 1_000_000, 66_666)
    assert len(boards.run(0)) == 0
    frames = [Frame(FrameKind.INTERRUPT), Frame(FrameKind.PIO_DATA, data=b"12345678")]
    frame = frames[1].to_bytes()
    os.write(lines[1][0], frames[0].to_bytes() + frame[:5])
    assert boards.run(boards.slot + 10**9) == [Came(1, frames[0])]
    os.write(lines[1][0], frame[5:])
    assert boards.run(boards.slot + 10**9) == [Came(1, frames[1])]
    before = boards.slot
    assert boards.run(before + 1000) == []
    assert boards.slot >= before + 1000
    boards.send(0, frame)
    assert os.read(lines[0][0], 99) == frame
    assert not boards.untaken(0, True)
    assert not boards.still
    boards.close()


def test_a_port_that_another_program_has_is_told(lines):
    port = lines[0][1]
    boards = SerialBoards([port], 1_000_000, 66_666)
    with pytest.raises(UserError, match=f"cannot open serial port '{port}': another program has it open"):
        SerialBoards([port], 1_000_000, 66_666)
    boards.close()


def play(pair, lines, over):
    """Be the boards at the other ends of the lines."""
    files = [file for file, _ in lines]
    while not over.is_set():
        for file in select.select(files, [], [], 0)[0]:
            pair.send(files.index(file), os.read(file, 4096))
        for board, frame in pair.run(pair.slot + SLOTS):
            os.write(files[board], frame.to_bytes())


@pytest.mark.by_hand
@pytest.mark.parametrize(
    ("count", "ports"),
    [
        pytest.param(2, 0, id="a cable"),
        pytest.param(3, len(BOARDS[USUAL].ports), id="a switch"),
    ],
)
def test_mpi_runs_over_boards_on_ports(lines, count, ports):
    lines = lines[:count]
    over, boards = threading.Event(), SimulatedBoards(BOARDS[USUAL].config, count, ports, skip=False)
    player = threading.Thread(target=play, args=(boards, lines, over))
    player.start()
    named = ",".join(name for _, name in lines)
    try:
        result = Job((sys.executable, "-c", PROGRAM), count, "mpi-np", board=named, capture=True).run()
    finally:
        over.set()
        player.join()
        boards.close()
    assert (result.code, result.report) == (0, "")
    assert [one.stdout.strip() for one in result.outputs] == [f"{rank} ok" for rank in range(count)]
