"""Runs under a limit on the size of files, which counts for memory that processes share."""

import os
import re
import subprocess
import sys

import pytest

PROGRAM = "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(1))"


def ran(blocks, device):
    command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", "2", "--device", device, "python", "-c", PROGRAM]
    whole = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # Python keeps bytecode that the limit has cut
    return subprocess.run(
        ["sh", "-c", f'ulimit -f {blocks} && exec "$@"', "sh", *command],
        env=whole, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_a_limit_that_is_too_low_is_named(device):
    done = ran(8, device)
    assert (done.returncode, done.stdout) == (2, "")
    for line in done.stderr.splitlines():
        assert re.fullmatch(r"lanai: error: cannot (map|share) .* memory .*; raise .*`ulimit -f`|lanai: rank .*", line)


def test_messages_have_as_much_memory_as_the_limit_leaves():
    done = ran(1_000_000, "ideal")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n2\n", "")
