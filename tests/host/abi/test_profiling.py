"""Profiling: a tool that defines MPI's functions itself and calls the library's by their PMPI_
names."""

import pytest
from mpi_headers import read

from .jobs import CLI, C, alone, mpicc, together

MPI_1_2 = [f"MPI_{name}" for name in (C / "mpi12.txt").read_text().split()]
# Together they call every function of MPI-1.2.
PROGRAMS = [
    "collectives",
    "communicators",
    "datatypes",
    "environment",
    "numbers",
    "point_to_point",
    "strings",
    "topologies",
]
COUNTER = """
#include <mpi.h>
#include <stdio.h>
static struct { const char *name; long calls; } counted[%d];
__attribute__((destructor)) static void tell(void) {
    for (unsigned i = 0; i < sizeof counted / sizeof *counted; i++)
        if (counted[i].calls) fprintf(stderr, "called %%s\\n", counted[i].name);
}
"""


def wrapper(number, function):
    """C text of a function that counts its calls and goes on in the library."""
    passed = ", ".join(parameter.name for parameter in function.parameters)
    count = f'counted[{number}].name = "{function.name}"; counted[{number}].calls++;'
    return f"{function.declaration} {{ {count} return P{function.name}({passed}); }}"


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    functions = read("mpi.h").functions
    wrappers = [wrapper(number, functions[name]) for number, name in enumerate(MPI_1_2)]
    source = tmp_path_factory.mktemp("shim") / "shim.c"
    source.write_text("\n".join([COUNTER % len(MPI_1_2), *wrappers, ""]))
    return source


@pytest.fixture(scope="module")
def calls(shim):
    """The functions that each program called through the shim, which is linked into it."""
    found = {}
    for name in PROGRAMS:
        program = str(shim.with_name(name))
        mpicc("-O0", "-w", str(C / f"{name}.c"), str(shim), "-o", program)
        done = together(2, program)
        assert done.stdout == "all right\n", done.stderr
        found[name] = {line.removeprefix("called ") for line in done.stderr.splitlines() if line.startswith("called ")}
    return found


@pytest.mark.ci
def test_a_shim_wraps_every_function_of_mpi_1_2(calls):
    by_any = set().union(*calls.values())
    # The program ends in MPI_Abort; MPI_Pcontrol is for shims alone.
    assert set(MPI_1_2) - by_any <= {"MPI_Abort", "MPI_Pcontrol"}


@pytest.mark.ci
def test_the_library_does_not_call_itself_through_the_shim(calls):
    """MPI_Sendrecv, collectives and MPI_Finalize are one call each for the tool, whatever they are
    made of."""
    assert "MPI_Isend" not in calls["collectives"]


def test_a_preloaded_shim_works_too(shim, tmp_path):
    library, program = str(tmp_path / "shim.so"), str(tmp_path / "program")
    mpicc("-w", "-shared", "-fPIC", str(shim), "-o", library)
    mpicc("-w", str(C / "numbers.c"), "-o", program)
    done = alone(program, LD_PRELOAD=library)
    assert done.stdout == "all right\n", done.stderr
    assert "called MPI_Finalize" in done.stderr


def test_every_function_has_its_pmpi_name():
    """Every function that the header declares as MPI_X can be called as PMPI_X."""
    functions = [name for name in read("mpi.h").functions if name.startswith(("MPI_", "MPIX_"))]
    text = f"""if True:
        import ctypes, os
        library = ctypes.CDLL(os.environ["MPI4PY_LIBMPI"] + "/libmpi.so.12")
        for name in {functions!r}:
            own, profiled = (ctypes.cast(getattr(library, form), ctypes.c_void_p).value for form in (name, "P" + name))
            assert own == profiled, name
        """
    done = alone(CLI[0], "-c", text)
    assert done.returncode == 0, done.stderr
