"""A program whose Python is of another environment than this library: it sees nothing of what the
library imports."""

import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest
from warm import lanai

from lanai_host.abi import building, guest
from lanai_host.abi.flavor import FLAVORS
from lanai_host.abi.library import library_directory
from lanai_host.abi.wrappers import WRAPPERS, line

from .jobs import mpicc, together

PROGRAM = """\
import ctypes, importlib.util, os, sys
path, names = list(sys.path), set(sys.modules)
attach = hide = "the program's own"
before = dict(globals())
mpi = ctypes.CDLL(os.environ["LIB"])
mpi.MPI_Init(None, None)
INT, SUM, WORLD = 0x4C000405, 0x58000003, 0x44000000
mine, found = (ctypes.c_int * 3)(1, 2, 3), (ctypes.c_int * 3)()
mpi.MPI_Allreduce(mine, found, 3, INT, SUM, WORLD)
vector = ctypes.c_int()
mpi.MPI_Type_vector(2, 1, 2, INT, ctypes.byref(vector))
mpi.MPI_Type_commit(ctypes.byref(vector))
assert mpi.MPI_Sendrecv(mine, 1, vector, 0, 0, found, 1, vector, 0, 0, WORLD, ctypes.c_void_p(1)) == 0
assert list(found) == [1, 2, 3]
assert sys.path == path
assert {name: value for name, value in globals().items() if name in before} == before
print("added:", *sorted({name.partition(".")[0] for name in set(sys.modules) - names} - set(sys.stdlib_module_names)))
for name in ("numpy", "elftools", "hypothesis"):
    spec = importlib.util.find_spec(name)
    print(name, spec and spec.origin)
try:
    import numpy
    print("imported", numpy.__file__, numpy.arange(4).sum())
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A Python without packages."""
    folder = tmp_path_factory.mktemp("environment")
    venv.EnvBuilder(symlinks=True).create(folder)
    return folder


def run(python):
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", PROGRAM], env={**variables, "LIB": str(library_directory() / FLAVORS["mpich"].soname)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_program_without_packages_sees_none(environment):
    added, *found = run(environment / "bin" / "python")
    assert all(name.lstrip("_").startswith("lanai_") for name in added.split()[1:])
    assert found == ["numpy None", "elftools None", "hypothesis None", "No module named 'numpy'"]


def test_a_program_keeps_its_own_numpy(environment):
    ours = Path(find_spec("numpy").origin).parent
    site = next(environment.glob("lib/python*/site-packages"))
    links = [site / name for name in ("numpy", "numpy.libs")]
    for link in links:
        link.symlink_to(ours.with_name(link.name))
    try:
        added, *found = run(environment / "bin" / "python")
    finally:
        for link in links:
            link.unlink()
    assert "numpy" in added.split()
    own = f"{site}/numpy/__init__.py"
    assert found == [f"numpy {own}", "elftools None", "hypothesis None", f"imported {own} 6"]


def test_a_program_of_the_same_environment(environment):
    added, numpy, *_ = run(sys.executable)
    assert "numpy" in added.split()
    assert numpy == f"numpy {find_spec('numpy').origin}"


