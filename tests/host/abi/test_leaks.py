"""`lanai run --report-leaks`: what a program has left behind, by rank and kind."""

import pytest
from warm import lanai

from .jobs import C, mpicc, together


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("leaks") / "leaks"
    mpicc("-g", str(C / "leaks.c"), "-o", str(path))
    return str(path)


def test_leaks_are_told_when_asked(program):
    done = together(2, program, options=["--report-leaks"])
    assert done.returncode == 0
    both = [
        "communicator kept, made at leaks.c:16, was not freed",
        "a datatype of 12 bytes (vector), made at leaks.c:18, was not freed",
        "a group of 2 processes, made at leaks.c:19, was not freed",
        "an error handler, made at leaks.c:20, was not freed",
        "an attribute key, made at leaks.c:21, was not freed",
    ]
    second = [
        "a message of 4 bytes from rank 0 with tag 9 on MPI_COMM_WORLD was never received",
        "a request of MPI_Irecv with rank 0, tag 33, made at leaks.c:23, was not freed",
    ]
    expected = [f"lanai: leak: rank {rank}: {text}" for rank in (0, 1) for text in both]
    expected += [f"lanai: leak: rank 1: {text}" for text in second]
    assert sorted(done.stderr.splitlines()) == sorted(expected)


def test_and_not_otherwise(program):
    done = together(2, program)
    assert (done.stdout, done.stderr) == ("all right\n", "")


def test_a_run_counts_them_in_one_line():
    text = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.allreduce(1); w.Dup(); MPI.INT.Dup()"
    done = lanai("run", "-n", 2, "python", "-c", text, timeout=60)
    (line,) = [line for line in done.stderr.splitlines() if "not freed" in line]
    assert line.startswith("lanai: not freed when MPI ended: 2 communicators, 2 datatypes (")


def test_a_file_that_was_not_closed_is_told(tmp_path):
    text = f"from mpi4py import MPI; MPI.File.Open(MPI.COMM_WORLD, {str(tmp_path / 'file')!r}, 9)"
    done = together(2, "python", "-c", text, options=["--report-leaks"])
    told = f"the file {str(tmp_path / 'file')!r}, made at <string>:1, was not freed"
    assert sorted(done.stderr.splitlines()) == [f"lanai: leak: rank {rank}: {told}" for rank in (0, 1)]


def test_requests_and_communicators_can_be_told_apart():
    text = """
from mpi4py import MPI
world = MPI.COMM_SELF.Dup()
kept = world.Split()
requests = [world.Isend(b"done", 0, tag) for tag in (5, 5, 6)]
world.Recv(bytearray(4), 0, 5)
"""
    done = together(1, "python", "-c", text, options=["--report-leaks"])
    copy = "communicator 2 of MPI_Comm_dup"
    told = [
        f"{copy}, made at <string>:3, was not freed",
        "communicator 3 of MPI_Comm_split, made at <string>:4, was not freed",
        f"a message of 4 bytes from rank 0 with tag 5 on {copy} was never received",
        f"a message of 4 bytes from rank 0 with tag 6 on {copy} was never received",
        "a request of MPI_Isend with rank 0, tag 5, made at <string>:5, was not freed (2 times)",
        "a request of MPI_Isend with rank 0, tag 6, made at <string>:5, was not freed",
    ]
    assert done.stderr.splitlines() == [f"lanai: leak: rank 0: {text}" for text in told]
