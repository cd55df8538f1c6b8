"""`lanai mpicc`, `mpicxx`, `mpifort`: options as MPICH's wrappers have them, no way to call
themselves, found by build systems."""

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lanai_host import compilers
from lanai_host.abi import wrappers
from lanai_host.abi.installed import include_directory
from lanai_host.abi.library import library_directory
from lanai_host.errors import UserError
from lanai_sim import cli
from lanai_sim.commands import mpicc as wrapper

WRAPPER = [sys.executable, "-m", "lanai_sim"]
SOURCE = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Finalize(); return 0; }\n"
CLEAN = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX", "FC", "MPICH_CC", "MPICH_CXX")}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "ring.c").write_text(SOURCE)
    (tmp_path / "ring.cc").write_text(SOURCE.replace("return 0", "auto zero = [] { return 0; }; return zero()"))
    return tmp_path


def wrap(*words, cwd=None, **environment):
    return subprocess.run(
        [*WRAPPER, *words],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        cwd=cwd,
        env={**CLEAN, **environment},
    )


def show(name, *words):
    done = wrap(name, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return shlex.split(done.stdout)


def call_of(language):
    """The words that call this machine's compiler: one, or three where only ziglang is there."""
    return list(compilers.find(language).command)


@pytest.mark.parametrize(("name", "language"), [("mpicc", compilers.Language.C), ("mpicxx", compilers.Language.CXX)])
def test_show_prints_the_whole_command(name, language):
    command = show(name, "-show", "-O2", "a b.c", "-o", "a")
    call = [*call_of(language), "-O2", "a b.c", "-o", "a"]
    assert command[: len(call)] == call
    assert f"-I{include_directory()}" in command
    assert command[-1] == "-lmpi"
    assert f"-L{library_directory()}" in command
    assert f"-Wl,-rpath,{library_directory()}" in command


def test_one_library_serves_every_directory(tmp_path):
    """And every way to start the command: another library would be built for each."""
    text = "import sys; from lanai_sim.cli import main; sys.exit(main())"
    ways = [(WRAPPER, tmp_path), (WRAPPER, tmp_path.parent), ([sys.executable, "-c", text], tmp_path)]
    answers = {
        subprocess.check_output([*way, "mpicc", "-show-link-info"], cwd=place, env=CLEAN, text=True)
        for way, place in ways
    }
    assert answers == {shlex.join(show("mpicc", "-show-link-info")) + "\n"}


def test_what_does_not_link_gets_no_library():
    for option in ("-c", "-E", "-S", "-M", "-MM"):
        assert not [word for word in show("mpicc", "-show", option, "a.c") if word.startswith(("-l", "-L", "-Wl"))]


def compile_flags():
    """Return what `mpicc` adds where it compiles; for Zig also that programs are not killed for what C leaves open."""
    zig = compilers.find(compilers.Language.C).is_zig
    return [f"-I{include_directory()}", *(["-fno-sanitize=undefined"] if zig else [])]


def test_parts_of_the_command():
    flags, libraries = compile_flags(), f"-L{library_directory()}"
    call = call_of(compilers.Language.C)
    for spelling in ("-compile-info", "-compile_info"):
        assert show("mpicc", spelling) == [*call, *flags]
    for spelling in ("-link-info", "-link_info"):
        assert show("mpicc", spelling)[: len(call) + 1] == [*call, libraries]
    assert show("mpicc", "-show-compile-info") == flags
    assert show("mpicc", "-show-link-info")[0] == libraries
    assert show("mpicc", "-mpi-abi", "-show-compile-info") == ["-DMPI_ABI", *flags]


def test_parts_of_the_command_as_open_mpi_names_them():
    for dashes in ("-", "--"):
        assert show("mpicc", f"{dashes}showme:compile") == compile_flags()
    assert show("mpicc", "--showme:link") == show("mpicc", "-show-link-info")
    assert show("mpicc", "--showme", "a.c") == show("mpicc", "-show", "a.c")
    assert show("mpicc", "--showme:incdirs") == [str(include_directory())]
    assert show("mpicc", "--showme:libdirs") == [str(library_directory())]
    assert show("mpicc", "--showme:libs") == ["mpi"]
    assert show("mpicc", "--showme:command") == call_of(compilers.Language.C)
    refused = wrap("mpicc", "--showme:rubbish")
    assert refused.returncode == 2
    assert "--showme:rubbish is not understood; write --showme, or --showme: and one of command, " in refused.stderr


def test_help_and_no_argument():
    done = wrap("mpicc", "-help")
    assert done.returncode == 0
    for word in ("-show", "-compile-info", "-link-info", "-cc=COMPILER", "$MPICH_CC", "$CC"):
        assert word in done.stdout
    done = wrap("mpicxx")
    assert (done.returncode, done.stdout) == (1, "")
    assert "-cxx=COMPILER" in done.stderr


def test_questions_go_to_the_compiler_without_linking():
    version = subprocess.check_output([*call_of(compilers.Language.C), "--version"], text=True)
    done = wrap("mpicc", "--version")
    assert (done.returncode, done.stdout) == (0, version)
    assert wrap("mpicc", "-v").returncode == 0
    assert wrap("mpicc", "-no-such-option", "-c", "x.c").returncode != 0


def test_the_compiler_can_be_chosen(tmp_path):
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho other\n")
    other.chmod(0o755)
    for words, environment in (([f"-cc={other}"], {}), ([], {"MPICH_CC": str(other)}), ([], {"CC": str(other)})):
        done = wrap("mpicc", *words, "-show", "-c", "a.c", **environment)
        assert shlex.split(done.stdout)[0] == str(other), done.stderr
    done = wrap("mpicc", "-show", "-c", "a.c", MPICH_CC=str(other), CC="no-such-compiler")
    assert shlex.split(done.stdout)[0] == str(other)


@pytest.mark.ci
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_with_the_wrapper_as_compiler(project):
    """make exports CC and CXX, which the wrapper must not run again. No more processes are allowed
    than a build needs."""
    (project / "Makefile").write_text("all: c cc\nc: ring.c\n\t$(CC) $< -o $@\ncc: ring.cc\n\t$(CXX) $< -o $@\n")
    settings = [f"{variable}={shlex.join([*WRAPPER, name])}" for variable, name in (("CC", "mpicc"), ("CXX", "mpicxx"))]
    done = subprocess.run(
        ["make", *settings], cwd=project, env=CLEAN, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr
    run = subprocess.run([*WRAPPER, "run", "-n", "2", "--quiet", str(project / "c")], timeout=500, check=False)
    assert run.returncode == 0


def test_a_script_that_leads_back_is_stopped(project):
    """A compiler that is the wrapper under another name is seen at its second start, not at the
    thousandth process."""
    script = project / "compiler"
    script.write_text(f'#!/bin/sh\necho started >> {project}/starts\nexec {shlex.join([*WRAPPER, "mpicc"])} "$@"\n')
    script.chmod(0o755)
    done = wrap("mpicc", "ring.c", "-o", "ring", cwd=project, CC=str(script))
    assert done.returncode != 0
    assert f"CC='{script}' leads back to it" in done.stderr
    assert len((project / "starts").read_text().splitlines()) <= 3


@pytest.mark.ci
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_finds_it(project):
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(ring C CXX)\nfind_package(MPI REQUIRED)\n"
        "add_executable(c ring.c)\ntarget_link_libraries(c MPI::MPI_C)\n"
        "add_executable(cc ring.cc)\ntarget_link_libraries(cc MPI::MPI_CXX)\n"
    )
    for name in ("mpicc", "mpicxx"):
        (project / name).write_text(f'#!/bin/sh\nexec {shlex.join([*WRAPPER, name])} "$@"\n')
        (project / name).chmod(0o755)
    choices = [f"-DMPI_C_COMPILER={project}/mpicc", f"-DMPI_CXX_COMPILER={project}/mpicxx", "-DMPI_CXX_SKIP_MPICXX=ON"]
    for step in (["-S", ".", "-B", "build", *choices], ["--build", "build"]):
        done = subprocess.run(["cmake", *step], cwd=project, env=CLEAN, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    cached = (project / "build" / "CMakeCache.txt").read_text()
    assert str(library_directory()) in cached
    assert str(include_directory()) in cached


def test_a_configure_script_finds_it(project):
    """Do the steps of AC_PROG_CC and AX_MPI: ask for the version, compile, link with a function, run."""
    (project / "conftest.c").write_text("int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init == 0; }\n")
    for arguments in (
        ["--version"],
        ["-v"],
        ["conftest.c"],
        ["-o", "conftest", "-g", "-O2", "conftest.c"],
        ["-c", "conftest.c"],
    ):
        done = wrap("mpicc", *arguments, cwd=project)
        assert done.returncode == 0, (arguments, done.stderr)
    assert (project / "a.out").exists()
    assert (project / "conftest.o").exists()
    assert subprocess.run([project / "conftest"], timeout=500, check=False).returncode == 0


def test_each_wrapper_is_a_command_of_its_own(monkeypatch, capsys):
    """`lanai-mpicc` and its kin, for tools that take one word."""
    scripts = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]
    for name in wrapper.WRAPPERS:
        assert scripts[f"lanai-{name}"] == f"lanai_sim.programs:{name}"
        assert f"lanai-{name}" in compilers.WRAPPERS
    monkeypatch.setattr(sys, "argv", ["lanai-mpicc", "-show-compile-info"])
    assert cli.mpicc() == 0
    assert capsys.readouterr().out == f"{shlex.join(compile_flags())}\n"


def test_mpifort_without_a_compiler_says_what_to_install(monkeypatch):
    monkeypatch.delenv("FC", raising=False)
    monkeypatch.setattr(compilers.shutil, "which", lambda name: None)
    with pytest.raises(UserError, match="no Fortran compiler"):
        wrapper.wrap("mpifort", ["a.f90"])


def test_mpifort_with_the_libraries_alone_says_what_to_install(monkeypatch, tmp_path, capsys):
    """The case of gfortran and libmpich12 installed without libmpich-dev."""
    compiler = tmp_path / "gfortran"
    compiler.write_text("#!/bin/sh\nexit 0\n")
    compiler.chmod(0o755)
    (tmp_path / "libmpichfort.so.12").touch()
    monkeypatch.setenv("FC", str(compiler))
    monkeypatch.setattr(wrappers, "_LIBRARIES", (str(tmp_path),))
    monkeypatch.setattr(wrappers, "_MODULES", (str(tmp_path / "mpich"),))
    for source in ("a.f", "a.F90"):
        with pytest.raises(UserError, match=r"mpif\.h and mpi\.mod were not found; .*: apt install libmpich-dev"):
            wrapper.wrap("mpifort", [source, "-o", "a"])
    assert wrapper.wrap("mpifort", ["-show", "a.o", "-o", "a"]) == 0  # links alone
    (tmp_path / "mpif.h").touch()
    assert wrapper.wrap("mpifort", ["-show", f"-I{tmp_path}", "a.f"]) == 0  # one of the program's own
    (tmp_path / "mpich").mkdir()
    (tmp_path / "mpich" / "mpif.h").touch()
    capsys.readouterr()
    assert wrapper.wrap("mpifort", ["-show", "a.f"]) == 0
    assert f"-I{tmp_path}/mpich" in capsys.readouterr().out