def test_another_python_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(building, "EXTENSION_SUFFIXES", [".cpython-3999.so"])
    boot = building._boot(FLAVORS["mpich"], tmp_path, []).replace("%p", "0").replace("%d", "0")
    done = subprocess.run([sys.executable, "-c", boot], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "lanai: error: the Python of this program is 3." in done.stderr
    assert "install openlanai in the program's environment" in done.stderr


def test_a_hidden_package_comes_back_for_the_library_alone(tmp_path, monkeypatch):
    (tmp_path / "guest_needs").mkdir()
    (tmp_path / "guest_needs" / "__init__.py").write_text("def late():\n    import guest_needs.part as p; return p\n")
    (tmp_path / "guest_needs" / "part.py").write_text("value = object()\n")
    finder = guest.Finder([str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    library = {"__name__": guest.OWN[0]}
    exec("import guest_needs, guest_needs.part", library)
    package, part, spec = library["guest_needs"], library["guest_needs"].part, library["guest_needs"].__spec__
    finder.hide()
    assert find_spec("guest_needs") is None
    assert package.late() is part  # as code that was found for the library
    assert sys.modules["guest_needs"] is package
    assert package.__spec__ is spec
    finder.hide()
    with pytest.raises(ModuleNotFoundError):
        exec("import guest_needs", {"__name__": "program"})


# Files beside a program that have the names of modules which the library imports: neither sees the other's.


# The modules that MPI brings along. Left out are those that the program's own imports bring along, and those
# that are frozen: Python never looks for them in a folder.
LOADED = """\
import {imports}, sys, _imp
before = {{name.partition(".")[0] for name in sys.modules}}
{begin}
after = {{name for name, module in list(sys.modules.items()) if getattr(module, "__file__", None)}} - before
ours = ("lanai", "_lanai", "mpi4py")
print(*(name for name in after if not _imp.is_frozen(name) and "." not in name and not name.startswith(ours)))
"""
CALL = 'import ctypes; mpi = ctypes.CDLL("libmpi.so.12"); mpi.MPI_Init(None, None)'
CHECK = "assert all(__import__(name).NAME == name for name in names)"
CTYPES = """\
import sys, ctypes
names = open(sys.argv[1]).read().split()
{first}
mpi = ctypes.CDLL("libmpi.so.12")
mpi.MPI_Init(None, None)
mine, found = (ctypes.c_int * 3)(1, 2, 3), (ctypes.c_int * 3)()
{last}
assert mpi.MPI_Allreduce(mine, found, 3, 0x4C000405, 0x58000003, 0x44000000) == 0
assert list(found) == [2, 4, 6]
mpi.MPI_Finalize()
{last}
"""
MPI4PY = """\
import sys
from mpi4py import MPI
names = open(sys.argv[1]).read().split()
world = MPI.COMM_WORLD
{last}
assert world.sendrecv("a", 1 - world.rank, source=1 - world.rank) == "a"
world.Dup().Free()
{last}
"""
MODULE = "NAME = __name__\ndef _shutdown(): pass  # Python calls that of threading\n"
C = """\
#include <mpi.h>
int main(int argc, char **argv) {
    int mine = 1, found = 0;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&mine, &found, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return found != 2;
}
"""


def loaded(device, imports, begin):
    program = LOADED.format(imports=imports, begin=begin)
    done = together(1, sys.executable, "-c", program, device=device, options=("--no-fork",))
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.split())


def beside(folder, names):
    """A folder with a module of each of these names; every second one of the standard library's is a package."""
    for number, name in enumerate(names):
        path = folder / f"{name}.py"
        if number % 2 and name in sys.stdlib_module_names:
            path = folder / name / "__init__.py"
            path.parent.mkdir()
        path.write_text(MODULE)
    (folder / "names").write_text("\n".join(names))
    return folder


def run_beside(device, folder, text):
    program = folder / "program.py"
    program.write_text(text)
    done = together(2, sys.executable, str(program), str(folder / "names"), device=device)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_programs_that_load_the_library_themselves(tmp_path, device):
    names = loaded(device, "ctypes", CALL)
    assert {"random", "json", "select", "socket", "numpy"} <= set(names)
    beside(tmp_path, names)
    run_beside(device, tmp_path, CTYPES.format(first="", last=CHECK))
    run_beside(device, tmp_path, CTYPES.format(first=CHECK, last=CHECK))  # the program's are loaded when MPI begins


def test_programs_with_mpi4py(tmp_path):
    needed = "mpi4py._mpiabi, pickle, zlib"  # mpi4py itself cannot do without
    names = loaded("ideal", needed, "from mpi4py import MPI")
    assert {"random", "json", "select", "socket", "numpy"} <= set(names)
    run_beside("ideal", beside(tmp_path, names), MPI4PY.format(last=CHECK))


def test_what_mpi4py_cannot_do_without_hides_from_mpi4py_alone(tmp_path):
    """With types.py beside it, a program's import of mpi4py fails before any MPI library is loaded, so on MPICH too."""
    (tmp_path / "types.py").write_text(MODULE)
    program = tmp_path / "program.py"
    program.write_text("import mpi4py")  # `mpi4py.MPI` loads the library
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.stderr.endswith(f"cannot import name 'GenericAlias' from 'types' ({tmp_path}/types.py)\n")


def test_programs_in_c_where_a_folder_is_in_pythonpath(tmp_path, monkeypatch):
    names = [name for name in loaded("ideal", "ctypes", CALL) if name in sys.stdlib_module_names]
    beside(tmp_path, names)
    (tmp_path / "program.c").write_text(C)
    mpicc("-o", str(tmp_path / "program"), str(tmp_path / "program.c"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = together(2, str(tmp_path / "program"))
    assert (done.returncode, done.stderr) == (0, "")


# A program that calls MPI by bindings in another library, as Fortran does: its own lines are named, not those of the
# bindings.


BINDINGS = """
#include <mpi.h>
void mpi_barrier_(void);
__attribute__((noinline)) static void inner(void) { MPI_Barrier(MPI_COMM_WORLD); __asm__(""); }
void mpi_barrier_(void) { inner(); __asm__(""); }
"""
SITE_PROGRAM = """#include <mpi.h>
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
    (tmp_path / "program.c").write_text(SITE_PROGRAM)
    made = tmp_path / f"{library}.so"
    for source, words in (("bindings.c", ["-shared", "-fPIC", "-o", made]), ("program.c", ["-o", "program", made])):
        command = line(WRAPPERS["mpicc"], ["-g", str(tmp_path / source), *map(str, words)]).command
        subprocess.run(command, check=True, cwd=tmp_path, timeout=500)
    done = lanai("run", "-n", 2, "--device", "ideal", "--", tmp_path / "program", timeout=500)
    assert f"MPI_Barrier at {place}" in done.stderr
