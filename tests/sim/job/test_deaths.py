"""Ranks that end without MPI_Finalize: what they owe to the others decides how the run ends."""

import sys

import pytest

from lanai_sim.job.result import Exit
from openlanai import Job

PROGRAM = """\
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
rank = world.rank
world.Barrier()
print("here", world.rank, flush=True)
if world.rank == 1:
    os._exit(0)
if "waits" in sys.argv:
    world.Recv(bytearray(1), 1)
MPI.Finalize()
print("done", rank)
sys.exit(sys.argv[1:] == ["fails"] and 6)
"""


def play(tmp_path, device, *arguments):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    return Job((sys.executable, str(program), *arguments), 3, device).run(), program


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_a_rank_that_owes_nothing(device, tmp_path, capfd):
    result, _ = play(tmp_path, device)
    assert (result.code, result.report) == (0, "")
    assert result.notes == ("warning: rank 1 ended without MPI_Finalize; MPI demands that each rank calls it",)
    assert sorted(capfd.readouterr().out.splitlines()) == ["done 0", "done 2", "here 0", "here 1", "here 2"]


def test_the_exit_codes_of_the_others_count(tmp_path):
    result, _ = play(tmp_path, "ideal", "fails")
    assert result.code == 6


def test_a_rank_that_is_waited_for(tmp_path):
    result, program = play(tmp_path, "ideal", "waits")
    assert result.code == Exit.NOT_FINALIZED
    head, first, second, *_ = result.report.splitlines()
    assert head.startswith("rank 1 (pid ")
    assert head.endswith(" exited with code 0 without MPI_Finalize; the other ranks cannot go on without it")
    assert f"waits in MPI_Recv at {program}:10, peer 1" in first
    assert second.endswith(" us: has ended")
    assert result.notes == ()


def test_no_rank_finalizes(capfd):
    result = Job(
        (sys.executable, "-c", "from mpi4py import MPI; import os; print('x', flush=True); os._exit(0)"), 2
    ).run()
    assert (result.code, result.report) == (0, "")
    assert "ranks 0, 1 ended without MPI_Finalize" in result.notes[0]
    assert capfd.readouterr().out == "x\nx\n"
