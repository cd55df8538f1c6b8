"""Remote interrupts (SC-21): what needs the target's processor is done while the target computes."""

import sys

import pytest
from tests.host.stacks.sci.test_sci import lanai

PROGRAM = """
import numpy as np
from mpi4py import MPI

world, busy, content = MPI.COMM_WORLD, 1e-3, np.arange(20000) % 251
memory = np.zeros(20000, "u1")
window = MPI.Win.Create(memory, 1, comm=world)
for size in (8, 1000, 20000):
    for operation in ("put", "get"):
        if world.rank == 0 and operation == "get":
            memory[:] = content
        world.Barrier()
        begin = MPI.Wtime()
        if world.rank == 1:
            mine = np.full(size, size % 251, "u1")
            window.Lock(0, MPI.LOCK_SHARED)
            (window.Put if operation == "put" else window.Get)(mine, 0)
            window.Flush(0)
            late = MPI.Wtime() - begin > busy / 2
            window.Unlock(0)
            assert operation == "put" or (mine == content[:size]).all()
            print(operation, size, "late" if late else "soon")
        else:
            while MPI.Wtime() < begin + busy:
                pass
        world.Barrier()
        assert operation == "get" or world.rank == 1 or (memory[:size] == size % 251).all()
window.Free()
"""
SOON = "".join(f"{operation} {size} soon\n" for size in (8, 1000, 20000) for operation in ("put", "get"))


@pytest.mark.parametrize(
    "options", [("private=emulate",), pytest.param(("way=commands", "longest_get=64"), marks=pytest.mark.slow)]
)
def test_a_target_that_computes_serves_windows_by_messages(options):
    run = lanai(
        *("-q", "-n", 2, "--device", "sci", *(word for one in options for word in ("--option", one))),
        *(sys.executable, "-c", PROGRAM),
    )
    assert (run.returncode, run.stdout) == (0, SOON), run.stderr
