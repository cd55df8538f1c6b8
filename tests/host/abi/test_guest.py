"""A program whose Python is of another environment than this library: it sees nothing of what the
library imports."""

import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from lanai_host.abi import building, guest
from lanai_host.abi.flavor import FLAVORS
from lanai_host.abi.library import library_directory

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
