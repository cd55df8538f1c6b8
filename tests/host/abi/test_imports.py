"""`lanai doctor PROGRAM`: what a binary imports of MPI, and what of it is not there."""

import subprocess
from pathlib import Path

import pytest

from lanai_host.abi import bindings, imports, programs
from lanai_host.abi.flavor import MPICH, STANDARD
from lanai_host.errors import UserError
from lanai_sim import cli
from lanai_sim.commands import doctor

from .jobs import CLI, C

CALLS = """
#include <mpi.h>
int MPI_Of_tomorrow(void);
void mpi_send_(void);
void _ZN3MPI4InitEv(void);
int call(void) {
    mpi_send_(), _ZN3MPI4InitEv();
    return MPI_Init(0, 0) + MPI_Of_tomorrow() + PMPIX_Stream_free(0) + MPIX_Comm_revoke(MPI_COMM_WORLD);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("imports") / "libcalls.so"
    source = path.with_suffix(".c")
    source.write_text(CALLS)
    subprocess.run([*CLI, "mpicc", "-w", "-shared", "-fPIC", str(source), "-o", str(path)], check=True)
    return path


def reasons(found):
    return {one.symbol: one.why for one in found.missing}


def test_symbols_that_are_missing_are_named_with_the_reason(library, monkeypatch):
    monkeypatch.setattr(bindings, "PLACES", ())
    found = imports.imports(library)
    assert (found.flavor, found.symbols) == (MPICH, 6)
    assert reasons(found) == {
        "MPI_Of_tomorrow": imports.NO_SYMBOL,
        "MPIX_Comm_revoke": imports.UNSUPPORTED,
        "PMPIX_Stream_free": imports.UNSUPPORTED,
        "mpi_send_": "MPICH's Fortran bindings are not installed: apt install libmpich12",
        "_ZN3MPI4InitEv": "MPICH's C++ bindings are not installed: apt install libmpich12",
    }


def test_symbols_of_the_distributions_bindings_are_looked_up_there(library, monkeypatch, tmp_path):
    (tmp_path / "fort.c").write_text("void mpi_send_(void) {}\n")
    bindings = str(tmp_path / "libmpichfort.so.12")
    subprocess.run([*CLI, "mpicc", "-shared", "-fPIC", str(tmp_path / "fort.c"), "-o", bindings], check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert "mpi_send_" not in reasons(imports.imports(library))


def test_bindings_have_the_names_of_mpich_and_of_debian(monkeypatch, tmp_path):
    """Programs of the package registry are linked for `libmpifort.so.12`, which Debian names `libmpichfort.so.12`."""
    monkeypatch.setattr(bindings, "PLACES", ())
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert bindings.other_names() is None
    (tmp_path / "libmpichfort.so.12").write_text("")
    (tmp_path / "libmpicxx.so.12").write_text("")
    added = Path(programs.environment(Path("/bin/sh"))["LD_LIBRARY_PATH"].split(":")[1])
    links = {link.name: link.readlink() for link in added.iterdir() if link.is_symlink()}
    assert links == {
        "libmpifort.so.12": tmp_path / "libmpichfort.so.12",
        "libmpichcxx.so.12": tmp_path / "libmpicxx.so.12",
    }
    (tmp_path / "libmpifort.so.12").write_text("")
    (tmp_path / "libmpichcxx.so.12").write_text("")
    assert bindings.other_names() is None


def test_libraries_of_the_program_are_looked_at_too(library, tmp_path):
    (tmp_path / "main.c").write_text("int call(void);\nint main(void) { return call(); }\n")
    program = str(tmp_path / "program")
    where = str(library.parent)
    link = [f"-L{where}", "-lcalls", f"-Wl,-rpath,{where}", "-Wl,--unresolved-symbols=ignore-all"]
    subprocess.run([*CLI, "mpicc", "-w", str(tmp_path / "main.c"), "-o", program, *link], check=True)
    found = imports.imports(tmp_path / "program")
    assert {one.binary for one in found.missing if one.symbol == "MPI_Of_tomorrow"} == {str(library)}


@pytest.mark.parametrize(("options", "flavor"), [([], MPICH), (["-mpi-abi"], STANDARD)])
def test_a_program_that_runs_misses_nothing(options, flavor, tmp_path, capsys):
    program = tmp_path / "program"
    subprocess.run([*CLI, "mpicc", *options, "-w", str(C / "files.c"), "-o", str(program)], check=True)
    assert cli.main(["doctor", str(program)]) == 0
    assert f"MPI symbols through {flavor.soname}, none of them missing" in capsys.readouterr().out


def test_the_command_lists_them_and_fails(library, capsys):
    assert cli.main(["doctor", str(library)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f"MPIX_Comm_revoke: {imports.UNSUPPORTED}" in lines
    assert lines[-1].startswith(f"{library}: 6 MPI symbols through libmpi.so.12, ")


def test_what_is_no_binary_is_refused(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("print()\n")
    with pytest.raises(UserError, match="not a dynamically linked ELF file; name a compiled program"):
        imports.imports(script)
    with pytest.raises(UserError, match="is not a file"):
        doctor.program(tmp_path / "missing")
