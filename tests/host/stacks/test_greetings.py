"""Ranks on the remote-memory adapter greet all others in a small job, and in a large one those that they talk to."""

import re
import sys
from pathlib import Path

import pytest
import warm

PROGRAM = Path(__file__).with_name("messages.py")
INIT = "from mpi4py import MPI"


def lanai(device, ranks, greet, *program):
    options = ("-v", "-n", ranks, "--device", device, "--option", f"greet={greet}")
    run = warm.lanai("run", *options, sys.executable, *program, timeout=300)
    assert run.returncode == 0, run.stderr
    return run


def packets(device, greet):
    run = lanai(device, 8, greet, "-c", INIT)
    return int(re.search(r"the links: (\d+) packets", run.stderr)[1])


@pytest.mark.parametrize("device", ["mbcf", "sci"])
def test_the_start_of_a_large_job_takes_fewer_packets(device):
    """The barrier at the end talks to 3 ranks, and not to all 7."""
    assert packets(device, 7) < packets(device, 8)


@pytest.mark.parametrize("device", ["mbcf", "sci"])
def test_messages_between_ranks_that_have_not_greeted_arrive(device):
    assert "all there" in lanai(device, 4, 0, PROGRAM, "0,4097").stdout
