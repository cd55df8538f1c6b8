"""`lanai doctor PROGRAM`: what a binary imports of MPI, and what of it is not there."""

import importlib.metadata
import struct
import subprocess
import sys
from pathlib import Path

import llvmlite.binding
import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_D_TAG
from mpi4py import __file__ as mpi4py
from numpy._core import _multiarray_umath

from lanai_host.abi import bindings, imports, programs
from lanai_host.abi.flavor import MPICH, STANDARD
from lanai_host.abi.programs import NAMES, check_program, dynamic_names, needed
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError
from lanai_sim import cli
from lanai_sim.commands import doctor

from .jobs import CLI, C, together

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
    link = [f"-L{where}", "-lcalls", f"-Wl,-rpath,{where}", "-Wl,--allow-shlib-undefined"]
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


# Names in the dynamic section, against pyelftools.

FIELDS = {"DT_NEEDED": "needed", "DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}
BUILDS = sorted(Path(mpi4py).parent.glob("MPI*.so"))
BINARIES = [sys.executable, "/bin/sh", _multiarray_umath.__file__, *map(str, BUILDS)]
PLACES = [0, 4, 5, 32, 54, 56, 64, 72, 96]  # in the header and the first two segments


def by_elftools(path):
    found = {}
    with open(path, "rb") as file:
        section = ELFFile(file).get_section_by_name(".dynamic")
        for tag in section.iter_tags() if isinstance(section, DynamicSection) else ():
            if tag.entry.d_tag in FIELDS:
                found.setdefault(tag.entry.d_tag, []).append(getattr(tag, FIELDS[tag.entry.d_tag]))
    return found


@pytest.mark.parametrize("path", [*BINARIES, llvmlite.binding.ffi.lib._name])
def test_as_pyelftools_reads_them(path):
    assert dynamic_names(Path(path)) == by_elftools(path)


def test_there_are_names():
    assert any(dynamic_names(Path(path)).get("DT_NEEDED") for path in BINARIES)
    assert set(NAMES.values()) == set(FIELDS)


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\2\1" + bytes(90)])
def test_other_files_have_none(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert dynamic_names(path) == {}


def test_a_directory_and_an_absent_file_have_none(tmp_path):
    assert dynamic_names(tmp_path) == dynamic_names(tmp_path / "absent") == {}


def test_a_section_longer_than_memory_is_cut_to_the_file(tmp_path):
    content = bytearray(Path("/bin/sh").read_bytes())
    first = 64  # the table of segments follows the header
    for at in range(first, first + 56 * 20, 56):
        if struct.unpack_from("<I", content, at)[0] == 2:
            struct.pack_into("<Q", content, at + 32, 2**62)
    path = tmp_path / "file"
    path.write_bytes(content)
    assert dynamic_names(path) == by_elftools("/bin/sh")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [0, 2**32, 2**64 - 1])
def test_damaged_files_end_well(tmp_path, place, value):
    content = bytearray(Path("/bin/sh").read_bytes()[:4096])
    content[place : place + 8] = struct.pack("<Q", value)
    path = tmp_path / "file"
    path.write_bytes(content)
    assert set(dynamic_names(path)) <= set(FIELDS)


# Programs linked for another MPI are refused before they start.


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
    for arguments in (
        ["-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", "-o", str(library), str(tmp_path / "mpi.c")],
        ["-o", str(program), str(tmp_path / "main.c"), str(library), "-Wl,-rpath,$ORIGIN/../mpich"],
    ):
        subprocess.run([*find(Language.C).command, *arguments], check=True)
    searched_as(program, "DT_RUNPATH")
    check_program(program)
    searched_as(program, "DT_RPATH")
    with pytest.raises(UserError, match=r"has \$ORIGIN/../mpich in its DT_RPATH|has .*mpich in its DT_RPATH"):
        check_program(program)


def searched_as(program, name):
    """Rename the entry that holds the program's path of libraries: not each linker has an option for it."""
    with program.open("r+b") as file:
        dynamic = next(one for one in ELFFile(file).iter_sections() if isinstance(one, DynamicSection))
        at = next(at for at, tag in enumerate(dynamic.iter_tags()) if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"))
        file.seek(dynamic["sh_offset"] + at * dynamic["sh_entsize"])
        file.write(struct.pack("<q", ENUM_D_TAG[name]))
