"""Errors and excesses of programs, and the messages that they get."""

import re
import sys
from types import SimpleNamespace

import pytest
from pairs import first_of

from lanai_host.errors import say

from .jobs import alone, mpicc, together

pytest.importorskip("mpi4py")
HEAD = """
import sys, os
import numpy as np
from mpi4py import MPI
w = MPI.COMM_WORLD
a, b = np.zeros(4), np.zeros(4)
"""


def python(ranks, text, **options):
    return together(ranks, "python", "-c", HEAD + text, **options)


def test_collectives_that_wait_for_each_other_are_named():
    done = python(2, "w.Allreduce(a, b) if w.rank == 0 else w.Barrier()")
    assert done.returncode == 3
    assert "rank 0 at" in done.stderr
    assert "collective 1 on MPI_COMM_WORLD, for all of rank 1" in done.stderr
    assert "collective 1 on MPI_COMM_WORLD, for all of rank 0" in done.stderr


def test_collectives_that_end_without_each_other_are_named_at_the_end():
    done = python(2, "w.Bcast(a, 0) if w.rank == 0 else w.Reduce(a, b, root=0)")
    assert done.returncode == 1
    told = (
        r"rank [01]: MPI_Finalize: rank [01] sent a message of MPI_(Bcast|Reduce) \(collective 1\) on "
        r"MPI_COMM_WORLD, but"
    )
    assert re.search(told, done.stderr)  # the first rank that fails ends the job


def test_roots_that_differ():
    done = python(2, "w.Bcast(a, root=w.rank)")
    assert done.returncode == 1
    assert "MPI_Bcast (collective 1) on MPI_COMM_WORLD" in done.stderr


def test_counts_that_differ():
    done = python(2, "n = 2 + 2 * w.rank\nw.Allreduce(a[:n], b[:n])")
    assert done.returncode != 0
    assert "MPI_Allreduce: rank 0 sent 16 bytes where rank 1 expects 32" in done.stderr


def test_exit_without_finalize():
    done = python(2, "w.Barrier()\nif w.rank == 1: os._exit(0)\nw.recv(source=1)")
    assert done.returncode == 1
    assert "rank 1" in done.stderr
    assert "without MPI_Finalize" in done.stderr


