"""A stray message on a rank's socket, not from the library, ends the run in one line."""

import signal
import socket
import subprocess
import sys
import threading

import pytest
from pairs import first_of

from lanai_host.simulator.protocol import HEADER, Op
from lanai_sim.job.rank import Rank, Stray, crash_place
from lanai_sim.job.result import Exit
from openlanai import Job

PRINTF = b"hello world, printed to a wrong descriptor\n"


@pytest.mark.parametrize(
    "data",
    [PRINTF, HEADER.pack(0, 77, 0, 0), HEADER.pack(0, Op.POSTED_LAST, 0, 0), HEADER.pack(0, Op.SYNC, 1, 0)],
    ids=["text", "unknown", "none", "flags"],
)
def test_bytes_that_are_not_a_request(data):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        rank = Rank(3, ours)
        theirs.sendall(HEADER.pack(0, Op.ELAPSE, 0, 5) + data)
        with pytest.raises(Stray, match="rank 3: bytes that are not the MPI library's") as caught:
            rank.read()
        assert repr(data[: HEADER.size]) in str(caught.value)
        assert rank.gone


def test_nothing_counts_that_comes_after_an_abort():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        rank = Rank(0, ours)
        abort = HEADER.pack(4, Op.ABORT, 0, 0) + bytes(4)
        theirs.sendall(HEADER.pack(0, Op.ELAPSE, 0, 5) + abort + abort + PRINTF)
        assert [one.op for one in rank.read()] == [Op.ELAPSE, Op.ABORT]
        theirs.sendall(abort)
        assert rank.read() is None
        theirs.close()
        assert rank.read() is None
        assert rank.gone


def test_a_rank_that_says_something_again_and_again_holds_nobody():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        rank = Rank(0, ours)
        heard, enough = [], threading.Event()
        rank.heard = lambda rank: (heard.append(rank.polls), len(heard) > 5000 and enough.set())

        def poll():
            while not enough.wait(0.001):
                theirs.sendall(HEADER.pack(1, Op.POLLS, 0, 0) + b"x")

        thread = threading.Thread(target=poll)
        thread.start()
        assert rank.read(0) is None
        assert heard
        assert not enough.is_set()  # it polls still
        enough.set()
        thread.join()


@pytest.mark.parametrize("device", first_of("ideal", "mpi-np"))
def test_a_program_that_writes_to_a_wrong_descriptor(device):
    text = f"""
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank:
    for file in range(3, 32):
        try:
            if os.readlink(f"/proc/self/fd/{{file}}").startswith("socket:"):
                os.write(file, {PRINTF!r})
        except OSError:
            pass
world.Barrier()
"""
    result = Job((sys.executable, "-c", text), 2, device, max_wall=300).run()
    assert result.code == Exit.FORBIDDEN
    assert result.report.startswith("rank 1: bytes that are not the MPI library's came on its connection to lanai")
    assert "\n" not in result.report


# Programs that a signal kills: the report names the source line.


PROGRAM = """\
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *nowhere;
static int deep(int n) { volatile char room[4096]; room[0] = n; return deep(n + 1) + room[0]; }
static void handler(int number) { _exit(number - SIGSEGV + 5); }
int main(int argc, char **argv) {
    int rank, x = 0;
    if (!strcmp(argv[1], "early")) signal(SIGSEGV, handler);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[1], "late")) signal(SIGSEGV, handler);
    if (!strcmp(argv[1], "after") && !MPI_Finalize()) return rank ? (*nowhere = 1) : 0;
    if (rank == 1) {
        if (!strcmp(argv[1], "library")) memset(nowhere, 1, 1000 + rank);
        if (!strcmp(argv[1], "deep")) return deep(0);
        if (!strcmp(argv[1], "abort")) abort();
        if (!strcmp(argv[1], "child") && fork() == 0) *nowhere = 1;
        if (!strcmp(argv[1], "child")) _exit(6);
        *nowhere = 1;
    }
    MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
"""
SEGV = 128 + signal.SIGSEGV


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("crash") / "crash"
    path.with_suffix(".c").write_text(PROGRAM)
    command = [sys.executable, "-m", "lanai_sim", "mpicc", "-g", "-O0", "-w", "-o", str(path), f"{path}.c"]
    subprocess.run(command, check=True)
    return path


@pytest.mark.parametrize(
    ("how", "device", "code", "said"),
    first_of(
        ("write", "ideal", SEGV, "killed by SIGSEGV at crash.c:22"),
        ("write", "mpi-np", SEGV, "killed by SIGSEGV at crash.c:22"),
        ("library", "ideal", SEGV, "killed by SIGSEGV at crash.c:17"),
        ("after", "ideal", SEGV, "killed by SIGSEGV at crash.c:15"),
        ("after", "mpi-np", SEGV, "killed by SIGSEGV at crash.c:15"),
        ("deep", "ideal", SEGV, "killed by SIGSEGV at crash.c:7"),
        ("abort", "ideal", 128 + signal.SIGABRT, "killed by SIGABRT at crash.c:19"),
        ("early", "ideal", 5, "exited with code 5"),  # the program's own handlers stay
        ("late", "ideal", 5, "exited with code 5"),
        ("child", "ideal", 6, "exited with code 6"),  # a process of its own is none of the rank's
    ),
)
def test_compiled_programs(program, how, device, code, said):
    result = Job((str(program), how), 2, device, max_wall=300).run()
    assert result.code == code
    assert result.report.startswith("rank 1 (pid ")
    assert result.report.endswith(said)


@pytest.mark.parametrize("fails", first_of("import ctypes; ctypes.string_at(0)", "import os; os.abort()"))
def test_python_programs(tmp_path, fails):
    script = tmp_path / "crash.py"
    script.write_text(f"from mpi4py import MPI\nif MPI.COMM_WORLD.rank:\n    {fails}\nMPI.COMM_WORLD.Barrier()\n")
    result = Job((sys.executable, str(script)), 2, max_wall=300).run()
    assert result.code > 128
    assert result.report.endswith(f" at {script}:3")


def test_what_is_cut_short_names_no_place():
    assert crash_place(1, b"") == ""
    assert crash_place(0, b"\0" * 8) == ""
