"""Files beside a program that have the names of modules which the library imports: neither sees the other's."""

import subprocess
import sys

import pytest

from .jobs import mpicc, together

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


def run(device, folder, text):
    program = folder / "program.py"
    program.write_text(text)
    done = together(2, sys.executable, str(program), str(folder / "names"), device=device)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_programs_that_load_the_library_themselves(tmp_path, device):
    names = loaded(device, "ctypes", CALL)
    assert {"random", "json", "select", "socket", "numpy"} <= set(names)
    beside(tmp_path, names)
    run(device, tmp_path, CTYPES.format(first="", last=CHECK))
    run(device, tmp_path, CTYPES.format(first=CHECK, last=CHECK))  # the program's are loaded when MPI begins


def test_programs_with_mpi4py(tmp_path):
    needed = "mpi4py._mpiabi, pickle, zlib"  # mpi4py itself cannot do without
    names = loaded("ideal", needed, "from mpi4py import MPI")
    assert {"random", "json", "select", "socket", "numpy"} <= set(names)
    run("ideal", beside(tmp_path, names), MPI4PY.format(last=CHECK))


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