ON_BOTH = ["ideal", pytest.param("mpi-np", marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]


@pytest.mark.parametrize("device", ON_BOTH)
def test_ten_thousand_outstanding_requests(device):
    text = """
n = 10_000
out, got = np.arange(n), np.zeros(n, int)
requests = [w.Irecv(got[i:i + 1], 1 - w.rank, i) for i in range(n)]
requests += [w.Isend(out[i:i + 1], 1 - w.rank, i) for i in range(n)]
MPI.Request.Waitall(requests)
assert (got == out).all()
print(got.sum())
"""
    done = python(2, text, device=device, timeout=1700)
    assert done.stdout == "49995000\n" * 2, done.stderr


@pytest.mark.parametrize("device", ON_BOTH)
def test_nothing_and_more_than_two_gigabytes(device):
    """0 bytes, and three integers of which each lies a gigabyte after the one before."""
    text = """
far = MPI.INT.Create_resized(0, 1 << 30).Commit()
status = MPI.Status()
if w.rank == 0:
    field = np.zeros(3 << 28, np.int32)  # pages that are never touched take no memory
    field[[0, 1 << 28, 2 << 28]] = 7, 8, 9
    w.Send([field, 3, far], 1, 0)
    w.Send([field, 0, MPI.INT], 1, 1)
else:
    near = np.zeros(3, np.int32)
    w.Recv(near, 0, 0, status)
    print(near, status.Get_count(MPI.INT), status.Get_elements(far))
    w.Recv([None, 0, MPI.INT], 0, 1, status)
    print(status.Get_count(MPI.INT))
"""
    done = python(2, text, device=device, timeout=1700)
    assert done.stdout == "[7 8 9] 3 3\n0\n", done.stderr


def test_a_count_that_fits_no_int_is_undefined():
    text = """
big = MPI.INT.Create_vector(1 << 20, 1 << 12, 1 << 13)
assert big.Get_size() == 1 << 34, big.Get_size()
assert MPI.INT.Create_contiguous(1 << 30).Get_extent() == (0, 1 << 32)
"""
    done = python(1, text)
    assert done.returncode == 0, done.stderr


def test_arguments_are_named_with_their_values():
    text = """
for call in (
    lambda: w.Send(a, 2, 0),
    lambda: w.Send(a, 0, -5),
    lambda: w.Recv(a, 7, 0),
    lambda: w.Bcast(a, 3),
    lambda: w.Send([a, 1, MPI.INT.Create_vector(2, 1, 2)], 1),
    lambda: w.Create_cart([3]),
    lambda: w.Split(-3, 0),
):
    try:
        call()
    except MPI.Exception as error:
        print(error)
"""
    done = python(2, text, options=["--prefix"])
    told = [line.removeprefix("[1] ") for line in done.stdout.splitlines() if line.startswith("[1]")]
    assert told[0] == "MPI_Send: dest is 2; it must be MPI_PROC_NULL or from 0 to 1"
    assert told[1].startswith("MPI_Send: tag is -5; it must be from 0 to ")
    assert told[2] == "MPI_Recv: source is 7; it must be MPI_PROC_NULL, MPI_ANY_SOURCE or from 0 to 1"
    assert told[3] == "MPI_Bcast: root is 3; it must be from 0 to 1"
    assert told[4] == "MPI_Send: the datatype '' is not committed"
    assert told[5] == "MPI_Cart_create: a grid of [3] needs 3 processes, the communicator has 2"
    assert told[6].startswith("MPI_Comm_split: color is -3; it must be ")
    assert len(told) == 7


@pytest.mark.parametrize("level", ["single", "funneled"])
def test_another_thread_than_the_first_needs_the_level(level):
    text = f"""
import mpi4py, threading
mpi4py.rc.thread_level = {level!r}
from mpi4py import MPI
def other():
    assert not MPI.Is_thread_main() and MPI.Query_thread() < MPI.THREAD_SERIALIZED and MPI.Wtime() >= 0
    try:
        MPI.COMM_WORLD.Send(b"x", 0)
    except MPI.Exception as error:
        print(error)
thread = threading.Thread(target=other)
thread.start()
thread.join()
MPI.COMM_WORLD.Barrier()
"""
    done = together(2, "python", "-c", text)
    told = (
        r"MPI_(Send|Type_get_extent_c): called from another thread than the one that called MPI_Init, which MPI_THREAD_"
        rf"{level.upper()} does not allow; ask MPI_Init_thread for MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE\n"
    )
    assert re.fullmatch(f"({told}){{2}}", done.stdout), done.stdout + done.stderr
    assert done.returncode == 0


def test_threads_may_call_in_turns_at_the_level_for_that():
    text = """
import mpi4py, threading
mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI
w = MPI.COMM_WORLD
def other():
    w.Send(bytes([w.rank]), 1 - w.rank)
thread = threading.Thread(target=other)
thread.start()
thread.join()
got = bytearray(1)
w.Recv(got, 1 - w.rank)
print(w.rank + got[0])
"""
    done = together(2, "python", "-c", text)
    assert (done.stdout, done.returncode) == ("1\n1\n", 0), done.stderr


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_abort_ends_ranks_that_do_something_else(device):
    """No rank waits for one that sleeps, or computes on."""
    text = """
import time
if w.rank == 0:
    w.Abort(9)
time.sleep(10_000)
"""
    done = python(2, text, device=device, timeout=500)
    assert done.returncode == 9, done.stderr
    assert "MPI_Abort on MPI_COMM_WORLD with code 9" in done.stderr


LINES = """\
#include <mpi.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int x = 0;
    MPI_Comm copy;
    if (!strcmp(argv[1], "early")) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (strcmp(argv[1], "close")) MPI_Send(&x, 1, MPI_INT, 7, 0, copy);
    for (int file = 3; file < 256; file++) close(file);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "lines"
    path.with_suffix(".c").write_text(LINES)
    mpicc("-g", f"{path}.c", "-o", str(path))
    return path


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("early", "lanai: error: MPI_Barrier: called before MPI_Init at lines.c:7\n"),
        (
            "later",
            "rank 0: MPI_Send: dest is 7; it must be MPI_PROC_NULL or from 0 to 0 (on {}, at lines.c:10)\n",
        ),
    ],
)
def test_an_error_that_ends_the_job_names_its_source_line(lines, when, said):
    assert alone(str(lines), when).stderr == said.format("communicator 2 of MPI_Comm_dup")


@pytest.mark.parametrize("device", first_of("ideal", "mbcf", "mpi-np"))
def test_a_message_that_is_too_long_tells_its_size(device):
    done = python(2, "w.Send(np.ones(8), 0) if w.rank else w.Recv(b, 1)", device=device)
    assert "longer than the receive buffer of 32 bytes (it has 64 bytes)\n" in done.stderr


@pytest.mark.parametrize("device", first_of("ideal", "mpi-np"))
def test_a_program_that_closes_descriptors_of_the_library(device):
    done = python(2, "os.closerange(3, 256)\nw.Barrier()", device=device)
    assert done.returncode == 1
    assert "MPI_Finalize: this MPI library cannot use its file descriptor" in done.stderr
    assert "close only descriptors that the program has opened" in done.stderr
    assert "internal error" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_c_program_that_closes_descriptors_ends_at_once(lines):
    done = together(2, str(lines), "close")
    assert done.returncode == 15  # the error's class
    told = done.stderr.splitlines()
    assert len([line for line in told if "close only descriptors that the program has opened (at lines.c:" in line]) > 0
    assert all(line.startswith(("rank ", "lanai: rank ")) for line in told), done.stderr


ERROR = """\
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    printf("before\\n");
    close(1);
    close(2);
    MPI_Send(&argc, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
    return 0;
}
"""


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    path = tmp_path_factory.mktemp("closed") / "closed"
    path.with_suffix(".c").write_text(ERROR)
    mpicc(f"{path}.c", "-o", str(path))
    return str(path)


def test_an_error_ends_the_job_where_the_program_has_closed_its_output(closed):
    assert alone(closed).returncode == 6  # the error's class
    done = together(2, closed)
    assert done.returncode == 6
    assert "aborted with code 6" in done.stderr


def test_what_threads_say_at_once_is_in_lines_of_its_own(monkeypatch):
    """Each text comes with its end in one piece: another thread may write between two."""
    written = []
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=written.append, flush=lambda: None))
    say("rank 0: one")
    say("rank 0: another")
    assert [text for text in written if text] == ["rank 0: one\n", "rank 0: another\n"]
