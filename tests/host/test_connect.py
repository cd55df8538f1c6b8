"""A program started by another launcher: a world of one rank that says so once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_host.abi.programs import environment
from lanai_host.connect import LAUNCHERS, foreign_launcher

PROGRAM = "from mpi4py import MPI; print(MPI.COMM_WORLD.size)"


@pytest.mark.parametrize(("size", "rank"), LAUNCHERS)
def test_the_first_process_of_another_launcher_tells(size, rank):
    text = foreign_launcher({size: "4", rank: "0"})
    assert f"{size}=4" in text
    assert "lanai run -n 4 PROGRAM" in text
    assert foreign_launcher({size: "4", rank: "1"}) is None
    assert foreign_launcher({size: "1", rank: "0"}) is None
    assert foreign_launcher({size: "", rank: ""}) is None


def test_a_program_by_itself_is_told_nothing():
    assert foreign_launcher({}) is None


@pytest.mark.parametrize(("rank", "told"), [("0", 1), ("1", 0)])
def test_it_is_said_once_on_stderr(rank, told):
    variables = {
        **os.environ,
        **environment(Path(sys.executable)),
        "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_RANK": rank,
    }
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=variables, capture_output=True, text=True, timeout=120, check=True
    )
    assert answer.stdout == "1\n"
    assert answer.stderr.count("OMPI_COMM_WORLD_SIZE=2: another launcher has started 2 processes") == told
