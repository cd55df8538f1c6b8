"""`lanai run --report-leaks`: what a program has left behind, by rank and kind."""

import pytest

from .jobs import C, mpicc, together


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("leaks") / "leaks"
    mpicc(str(C / "leaks.c"), "-o", str(path))
    return str(path)


def test_leaks_are_told_when_asked(program):
    done = together(2, program, options=["--report-leaks"])
    assert done.returncode == 0
    both = [
        "communicator kept was not freed",
        "a datatype of 12 bytes (vector) was not freed",
        "a group of 2 processes was not freed",
    ]
    second = [
        "a message of 4 bytes from rank 0 with tag 9 on MPI_COMM_WORLD was never received",
        "a request of MPI_Irecv with rank 0, tag 33 was not freed",
    ]
    expected = [f"lanai: leak: rank {rank}: {text}" for rank in (0, 1) for text in both]
    expected += [f"lanai: leak: rank 1: {text}" for text in second]
    assert sorted(done.stderr.splitlines()) == sorted(expected)


def test_and_not_otherwise(program):
    done = together(2, program)
    assert (done.stdout, done.stderr) == ("all right\n", "")


def test_a_file_that_was_not_closed_is_told(tmp_path):
    text = f"from mpi4py import MPI; MPI.File.Open(MPI.COMM_WORLD, {str(tmp_path / 'file')!r}, 9)"
    done = together(2, "python", "-c", text, options=["--report-leaks"])
    told = [f"lanai: leak: rank {rank}: the file {str(tmp_path / 'file')!r} was not freed" for rank in (0, 1)]
    assert sorted(done.stderr.splitlines()) == told
