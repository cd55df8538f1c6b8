"""The built library: symbols, tables read from mpi.h, the two flavors."""

import importlib.metadata
import json
import subprocess

import pytest
from mpi_headers import read

from lanai_firmware import cache_upkeep
from lanai_host.abi import building, library, tables
from lanai_host.abi.binding import BINDINGS
from lanai_host.abi.flavor import FLAVORS, INTERFACE
from lanai_host.abi.library import library_directory
from lanai_host.abi.tables import REST, BadHandle, make
from lanai_host.errors import UserError

from .jobs import C, mpicc, together


@pytest.fixture(scope="module")
def directory():
    return library_directory()


def symbols(path):
    elftools = pytest.importorskip("elftools.elf.elffile")
    with open(path, "rb") as file:
        table = elftools.ELFFile(file).get_section_by_name(".dynsym")
        return {s.name for s in table.iter_symbols() if s["st_shndx"] != "SHN_UNDEF"}


def test_every_function_of_the_header_is_exported(directory):
    header = read("mpi.h")
    exported = symbols(directory / "libmpi.so.12")
    wanted = set(header.functions)
    assert len([name for name in wanted if name.startswith("MPI_")]) >= 700
    assert not wanted - exported
    assert not {f"P{name}" for name in wanted} - exported
    assert {"MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_F_STATUS_IGNORE", "MPIR_Dup_fn"} <= exported


def test_other_names_lead_to_the_same_file(directory):
    for name in FLAVORS["mpich"].links:
        assert (directory / name).resolve() == (directory / "libmpi.so.12").resolve()


def test_constants_come_from_the_header(directory):
    constants = json.loads((directory / INTERFACE).read_text())["constants"]
    assert constants["MPI_COMM_WORLD"] == 0x44000000
    assert constants["MPI_2INT"] == 0x4C000816
    assert constants["MPI_IN_PLACE"] == -1
    assert constants["MPI_COMBINER_VALUE_INDEX"] == 20


def test_constants_of_the_standard_abi_differ():
    header = read("mpi_abi.h")
    assert header.constants["MPI_COMM_WORLD"] == 0x101
    assert header.constants["MPI_ANY_TAG"] == -2
    assert header.status == [("MPI_SOURCE", 0), ("MPI_TAG", 0), ("MPI_ERROR", 0), ("MPI_internal", 5)]


# Prints where the library of this process has its parts.
FOLDER = "import sys; print(os.path.dirname(sys.modules['_lanai_bridge'].__file__))"

LIST_BINDINGS = """
import ctypes, inspect, json, os
ctypes.CDLL(os.environ["LIB"]).MPI_Init(None, None)
from lanai_host.abi.binding import BINDINGS
for bound in BINDINGS.values():
    inspect.signature(bound.function).bind(*bound.inputs)  # it takes as many
print(json.dumps({name: bound.inputs for name, bound in BINDINGS.items()}))
"""


