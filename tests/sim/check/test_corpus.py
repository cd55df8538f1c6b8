"""Every program of the corpus: each wrong one is found, with the right class and line, and no right one is blamed."""

import json
from pathlib import Path

import pytest
from warm import lanai

from lanai_host.abi import wrappers
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError

from .programs import has_compiler, programs
from .test_findings import agrees, checked

PAGE = Path(__file__).parents[3] / "docs" / "check.md"
ALL = programs()
RIGHT = sum(one.right for one in ALL)
EACH = 12  # programs of a test


def test_half_of_the_programs_are_right():
    assert len(ALL) >= 400
    assert len(ALL) <= 2 * RIGHT


def test_the_page_tells_what_these_tests_hold(request):
    wrong = len(ALL) - RIGHT
    told = (
        f"`lanai check` blames 0 of the {RIGHT} right programs of its corpus and finds {wrong} of {wrong} wrong ones, "
        "each with the right class and line.\n"
    )
    page = PAGE.read_text()
    shown = next(line for line in page.splitlines(keepends=True) if line.startswith("`lanai check` blames"))
    if request.config.getoption("--refresh-docs"):
        PAGE.write_text(page.replace(shown, told))
    else:
        assert shown == told


@pytest.mark.ci
@pytest.mark.skipif(not has_compiler(), reason="no C compiler")
@pytest.mark.parametrize("part", range(0, len(ALL), EACH))
def test_corpus(tmp_path, part):
    wrong = []
    for number, program in enumerate(ALL[part : part + EACH]):
        folder = tmp_path / str(number)
        folder.mkdir()
        done, document = checked(program, folder)
        if not agrees(program, document) or (program.right and done.returncode):
            wrong.append((program.name, done.returncode, done.stderr))
    assert wrong == []


# Loads and stores of C++ and Fortran, with the lines of the program on both sides.


CXX = """#include <mpi.h>
#include <algorithm>
#include <memory>
#include <vector>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<double> a(100, 1.0);
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(a.data(), 100, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
        {does};
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(a.data(), 100, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
}
"""
FORTRAN = """program p
  {module}
  implicit none
  {request} :: request
  integer :: rank
  double precision :: a(100)
  call MPI_Init({last})
  call MPI_Comm_rank(MPI_COMM_WORLD, rank{comma})
  a = 1
  if (rank == 0) then
    call MPI_Isend(a, 100, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD, request{comma})
    a(4) = {value}
    call MPI_Wait(request, MPI_STATUS_IGNORE{comma})
  else
    call MPI_Recv(a, 100, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE{comma})
  end if
  call MPI_Finalize({last})
end program
"""


def findings(tmp_path, name, text, *options):
    (tmp_path / name).write_text(text)
    out = tmp_path / "found.json"
    done = lanai("check", "-n", 2, "--once", *options, "--json", out, "--", tmp_path / name, timeout=500)
    assert done.returncode in (0, 10), done.stderr
    return [(one["class"], one["lines"]) for one in json.loads(out.read_text())["findings"]]


def needs(language):
    try:
        find(language)
        if language is Language.FORTRAN:
            wrappers.bindings()
            wrappers.fortran_includes()
    except UserError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        ("for (auto &x : a) x = 7", "buffer-modified"),
        ("std::fill(a.begin(), a.begin() + 3, 7)", "buffer-modified"),  # in a header of the system
        ("std::vector<double>().swap(a)", "buffer-freed"),
        ("std::make_unique<std::vector<double>>(100)", ""),
    ],
)
def test_cxx(tmp_path, does, expected):
    needs(Language.CXX)
    found = findings(tmp_path, "a.cpp", CXX.replace("{does}", does))
    assert found == ([(expected, ["a.cpp:12", "a.cpp:13"])] if expected else [])


ALLOCATES = """#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int n = 1; n < 20000; n *= 3) {
        double *a = calloc(n, sizeof *a);
        MPI_Bcast(a, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Bcast(a, n + (n == 27), MPI_DOUBLE, 0, MPI_COMM_WORLD);
        free(a);
    }
    MPI_Finalize();
}
"""


@pytest.mark.parametrize("device", ["ideal", "mbcf"])  # the C library's heap, and that of ranks on NICs
def test_allocated_memory_has_bounds(tmp_path, device):
    needs(Language.C)
    assert findings(tmp_path, "a.c", ALLOCATES, "--device", device) == [("buffer-size", ["a.c:8"])]


def test_allocated_arrays_of_fortran_have_bounds(tmp_path):
    needs(Language.FORTRAN)
    text = """program main
  use mpi
  integer :: error
  double precision, allocatable :: a(:)
  call MPI_Init(error)
  allocate(a(50))
  a = 0
  call MPI_Bcast(a, 50, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call MPI_Bcast(a, 51, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  deallocate(a)
  call MPI_Finalize(error)
end program
"""
    assert findings(tmp_path, "a.f90", text) == [("buffer-size", ["a.f90:9"])]


def test_vectors_have_bounds(tmp_path):
    needs(Language.CXX)
    text = CXX.replace("{does};", "").replace("a.data(), 100, MPI_DOUBLE, 1", "a.data() + 1, 100, MPI_DOUBLE, 1")
    assert findings(tmp_path, "a.cpp", text) == [("buffer-size", ["a.cpp:12"])]


@pytest.mark.parametrize("module", ["mpi", "mpi_f08"])
def test_fortran(tmp_path, module):
    needs(Language.FORTRAN)
    text = FORTRAN.replace("{module}", f"use {module}").replace("{value}", "7")
    if module == "mpi":
        text = text.replace("integer :: rank", "integer :: rank, error").replace("{request}", "integer")
        text = text.replace("{last}", "error").replace("{comma}", ", error")
    else:
        text = text.replace("{request}", "type(MPI_Request)").replace("{last}", "").replace("{comma}", "")
    assert findings(tmp_path, "a.f90", text) == [("buffer-modified", ["a.f90:11", "a.f90:12"])]
