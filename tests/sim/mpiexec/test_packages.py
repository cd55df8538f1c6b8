"""Build systems and pytest's plugins for MPI, the packages themselves, find our commands and work.

Each is installed in a folder of its own: two of the plugins have modules of the same name.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci

RING = """
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, size, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return size == 4 && got == (rank + 3) % 4 ? 0 : 1;
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(ring C)
find_package(MPI REQUIRED)
enable_testing()
add_executable(ring ring.c)
target_link_libraries(ring MPI::MPI_C)
add_test(NAME ring COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 4 $<TARGET_FILE:ring>)
"""
MESON = """
project('ring', 'c')
ring = executable('ring', 'ring.c', dependencies: dependency('mpi', language: 'c'))
test('ring', find_program('mpiexec'), args: ['-n', '4', ring])
"""
CONFIGURE_AC = """
AC_INIT([ring], [1.0])
AC_PROG_CC([mpicc hcc mpxlc_r mpxlc mpcc cmpicc])
AC_CHECK_HEADER([mpi.h], [], [AC_MSG_ERROR([no mpi.h])])
AC_CHECK_FUNC([MPI_Init], [], [AC_CHECK_LIB([mpi], [MPI_Init], [], [AC_MSG_ERROR([no MPI library])])])
AC_CHECK_FUNC([no_such_function], [AC_MSG_ERROR([the compiler links anything])])
AC_PATH_PROG([MPIEXEC], [mpiexec])
AC_RUN_IFELSE([AC_LANG_PROGRAM([@%:@include <mpi.h>], [return MPI_Init(0, 0) || MPI_Finalize();])], [],
              [AC_MSG_ERROR([a program does not run alone])])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
"""
MAKEFILE_IN = """
check: ring
\t@MPIEXEC@ -n 4 ./ring
ring: ring.c
\t@CC@ @CFLAGS@ -o ring ring.c @LIBS@
"""
EXTENSION = """
#include <Python.h>
#include <mpi.h>
static PyObject *version(PyObject *self, PyObject *none) {
    int major, minor;
    MPI_Get_version(&major, &minor);
    (void)self, (void)none;
    return PyLong_FromLong(major);
}
static PyMethodDef methods[] = {{"version", version, METH_NOARGS, 0}, {0, 0, 0, 0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "extended", 0, -1, methods, 0, 0, 0, 0};
PyMODINIT_FUNC PyInit_extended(void) { return PyModule_Create(&module); }
"""
SETUP = "from setuptools import Extension, setup; setup(ext_modules=[Extension('extended', ['extended.c'])])"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install packages, and nothing else that they need, in a folder of their own."""

    def install(*requirements):
        folder = tmp_path_factory.mktemp("package")
        words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), *requirements]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        return str(folder)

    return install


def on_path(commands, *folders):
    return os.pathsep.join((*folders, commands["PATH"]))


def test_cmake_and_ctest(installed, commands, call, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "ring.c").write_text(RING)
    folder = installed("cmake==4.1.*")
    how = {"PATH": on_path(commands, f"{folder}/bin"), "PYTHONPATH": folder}
    call("cmake", "-B", "build", ".", **how)
    call("cmake", "--build", "build", **how)
    assert "100% tests passed" in call("ctest", "--test-dir", "build", **how).stdout


def test_meson(installed, commands, call, tmp_path):
    (tmp_path / "meson.build").write_text(MESON)
    (tmp_path / "ring.c").write_text(RING)
    how = {"PATH": on_path(commands, f"{installed('ninja==1.13.*')}/bin"), "PYTHONPATH": installed("meson==1.9.*")}
    call(sys.executable, "-m", "mesonbuild.mesonmain", "setup", "build", **how)
    assert (
        "Ok:                1"
        in call(sys.executable, "-m", "mesonbuild.mesonmain", "test", "-C", "build", **how).stdout
    )


@pytest.fixture
def autoconf(installed, tmp_path):
    """The environment in which the wheels' `autoconf` finds its files, which are not where they were built for."""
    prefix = Path(installed("cmeel-autoconf==2.72.*", "cmeel-m4==1.4.*"), "cmeel.prefix")
    files, settings = prefix / "share" / "autoconf", tmp_path / "autom4te.cfg"
    text = (files / "autom4te.cfg").read_text()
    settings.write_text(re.sub(r"'/\S*/share/autoconf'", f"'{files}'", text))
    return {
        "autom4te_perllibdir": str(files), "AC_MACRODIR": str(files), "AUTOM4TE_CFG": str(settings),
        "AUTOM4TE": str(prefix / "bin" / "autom4te"), "M4": str(prefix / "bin" / "m4"),
        "trailer_m4": str(files / "autoconf" / "trailer.m4"), "PATH": str(prefix / "bin"),
    }  # fmt: skip


@pytest.mark.skipif(not shutil.which("perl"), reason="autoconf needs perl")
def test_autoconf_and_make(autoconf, commands, call, tmp_path):
    (tmp_path / "configure.ac").write_text(CONFIGURE_AC)
    (tmp_path / "Makefile.in").write_text(MAKEFILE_IN)
    (tmp_path / "ring.c").write_text(RING)
    call("autoconf", **{**autoconf, "PATH": on_path(commands, autoconf["PATH"])})
    told = call("sh", "./configure").stdout
    assert "checking for MPI_Init... yes" in told
    assert "checking for no_such_function... no" in told
    call("make", "check")


