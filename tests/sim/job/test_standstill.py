"""Ranks whose programs end by an error while others need them: the cause is reported first, and the
exit code is theirs."""

import signal
import subprocess
import sys

import pytest
from pairs import first_of

from lanai_sim.job import standstill
from lanai_sim.job.result import Exit
from lanai_sim.job.standstill import Departure
from lanai_sim.job.waiting import RankState
from openlanai import Job

RAISES = """\
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    raise ValueError("boom")
MPI.COMM_WORLD.Barrier()
"""
FINALIZES = """\
import atexit, sys
import mpi4py
mpi4py.rc.finalize = False
from mpi4py import MPI

def work():
    if MPI.COMM_WORLD.rank == 0:
        int("twelve")
    MPI.COMM_WORLD.Recv(bytearray(1), 0)

if sys.argv[1] == "atexit":
    atexit.register(MPI.Finalize)
    work()
elif sys.argv[1] == "finally":
    try:
        work()
    finally:
        MPI.Finalize()
else:
    try:
        work()
    except ValueError:
        MPI.Finalize()
        sys.exit(7)
"""

# Rank 1 ends as it is told to, with or without MPI_Finalize; the others wait for a message from it.
IN_C = """\
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank, x = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        if (argc > 2) MPI_Finalize();
        if (!strcmp(argv[1], "return")) return 5;
        if (!strcmp(argv[1], "_exit")) _exit(6);
        raise(atoi(argv[1]));
    }
    MPI_Recv(&x, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
"""
IN_PYTHON = """\
import os, signal, sys
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    if len(sys.argv) > 2:
        MPI.Finalize()
    if sys.argv[1] == "return":
        sys.exit(5)
    elif sys.argv[1] == "_exit":
        os._exit(6)
    elif sys.argv[1] == "raise":
        raise ValueError
    os.kill(os.getpid(), int(sys.argv[1]))
MPI.COMM_WORLD.Recv(bytearray(1), 1)
"""
TERM, SEGV = signal.SIGTERM, signal.SIGSEGV
LEFT = "left with exit code"
ENDS = (  # of rank 1: how, its exit code, in words
    ("return", 5, f"{LEFT} 5"),
    ("_exit", 6, f"{LEFT} 6"),
    ("raise", 1, f"{LEFT} 1"),
    (f"{TERM:d}", 128 + TERM, "was killed by SIGTERM"),
    (f"{SEGV:d}", 128 + SEGV, "was killed by SIGSEGV"),
)
IN_C_ENDS = tuple(end for end in ENDS if end[0] != "raise")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    path = tmp_path_factory.mktemp("departures") / "ends"
    path.with_suffix(".c").write_text(IN_C)
    subprocess.run([sys.executable, "-m", "lanai_sim", "mpicc", "-g", "-o", str(path), f"{path}.c"], check=True)
    return str(path)


def play(tmp_path, text, ranks=2, device="ideal", arguments=(), **options):
    program = tmp_path / "program.py"
    program.write_text(text)
    return Job((sys.executable, str(program), *arguments), ranks, device).but(**options).run(), program


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_an_exception(device, tmp_path, capfd):
    result, program = play(tmp_path, RAISES, 3, device)
    assert result.code == 1
    head, *lines = result.report.splitlines()
    assert head == f"rank 1 left by ValueError at {program}:3 and finalized; ranks 0, 2 wait for it"
    assert f"waits in MPI_Barrier at {program}:4" in lines[0]
    state = f"has left by ValueError at {program}:3 with exit code 1 and waits in MPI_Finalize"
    assert any(line.startswith("  rank 1 at ") and line.endswith(state) for line in lines)
    assert "circle" not in result.report
    assert "ValueError: boom" in capfd.readouterr().err


@pytest.mark.parametrize("fork", first_of(True, False))
def test_an_exit_code(tmp_path, fork):
    text = "import sys\nfrom mpi4py import MPI\nMPI.COMM_WORLD.rank or sys.exit(4)\nMPI.COMM_WORLD.recv(source=0)"
    result, _ = play(tmp_path, text, fork=fork)
    assert result.code == 4
    assert result.report.startswith("rank 0 left with exit code 4 and finalized; rank 1 waits for it\n")


@pytest.mark.parametrize(("how", "code"), first_of(("finally", 1), ("atexit", 1), ("except", 7)))
def test_a_program_that_finalizes_as_an_error_passes(tmp_path, capfd, how, code):
    result, program = play(tmp_path, FINALIZES, arguments=[how])
    assert result.code == code
    assert result.report.startswith(f"rank 0 left by ValueError at {program}:8 and finalized; rank 1 waits for it\n")
    assert ("Traceback" in capfd.readouterr().err) == (code == 1)  # it is printed behind MPI_Finalize


