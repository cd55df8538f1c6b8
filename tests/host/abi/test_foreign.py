"""Programs linked for another MPI are refused before they start."""

import importlib.metadata
import subprocess

import pytest

from lanai_host.abi.programs import check_program, needed
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError

from .jobs import together


@pytest.fixture
def program(tmp_path):
    """A program that needs a library called libmpi.so.40, as Open MPI's is."""
    (tmp_path / "mpi.c").write_text("int MPI_Init(void *a, void *b) { return 0; }\n")
    (tmp_path / "main.c").write_text("int MPI_Init(void *, void *);\nint main(void) { return MPI_Init(0, 0); }\n")
    library = str(tmp_path / "libmpi.so")
    for arguments in (
        ["-shared", "-fPIC", "-Wl,-soname,libmpi.so.40", "-o", library, str(tmp_path / "mpi.c")],
        ["-o", str(tmp_path / "main"), str(tmp_path / "main.c"), library],
    ):
        subprocess.run([*find(Language.C).command, *arguments], check=True)
    return tmp_path / "main"


def test_a_program_of_open_mpi_is_named(program):
    assert "libmpi.so.40" in needed(program)
    with pytest.raises(UserError, match=r"linked for Open MPI \(libmpi.so.40\).*lanai mpicc"):
        check_program(program)


def test_another_mpi_that_is_found_first_is_not_taken(tmp_path, monkeypatch):
    """Whatever the user's environment says of MPI libraries: `lanai run` puts its own before all
    others."""
    pytest.importorskip("mpi4py")
    for name in ("libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1"):
        (tmp_path / name).write_text("no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("MPI4PY_LIBMPI", str(tmp_path / "libmpi.so.40"))
    monkeypatch.setenv("MPI4PY_MPIABI", "openmpi")
    done = together(2, "python", "-c", "from mpi4py import MPI; print('openlanai:' in MPI.Get_library_version())")
    assert done.stdout == "True\n" * 2, done.stderr


def test_programs_see_the_vendor_of_the_interface():
    """NGSolve, for one, takes the binary interface that mpi4py's get_vendor() names."""
    pytest.importorskip("mpi4py")
    version = importlib.metadata.version("mpich")
    done = together(1, "python", "-c", "from mpi4py import MPI; print(MPI.get_vendor())")
    assert done.stdout == f"{('MPICH', tuple(map(int, version.split('.'))))}\n", done.stderr


def test_lanai_run_does_not_start_a_program_of_open_mpi(program):
    done = together(2, str(program))
    assert done.returncode == 2
    assert "was linked for Open MPI (libmpi.so.40)" in done.stderr


def test_scripts_pass(tmp_path):
    script = tmp_path / "a.py"
    script.write_text("print(1)\n")
    assert needed(script) == []
    check_program(script)
    check_program(tmp_path / "missing")


def test_a_program_of_the_other_mpich_that_insists_on_it_is_named(tmp_path):
    """DT_RPATH is searched before LD_LIBRARY_PATH, so such a program would run without the
    simulator."""
    for name in ("mpich", "main"):
        (tmp_path / name).mkdir()
    (tmp_path / "mpi.c").write_text("int MPI_Init(void *a, void *b) { return 0; }\n")
    (tmp_path / "main.c").write_text("int MPI_Init(void *, void *);\nint main(void) { return MPI_Init(0, 0); }\n")
    library, program = tmp_path / "mpich" / "libmpi.so.12", tmp_path / "main" / "a.out"
    for tag, refused in (("--disable-new-dtags", True), ("--enable-new-dtags", False)):
        for arguments in (
            ["-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", "-o", str(library), str(tmp_path / "mpi.c")],
            ["-o", str(program), str(tmp_path / "main.c"), str(library), f"-Wl,-rpath,$ORIGIN/../mpich,{tag}"],
        ):
            subprocess.run([*find(Language.C).command, *arguments], check=True)
        if refused:
            with pytest.raises(UserError, match=r"has \$ORIGIN/../mpich in its DT_RPATH|has .*mpich in its DT_RPATH"):
                check_program(program)
        else:
            check_program(program)