def test_setuptools(installed, call, tmp_path):
    (tmp_path / "extended.c").write_text(EXTENSION)
    (tmp_path / "setup.py").write_text(SETUP)
    folder = installed("setuptools==80.*")
    call(sys.executable, "setup.py", "-q", "build_ext", "--inplace", CC="mpicc", PYTHONPATH=folder)
    done = call("mpiexec", "-n", "1", "python", "-c", "import extended; print(extended.version())")
    assert done.stdout == "5\n"


def test_pytest_mpi(installed, call, tmp_path):
    """One pytest in each rank."""
    (tmp_path / "test_sum.py").write_text(
        "import pytest\nfrom mpi4py import MPI\n\n@pytest.mark.mpi(min_size=2)\n"
        "def test_sum():\n    assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size\n"
    )
    words = ("mpiexec", "-n", "2", "python", "-m", "pytest", "-p", "no:cacheprovider", "--with-mpi")
    assert call(*words, PYTHONPATH=installed("pytest-mpi==0.6")).stdout.count("1 passed") == 2


def test_pytest_in_each_rank(call, tmp_path):
    """With no plugin but this project's, which has nothing to do."""
    (tmp_path / "test_sum.py").write_text(
        "from mpi4py import MPI\n\ndef test_sum(tmp_path):\n    assert MPI.COMM_WORLD.allreduce(1) == 3\n"
    )
    words = ("mpiexec", "-n", "3", "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert call(*words).stdout.count("1 passed") == 3
    (tmp_path / "test_sum.py").write_text("from mpi4py import MPI\n\ndef test_sum():\n    assert MPI.COMM_WORLD.rank\n")
    assert call(*words, code=1).stdout.count("1 passed") == 2


PARALLEL = """
import pytest
from mpi4py import MPI
@pytest.mark.parallel(nprocs=3)
def test_right():
    assert MPI.COMM_WORLD.allreduce(1) == 3
@pytest.mark.parallel(nprocs=2)
def test_one_rank_raises():
    if MPI.COMM_WORLD.rank == 0:
        raise ValueError("Test")
    MPI.COMM_WORLD.barrier()
"""


def test_mpi_pytest(installed, call, tmp_path):
    """One pytest starts mpiexec for each test, or runs within it."""
    (tmp_path / "test_parallel.py").write_text(PARALLEL)
    folder = installed("mpi-pytest==2026.0")
    done = call("python", "-m", "pytest", "-p", "no:cacheprovider", code=1, PYTHONPATH=folder)
    assert "1 failed, 1 passed" in done.stdout
    assert "ValueError: Test" in done.stdout
    words = ("mpiexec", "-n", "3", "python", "-m", "pytest", "-p", "no:cacheprovider", "-m", "parallel[3]")
    assert call(*words, PYTHONPATH=folder).stdout.count("1 passed") == 3


ISOLATED = """
import pytest
@pytest.mark.mpi(ranks=2, timeout=100, unit="s")
def test_one_rank_raises(mpi_ranks, comm):
    if comm.rank == 0:
        raise ValueError("Test")
    comm.barrier()
@pytest.mark.mpi(ranks=[1, 3])
def test_right(mpi_ranks, comm):
    assert comm.allreduce(1) == mpi_ranks
"""


RIVALS = {"mpi-pytest==2026.0": "mpi-pytest", "pytest-mpi==0.6": "pytest_mpi"}


@pytest.mark.parametrize("requirement", RIVALS)
def test_the_plugin_stands_for_others(installed, call, tmp_path, requirement):
    """`--lanai` runs the same tests, with no launcher."""
    (tmp_path / "test_parallel.py").write_text(PARALLEL)
    words = ("python", "-m", "pytest", "-p", "no:cacheprovider", "--lanai")
    done = call(*words, code=1, PYTHONPATH=installed(requirement))
    assert f"in place of {RIVALS[requirement]}" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert "rank 1 waits for it" in done.stdout


def test_the_plugin_stands_for_pytest_isolate_mpi(installed, call, tmp_path):
    (tmp_path / "test_isolated.py").write_text(ISOLATED)
    words = ("python", "-m", "pytest", "-p", "no:cacheprovider", "--lanai")
    done = call(*words, code=1, PYTHONPATH=installed("pytest-isolate-mpi==0.4.1"))
    assert "in place of pytest_isolate_mpi" in done.stdout
    assert "1 failed, 2 passed" in done.stdout
    assert "rank 0: ValueError: Test" in done.stdout


def test_pytest_isolate_mpi(installed, call, tmp_path):
    (tmp_path / "test_isolated.py").write_text(ISOLATED)
    words = ("python", "-m", "pytest", "-p", "no:cacheprovider")
    done = call(*words, code=1, PYTHONPATH=installed("pytest-isolate-mpi==0.4.1"))
    assert "test_one_rank_raises[2][rank=0] - ValueError: Test" in done.stdout
    assert "test_right" not in done.stdout.partition("short test summary")[2]