@pytest.fixture(scope="module")
def bound(directory):
    """The inputs of each binding, by the name of the function."""
    done = subprocess.run(
        [library.sys.executable, "-c", LIST_BINDINGS],
        env={**library.os.environ, "LIB": str(directory / "libmpi.so.12")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_binding_names_a_function_of_the_header(bound):
    """A binding under a mistyped name would leave its function unsupported."""
    assert len(bound) > 300
    assert not bound.keys() - read("mpi.h").functions.keys()
    assert not BINDINGS.keys() - bound.keys()


def test_every_input_of_a_binding_is_a_parameter_of_its_function(directory, bound):
    functions = json.loads((directory / INTERFACE).read_text())["functions"]
    for name in bound.keys() & functions.keys():
        parameters = {parameter[0] for parameter in functions[name][1]}
        assert set(bound[name]) <= parameters | {"large"}, name


def test_a_directory_that_a_program_adds_to_its_path_makes_no_other_library(directory, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    assert library_directory() == directory
    (tmp_path / "lanai_host").mkdir()  # but another copy of the package does
    assert library._paths()[0] == str(tmp_path)


def test_the_commands_of_an_installation_share_a_library(monkeypatch):
    """Python puts the directory of a running script before all others."""
    key = library._key(FLAVORS["mpich"])
    monkeypatch.syspath_prepend(library.sysconfig.get_path("scripts"))
    assert library._key(FLAVORS["mpich"]) == key


def test_all_names_of_an_interpreter_share_a_library(tmp_path, monkeypatch):
    """An environment has `python` and `python3`; commands name one, and users the other."""
    python, python3, other = (tmp_path / name for name in ("python", "python3", "elsewhere"))
    for path in (python, other):
        path.write_text("")
    python3.symlink_to(python)
    keys = []
    for path in (python, python3, other):
        monkeypatch.setattr(library.sys, "executable", str(path))
        keys.append(library._key(FLAVORS["mpich"]))
    assert keys[0] == keys[1] != keys[2]


def test_an_imported_library_is_not_compiled_again(directory, tmp_path, monkeypatch):
    """It lies elsewhere than where it was compiled, and finds its folder there."""
    archive = str(tmp_path / "cache.tar.gz")
    cache_upkeep.export(archive, [entry for entry in cache_upkeep.stored() if entry.kind == "libmpi"])
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path / "other"))
    cache_upkeep.add(archive)
    monkeypatch.setattr(building, "build", lambda flavor, work: pytest.fail("compiled"))
    other = library_directory()
    assert other != directory
    script = "import ctypes, os; ctypes.CDLL(os.environ['LIB']).MPI_Init(None, None);" + FOLDER
    for place in (directory, other):
        env = {**library.os.environ, "LIB": str(place / "libmpi.so.12")}
        done = subprocess.run(
            [library.sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"{place}\n"


def test_a_library_without_what_lies_beside_it_says_so(directory, tmp_path):
    alone = tmp_path / "libmpi.so.12"
    alone.write_bytes((directory / "libmpi.so.12").read_bytes())
    script = f"import ctypes; ctypes.CDLL({str(alone)!r}).MPI_Init(None, None)"
    done = subprocess.run([library.sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"lanai: error: cannot read '{tmp_path / 'start'}'; start the program with `lanai run`, which sees to it that "
        "this file is there\n"
    )


def test_a_rank_does_not_load_what_builds_the_library(directory):
    """Programs start several ranks at once, and each would spend a tenth of a second on it."""
    script = (
        "import ctypes, os, sys; ctypes.CDLL(os.environ['LIB']).MPI_Init(None, None);"
        "print({'cffi', 'pycparser', 'lanai_host.abi.library'} & set(sys.modules))"
    )
    env = {**library.os.environ, "LIB": str(directory / "libmpi.so.12")}
    command = [library.sys.executable, "-c", script]
    assert subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout == "set()\n"


def test_missing_header_is_said_plainly(monkeypatch):
    def none(name):
        raise importlib.metadata.PackageNotFoundError(name)

    from lanai_host.abi import installed

    monkeypatch.setattr(importlib.metadata, "distribution", none)
    with pytest.raises(UserError, match="pip install mpich"):
        installed.include_directory()


def test_handles_are_unique_and_stale_ones_are_caught():
    table = make("Request", 0x2C000000, wide=False)
    handles = [table.new(object()) for _ in range(3)]
    assert len(set(handles)) == 3
    assert all(handle < 0 for handle in handles)  # a C int with the top bit set
    table.remove(handles[1])
    for _ in range(REST):  # not handed out again soon
        again = table.new(object())
        assert again != handles[1]
        table.remove(again)
    with pytest.raises(BadHandle) as caught:
        table[handles[1]]
    error = caught.value.named("MPI_Wait")
    assert "MPI_Wait" in error.text
    assert "not a valid request" in error.text


def test_every_function_of_the_standard_abi_is_exported():
    directory = library_directory("abi")
    exported = symbols(directory / "libmpi_abi.so.1")
    wanted = set(read("mpi_abi.h").functions)
    assert len(wanted) > 600
    assert not wanted - exported
    assert (directory / "libmpi_abi.so").resolve() == (directory / "libmpi_abi.so.1").resolve()


# Handles.


class Thing:
    pass


@pytest.mark.parametrize("kind", ["Datatype", "Info"])
def test_a_thing_may_have_several_handles(kind):
    table, thing, other = tables.make(kind, 0, wide=False), Thing(), Thing()
    first, second, third = table.new(thing), table.new(thing), table.new(other)
    assert len({first, second, third}) == 3
    assert table.handle_of(thing) == first
    table.remove(first)
    assert table.has(thing)
    assert table.handle_of(thing) == second
    table.remove(second)
    assert not table.has(thing)
    assert [value for value, _ in table.made()] == [other]
    with pytest.raises(tables.BadHandle):
        table[first]
    assert table[table.handle_of(thing)] is thing  # a new one


def test_a_predefined_thing_keeps_its_handle():
    table, thing = tables.make("Datatype", 0, wide=True), Thing()
    table.predefine(77, thing)
    extra = table.new(thing)
    assert table.put(thing) == table.handle_of(thing) == 77
    table.remove(extra)
    assert table.has(thing)


# With `--buffers page`, the program's functions that the library calls allocate from the program's part of the heap.


PARTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
static int (*part)(int);
static int called;
/* Whether this thread is in the program's part. */
static int here(void) { int from = part(0); part(from); return !from; }
static void see(void) { if (here()) called++; else printf("a callback in the library's part\n"); }
static void add(void *in, void *out, int *count, MPI_Datatype *type) {
    (void)in, (void)out, (void)count, (void)type;
    see();
}
static int copy(MPI_Comm comm, int key, void *extra, void *value, void *made, int *flag) {
    (void)comm, (void)key, (void)extra, (void)value, (void)made;
    see();
    *flag = 0;
    return MPI_SUCCESS;
}
static int gone(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    see();
    return MPI_SUCCESS;
}
static void wrong(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; see(); }
static int query(void *extra, MPI_Status *status) { (void)extra; see(); return MPI_Status_set_cancelled(status, 0); }
static int over(void *extra) { (void)extra; see(); return MPI_SUCCESS; }
static int cancel(void *extra, int complete) { (void)extra, (void)complete; return MPI_SUCCESS; }
int main(void) {
    int key, mine = 1, sum;
    MPI_Op op;
    MPI_Comm other;
    MPI_Errhandler handler;
    MPI_Request request;
    part = (int (*)(int))dlsym(RTLD_DEFAULT, "lanai_heap_part");
    MPI_Init(NULL, NULL);
    MPI_Op_create(add, 1, &op);
    MPI_Reduce_local(&mine, &sum, 1, MPI_INT, op);
    MPI_Comm_create_keyval(copy, gone, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &mine);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_create_errhandler(wrong, &handler);
    MPI_Comm_set_errhandler(other, handler);
    MPI_Send(&mine, 1, MPI_INT, 7, 0, other);
    MPI_Grequest_start(query, over, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%d called, %s\n", called, here() ? "and back" : "not back");
    MPI_Finalize();
    return !here();
}
"""


def test_callbacks_are_the_program(tmp_path):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PARTS)
    mpicc(source, "-o", program)
    done = together(1, program, options=["--buffers", "page"])
    assert (done.stdout, done.returncode) == ("6 called, and back\n", 0), done.stderr


# Memory that the program names and that is not there, or not writable: an MPI error on every device, and nothing else
# is hurt.


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    made = tmp_path_factory.mktemp("reach") / "reach"
    mpicc("-O1", str(C / "reach.c"), "-o", str(made))
    return str(made)


@pytest.mark.parametrize(("device", "arguments"), [("ideal", []), ("mpi-np", ["nics"])])
def test_buffers_that_cannot_be_reached(program, device, arguments):
    run = together(2, program, *arguments, device=device, timeout=900)
    assert (run.returncode, run.stdout, run.stderr) == (0, "all right\n", "")
