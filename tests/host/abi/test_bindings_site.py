"""A program that calls MPI by bindings in another library, as Fortran does: its own lines are named, not those of the
bindings."""

import subprocess

import pytest
from warm import lanai

from lanai_host.abi.wrappers import WRAPPERS, line

BINDINGS = """
#include <mpi.h>
void mpi_barrier_(void);
__attribute__((noinline)) static void inner(void) { MPI_Barrier(MPI_COMM_WORLD); __asm__(""); }
void mpi_barrier_(void) { inner(); __asm__(""); }
"""
PROGRAM = """#include <mpi.h>
void mpi_barrier_(void);
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank) mpi_barrier_();
    return MPI_Finalize();
}
"""


@pytest.mark.parametrize(("library", "place"), [("libmpifort", "program.c:7"), ("libother", "bindings.c:4")])
def test_lines(tmp_path, library, place):
    (tmp_path / "bindings.c").write_text(BINDINGS)
    (tmp_path / "program.c").write_text(PROGRAM)
    made = tmp_path / f"{library}.so"
    for source, words in (("bindings.c", ["-shared", "-fPIC", "-o", made]), ("program.c", ["-o", "program", made])):
        command = line(WRAPPERS["mpicc"], ["-g", str(tmp_path / source), *map(str, words)]).command
        subprocess.run(command, check=True, cwd=tmp_path, timeout=60)
    done = lanai("run", "-n", 2, "--device", "ideal", "--", tmp_path / "program", timeout=60)
    assert f"MPI_Barrier at {place}" in done.stderr