def test_a_module(tmp_path, monkeypatch):
    (tmp_path / "failing.py").write_text(RAISES)
    monkeypatch.chdir(tmp_path)
    result = Job((sys.executable, "-m", "failing"), 2).run()
    assert result.code == 1
    assert result.report.startswith("rank 1 left by ValueError at failing.py:3 and finalized; rank 0 waits for it\n")


def test_an_exception_that_no_rank_waits_for(tmp_path):
    result, program = play(tmp_path, "from mpi4py import MPI\nif MPI.COMM_WORLD.rank: raise KeyError(1)")
    assert result.code == 1
    assert result.report.startswith("rank 1 (pid ")
    assert result.report.endswith(f" exited with code 1, by KeyError at {program}:2")


@pytest.mark.parametrize("device", first_of("ideal", "mbcf"))
def test_a_rank_that_ends_well_does_not_complete_a_barrier(tmp_path, device, capfd):
    text = "from mpi4py import MPI\nif MPI.COMM_WORLD.rank:\n    MPI.COMM_WORLD.Barrier()\n    print('through')"
    result, program = play(tmp_path, text, device=device)
    assert result.code == Exit.DEADLOCK
    assert f"    rank 1 waits for rank 0 in MPI_Barrier at {program}:3\n" in result.report
    assert "through" not in capfd.readouterr().out


def test_headlines():
    assert standstill.headline([], []) == ""
    assert standstill.headline([Departure(0, "KeyError at a.py:1", 0)], []) == ""  # it did not end the program
    many = [Departure(rank, "", 5) for rank in range(10)]
    head = standstill.headline(many, [RankState(rank, 0, "") for rank in range(10)])
    assert head.startswith("rank 0 left with exit code 5 and finalized; rank 1 left")
    assert head.endswith("; so did 2 more")


def check_finalized(result, code, said):
    assert result.code == code
    head, _, own, *_ = result.report.splitlines()
    assert head == f"rank 1 finalized and {said}; ranks 0, 2 wait for it"
    assert own.startswith("  rank 1 at ")
    assert ": waits in MPI_Finalize at " in own
    assert own.endswith(f", and then {said}")


@pytest.mark.parametrize("device", first_of("ideal", "mpi-np"))
@pytest.mark.parametrize(("how", "code", "said"), first_of(*IN_C_ENDS))
def test_a_compiled_program_that_finalizes_and_fails(compiled, device, how, code, said):
    check_finalized(Job((compiled, how, "finalize"), 3, device, max_wall=300).run(), code, said)


@pytest.mark.parametrize(("how", "code", "said"), first_of(*ENDS))
def test_a_python_program_that_finalizes_and_fails(tmp_path, how, code, said):
    result, _ = play(tmp_path, IN_PYTHON, 3, arguments=[how, "finalize"], max_wall=300)
    check_finalized(result, code, said)


@pytest.mark.parametrize(("how", "code", "said"), first_of(*IN_C_ENDS))
def test_a_compiled_program_that_fails(compiled, how, code, said):
    result = Job((compiled, how), 3, max_wall=300).run()
    assert result.code == code
    assert result.report.startswith("rank 1 (pid ")
    assert said.replace("left with exit", "exited with").replace("was ", "") in result.report


@pytest.mark.parametrize(("how", "code", "said"), first_of(*ENDS))
def test_a_python_program_that_fails(tmp_path, how, code, said):
    result, _ = play(tmp_path, IN_PYTHON, 3, arguments=[how], max_wall=300)
    assert result.code == code


def test_a_program_that_finalizes_and_ends_well_is_in_a_deadlock(tmp_path):
    result, _ = play(tmp_path, IN_PYTHON.replace("exit(5)", "exit(0)"), 3, arguments=["return", "finalize"])
    assert result.code == Exit.DEADLOCK
    assert "circle of waits" in result.report


# Ranks that end without MPI_Finalize: what they owe to the others decides how the run ends.


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


def play_death(tmp_path, device, *arguments):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    return Job((sys.executable, str(program), *arguments), 3, device).run(), program


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_a_rank_that_owes_nothing(device, tmp_path, capfd):
    result, _ = play_death(tmp_path, device)
    assert (result.code, result.report) == (0, "")
    assert result.notes == ("warning: rank 1 ended without MPI_Finalize; MPI demands that each rank calls it",)
    assert sorted(capfd.readouterr().out.splitlines()) == ["done 0", "done 2", "here 0", "here 1", "here 2"]


def test_the_exit_codes_of_the_others_count(tmp_path):
    result, _ = play_death(tmp_path, "ideal", "fails")
    assert result.code == 6


def test_a_rank_that_is_waited_for(tmp_path):
    result, program = play_death(tmp_path, "ideal", "waits")
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
