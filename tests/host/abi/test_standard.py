"""Programs of the MPI-5 standard ABI: C programs linked with libmpi_abi.so.1, and which ABI a
program gets."""

import pytest

from lanai_host.abi import library_directory
from lanai_host.abi.flavor import MPICH, STANDARD
from lanai_host.abi.mixture import check_process
from lanai_host.abi.programs import environment, flavor_of
from lanai_host.errors import UserError

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
