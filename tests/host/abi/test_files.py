"""Files under `lanai run`: the order that the shared pointer gives is one of simulated time, and so
is what all of it takes."""

import os

import pytest

from .jobs import together

pytest.importorskip("mpi4py")

PROGRAM = """if True:
    import sys
    import numpy as np
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    file = MPI.File.Open(world, sys.argv[1], MPI.MODE_RDWR | MPI.MODE_CREATE)
    file.Set_view(0, MPI.INT, MPI.INT)
    for step in range(10):
        file.Write_shared(np.full(2, 100 * world.rank + step, np.int32))
        if world.rank == step % world.size:
            world.send(None, (world.rank + 1) % world.size)
        if (world.rank - 1) % world.size == step % world.size:
            world.recv()
    file.Set_atomicity(True)
    file.Write_at(1000, np.full(5, world.rank, np.int32))
    file.Close()
    if world.rank == 0:
        print(np.fromfile(sys.argv[1], np.int32).tolist(), f"{MPI.Wtime():.12e}")
    """


ON = "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); "
ON += "os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


def test_two_runs_write_the_same_file_in_the_same_time(tmp_path):
    """On all processors, and on one."""
    every = sorted(os.sched_getaffinity(0))
    outputs = []
    for number, processors in enumerate((every, every[:1])):
        file = str(tmp_path / f"file{number}")
        done = together(4, "python", "-c", ON, ",".join(map(str, processors)), "-c", PROGRAM, file)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] != ""
