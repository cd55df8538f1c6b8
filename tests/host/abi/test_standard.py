"""Programs of the MPI-5 standard ABI: C programs linked with libmpi_abi.so.1, which ABI a
program gets, and its numbers."""

import pytest
from mpi_headers import read

from lanai_hdl.machine import COUNTER_NAMES, host_offset
from lanai_host.abi import library_directory
from lanai_host.abi.flavor import MPICH, STANDARD
from lanai_host.abi.numbers import Numbers, Stray
from lanai_host.abi.programs import environment, flavor_of
from lanai_host.abi.symbols import check_process
from lanai_host.errors import UserError
from lanai_host.mpi.constants import ANY_SOURCE, ANY_TAG, PROC_NULL, ThreadLevel
from lanai_host.mpi.errors import ErrorClass
from lanai_sim.job.request import Forbidden, Grant

from .jobs import CLI, C, alone, mpicc, together

PROGRAMS = ["collectives", "communicators", "files", "numbers", "one_sided", "point_to_point", "tools", "topologies"]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """C programs of the standard ABI, compiled with `lanai mpicc -mpi-abi`, by name."""
    directory = tmp_path_factory.mktemp("standard")
    for name in PROGRAMS:
        mpicc("-mpi-abi", "-O1", str(C / f"{name}.c"), "-o", str(directory / name))
    return {name: directory / name for name in PROGRAMS}


@pytest.mark.parametrize("name", PROGRAMS)
def test_c_program(compiled, name):
    done = together(3, str(compiled[name]))
    assert done.stdout == "all right\n", done.stderr
    assert done.returncode == 0


def test_by_itself_it_is_a_world_of_one(compiled):
    done = alone(str(compiled["numbers"]))
    assert done.stdout == "all right\n", done.stderr


def test_a_program_gets_the_abi_it_was_linked_for(compiled, tmp_path):
    assert flavor_of(compiled["numbers"]) is STANDARD
    wanted = environment(compiled["numbers"])
    assert wanted["MPI4PY_MPIABI"] == "mpiabi"
    assert wanted["LD_LIBRARY_PATH"].startswith(str(library_directory("abi")))
    script = tmp_path / "a.sh"
    script.write_text("#!/bin/sh\n")
    assert flavor_of(script) is MPICH


def test_two_mpi_libraries_in_one_process_are_refused(tmp_path):
    ours = tmp_path / "ours" / "libmpi.so.12"
    for path in (ours, tmp_path / "other" / "libmpi.so.12"):
        path.parent.mkdir()
        path.write_text("")
    maps = tmp_path / "maps"
    line = "7f00-7f10 r-xp 00000000 08:01 123                        "
    maps.write_text(f"{line}{ours}\n{line}/lib/libmpi_helper.so\n{line}[heap]\n")
    check_process("libmpi.so.12", ours.parent, maps)
    maps.write_text(f"{line}{ours}\n{line}{tmp_path}/other/libmpi.so.12\n")
    with pytest.raises(UserError, match=r"two MPI libraries, .*ours/libmpi.so.12 and .*other/libmpi.so.12"):
        check_process("libmpi.so.12", ours.parent, maps)


def test_both_of_ours_in_one_process_are_refused_too():
    text = (
        f"import ctypes; ctypes.CDLL({str(library_directory() / MPICH.soname)!r});"
        f"ctypes.CDLL({str(library_directory('abi') / STANDARD.soname)!r}).MPI_Init(None, None)"
    )
    done = alone(CLI[0], "-c", text)
    assert done.returncode == 2
    assert "lanai: error: this process has loaded two MPI libraries" in done.stderr


# Profiling: a tool that defines MPI's functions itself and calls the library's by their PMPI_
# names.

MPI_1_2 = [f"MPI_{name}" for name in (C / "mpi12.txt").read_text().split()]
# Together they call every function of MPI-1.2.
PROGRAMS_PROFILING = [
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
    for name in PROGRAMS_PROFILING:
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


# The tools interface on NICs, where it reads what they count. (tests/host/c/tools.c is also among
# the programs on `ideal`.)


def test_counters_may_be_read_by_every_rank_and_written_by_none():
    grant = Grant(3, [range(0x100000, 0x100010)])
    for name in COUNTER_NAMES:
        grant.check_read(host_offset(name), 4)
        with pytest.raises(Forbidden, match="rank 3 wrote 4 bytes"):
            grant.check_write(host_offset(name), bytes(4))
    with pytest.raises(Forbidden, match="rank 3 read 8 bytes"):
        grant.check_read(host_offset(COUNTER_NAMES[0]), 8)
    with pytest.raises(Forbidden, match="rank 3 read 4 bytes"):
        grant.check_read(host_offset("CONTROL"), 4)


def test_a_tool_reads_what_the_nic_counts(tmp_path):
    program = str(tmp_path / "tools")
    mpicc("-O1", "-w", str(C / "tools.c"), "-o", program)
    done = together(2, program, "nic", device="mpi-np", timeout=600)
    assert (done.stdout, done.returncode) == ("all right\n", 0), done.stderr


# The numbers of another ABI, read from its header.


@pytest.fixture(scope="module")
def constants():
    return read("mpi_abi.h").constants


@pytest.fixture(scope="module")
def numbers(constants):
    return Numbers(constants)


def test_ranks_and_tags(numbers, constants):
    source = numbers.of("MPI_Recv", "source")
    assert source.inward(constants["MPI_ANY_SOURCE"]) == ANY_SOURCE
    assert source.outward(PROC_NULL) == constants["MPI_PROC_NULL"]
    assert source.inward(5) == source.outward(5) == 5
    assert numbers.of("MPI_Recv", "tag").inward(constants["MPI_ANY_TAG"]) == ANY_TAG
    assert numbers.of("MPI_Recv", "count") is None


def test_what_means_something_inside_only_stays_wrong(numbers):
    """-2 is MPI_ANY_SOURCE inside and nothing in the standard ABI."""
    stray = numbers.of("MPI_Recv", "source").inward(-2)
    assert isinstance(stray, Stray)
    assert stray not in (ANY_SOURCE, PROC_NULL)
    assert f"source is {stray}" == "source is -2"


def test_levels(numbers, constants):
    level = numbers.of("MPI_Init_thread", "required")
    for name in ThreadLevel:
        assert level.outward(level.inward(constants[f"MPI_THREAD_{name.name}"])) == constants[f"MPI_THREAD_{name.name}"]


def test_every_error_class_is_there_and_comes_back(numbers, constants):
    for error_class in ErrorClass:
        name = "MPI_SUCCESS" if error_class is ErrorClass.SUCCESS else f"MPI_ERR_{error_class.name}"
        code = numbers.codes.outward(7 << 8 | error_class)
        assert code == 7 << 8 | constants[name]
        assert numbers.codes.inward(code) == 7 << 8 | error_class


def test_codes_of_the_program_pass(numbers):
    added = 0x40000005
    assert numbers.codes.outward(added) == numbers.codes.inward(added) == added


def test_the_code_of_abort_is_the_programs(numbers):
    assert numbers.of("MPI_Abort", "errorcode") is None
