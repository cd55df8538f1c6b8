"""Starting programs as a user would: alone, or under `lanai run`."""

import os
import subprocess
import sys
from pathlib import Path

from warm import lanai

from lanai_host.abi import library_directory

C = Path(__file__).parents[1] / "c"
CLI = [sys.executable, "-m", "lanai_sim"]


def alone(*command, **environment):
    """A program without `lanai run`, with our libmpi on its path."""
    where = str(library_directory())
    env = {**os.environ, "MPI4PY_LIBMPI": where, "LD_LIBRARY_PATH": where, **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=500, check=False)


def together(ranks, *command, device="ideal", options=(), timeout=500):
    """`lanai run` of a program."""
    return lanai("run", "--quiet", "-n", ranks, "--device", device, *options, *command, timeout=timeout)


def mpicc(*arguments):
    """`lanai mpicc`, which must succeed."""
    done = lanai("mpicc", *arguments, timeout=500)
    assert done.returncode == 0, done.stderr
