"""Programs as they are: mpi4py and C, alone and under `lanai run`."""

import os
import re
import sys

import pytest
from pairs import in_turn

from openlanai import Job

from .jobs import C, alone, mpicc, together

PROGRAMS = [
    "answers",
    "collectives",
    "communicators",
    "cxx",
    "datatypes",
    "environment",
    "files",
    "numbers",
    "one_sided",
    "point_to_point",
    "strings",
    "tools",
    "topologies",
]
pytest.importorskip("mpi4py")


def python(ranks, text):
    return together(ranks, "python", "-c", text)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The C programs, compiled with `lanai mpicc`, by name."""
    directory = tmp_path_factory.mktemp("c")
    for name in PROGRAMS:
        mpicc("-O1", "-Wno-deprecated-declarations", str(C / f"{name}.c"), "-o", str(directory / name))
    return {name: str(directory / name) for name in PROGRAMS}


@pytest.fixture(scope="module")
def phases(tmp_path_factory):
    binary = tmp_path_factory.mktemp("c") / "phases"
    mpicc("-O1", "-g0", str(C / "phases.c"), "-o", str(binary))
    return str(binary)


def test_c_programs_touch_every_function_of_mpi_1_2():
    wanted = (C / "mpi12.txt").read_text().split()
    assert len(wanted) == len(set(wanted)) == 129
    text = "".join(path.read_text() for path in [*C.glob("*.c"), C / "check.h"])
    called = set(re.findall(r"\bMPI_(\w+)\s*\(", text))
    assert not set(wanted) - called


@pytest.mark.parametrize(("name", "ranks"), in_turn(PROGRAMS, [2, 3]))
def test_c_program(compiled, name, ranks):
    done = together(ranks, compiled[name])
    assert done.stdout == "all right\n", done.stderr
    assert done.returncode == 0


ON_THE_GATEWARE = [("environment", 2), ("datatypes", 2)]  # the others behind `slow`


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        *ON_THE_GATEWARE,
        *(
            pytest.param(name, ranks, marks=[pytest.mark.slow, pytest.mark.timeout(1000)])
            for name in PROGRAMS
            for ranks in (2, 3)
            if (name, ranks) not in ON_THE_GATEWARE
        ),
    ],
)
def test_c_program_on_the_gateware(compiled, name, ranks):
    done = together(ranks, compiled[name], device="mpi-np", timeout=900)
    assert done.stdout == "all right\n", done.stderr
    assert done.returncode == 0


def test_a_c_program_by_itself_is_a_world_of_one(compiled):
    done = alone(compiled["topologies"])
    assert done.stdout == "all right\n", done.stderr


@pytest.mark.parametrize("call", ["rank", "send", "dup", "barrier", "finalize", "unsupported"])
@pytest.mark.parametrize(("phase", "when"), [("before", "before MPI_Init"), ("after", "after MPI_Finalize")])
def test_a_call_outside_of_mpi_ends_the_process(phases, phase, when, call):
    done = alone(phases, phase, call)
    assert done.returncode == 1
    assert re.fullmatch(rf"lanai: error: MPI_\w+: called {when} at \w+ in phases\n", done.stderr), done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_call_outside_of_mpi_fails_the_job(phases, phase):
    done = together(2, phases, phase, "barrier")
    assert done.returncode == 1
    assert "lanai: error: MPI_Barrier: called " + phase in done.stderr
    assert "went on" not in done.stdout


def test_calls_that_are_legal_at_any_time(phases):
    for phase in ("before", "after"):
        done = alone(phases, phase, "version")
        assert (done.stdout, done.returncode) == ("went on\n", 0), done.stderr


def test_a_python_program_that_goes_on_after_finalize_fails():
    done = python(2, "from mpi4py import MPI; MPI.Finalize(); MPI.COMM_WORLD.Barrier()")
    assert done.returncode == 1
    assert "lanai: error: MPI_Barrier: called after MPI_Finalize" in done.stderr
    assert "Traceback" not in done.stderr


def test_abort_from_c_ends_the_job_with_its_code(compiled):
    done = together(2, compiled["environment"], "abort")
    assert done.returncode == 7
    assert "MPI_Abort on MPI_COMM_WORLD with code 7" in done.stderr


def test_errors_are_fatal_by_default_and_say_what_was_wrong(compiled):
    done = together(2, compiled["environment"], "fatal")
    assert done.returncode != 0
    assert re.search(r"rank 0: MPI_Send: dest is 1000; .* from 0 to 1", done.stderr)


def test_python_by_itself_is_a_world_of_one():
    done = alone(sys.executable, "-c", "from mpi4py import MPI; w = MPI.COMM_WORLD; print(w.size, w.allreduce(5))")
    assert done.stdout == "1 5\n", done.stderr


def test_objects_and_arrays_between_two_ranks():
    done = python(
        2,
        """if True:
        import numpy as np
        from mpi4py import MPI
        w = MPI.COMM_WORLD
        status = MPI.Status()
        if w.rank == 0:
            w.send({"a": [1, 2]}, dest=1, tag=3)
            w.Send(np.arange(5.0), 1, 4)
        else:
            obj = w.recv(source=0, tag=3)
            field = np.zeros(9)
            w.Recv(field, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
            print(obj, field.sum(), status.Get_count(MPI.DOUBLE), status.tag)
        """,
    )
    assert done.stdout == "{'a': [1, 2]} 10.0 5 4\n", done.stderr


def test_wtime_is_simulated_and_the_same_in_each_run():
    text = """if True:
        from mpi4py import MPI
        w = MPI.COMM_WORLD
        start = MPI.Wtime()
        for _ in range(10):
            w.Barrier()
        print(f"{MPI.Wtime() - start:.9e}") if w.rank == 0 else None
        """
    first, second = python(2, text), python(2, text)
    assert first.stdout == second.stdout != ""
    assert 0 < float(first.stdout) < 1e-3


def test_programs_that_time_themselves_print_simulated_figures():
    command = ("python", "-m", "mpi4py.bench", "pingpong", "-n", "4096", "-l", "5", "-s", "1")
    done = together(2, *command, options=("--option", "preset=unlimited"))  # all lengths take as long
    times = re.findall(r"\| (\S+) ±", done.stdout)
    assert len(times) == 13, done.stderr
    # A message's latency, one call of the host, one comparison of envelopes, and half of the reading of the
    # clock that ends each round trip.
    assert {float(time) for time in times} == {1.41e-6}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("libmpi.MPI_Comm_rank(0x44000000, ctypes.byref(ctypes.c_int()))", "MPI_Comm_rank: called before MPI_Init"),
        (
            (
                "libmpi.MPI_Init(None, None); libmpi.MPI_Finalize();"
                "libmpi.MPI_Comm_rank(0x44000000, ctypes.byref(ctypes.c_int()))"
            ),
            "MPI_Comm_rank: called after MPI_Finalize",
        ),
        (
            "libmpi.MPI_Init(None, None); libmpi.MPI_Barrier(0x04000000)",
            "MPI_Barrier: MPI_COMM_NULL is not a valid comm",
        ),
        ("libmpi.MPI_Init(None, None); libmpi.MPI_Barrier(12345)", "MPI_Barrier: 0x3039 is not a valid comm"),
    ],
)
def test_calls_at_the_wrong_time_or_on_nothing(call, words):
    done = alone(
        sys.executable,
        "-c",
        f"import ctypes, os; libmpi = ctypes.CDLL(os.environ['MPI4PY_LIBMPI'] + '/libmpi.so.12'); {call}",
    )
    assert words in done.stderr
    assert done.returncode != 0


def test_every_function_without_a_binding_says_so():
    """MPICH's own functions without a binding return an error that names them; all functions of MPI have one."""
    text = """if True:
        import ctypes, os
        libmpi = ctypes.CDLL(os.environ["MPI4PY_LIBMPI"] + "/libmpi.so.12")
        libmpi.MPI_Init(None, None)
        libmpi.MPI_Comm_set_errhandler(0x44000001, 0x54000001)
        room, length, kind = ctypes.create_string_buffer(512), ctypes.c_int(), ctypes.c_int()
        for name in ("MPIX_Comm_revoke", "MPIX_Stream_create", "MPIX_Type_iov"):
            code = getattr(libmpi, name)(*[0] * 12)
            libmpi.MPI_Error_class(code, ctypes.byref(kind))
            libmpi.MPI_Error_string(code, room, ctypes.byref(length))
            assert (kind.value, room.value.decode()) == (44, f"{name}: not supported by this MPI library"), name
        libmpi.MPI_Finalize()
        """
    done = alone(sys.executable, "-c", text)
    assert done.returncode == 0, done.stderr


# The short way of blocking calls on `ideal`: whatever goes on beside them, all is as it is the long way, which a
# traced run takes.


TRAFFIC = """
import random
import numpy as np
from mpi4py import MPI
w, dice, status = MPI.COMM_WORLD, random.Random(7), MPI.Status()
out, got = np.arange(5000, dtype=np.uint8), np.zeros(5000, np.uint8)
for step in range(300):
    kind, size, tag = dice.randrange(9), dice.choice([0, 1, 4, 100, 4000]), dice.randrange(3)
    first = dice.randrange(2) == w.rank  # to send
    peer = 1 - w.rank
    if kind < 4:
        if first:
            w.Send(out[:size], peer, tag)
        else:
            got[:] = 0
            source, which = MPI.ANY_SOURCE if kind == 1 else peer, MPI.ANY_TAG if kind == 2 else tag
            w.Recv(got, source, which, status)
            assert (status.source, status.tag, status.Get_count()) == (peer, tag, size)
            assert (got[:size] == out[:size]).all() and not got[size:].any()
    elif kind == 4:
        w.Ssend(out[:size], peer, tag) if first else w.Recv(got, peer, tag)
    elif kind == 5 and first:
        request = w.Irecv(got[:10], peer, 7)
        w.Send(out[:size], peer, tag)
        request.Wait()
    elif kind == 5:
        w.Recv(got, peer, tag)
        w.Ssend(out[:3], peer, 7)
    elif kind == 6:
        w.Barrier() if tag else w.allreduce(step)
    elif kind == 7:
        request = w.Ibarrier()
        w.Send(out[:size], peer, tag) if first else w.Recv(got, peer, tag)
        request.Wait()
    elif first:
        request = w.Issend(out[:size], peer, tag)
        w.Send(out[:2], peer, 5)
        request.Wait()
    else:
        w.Recv(got, peer, 5)
        w.Probe(peer, tag, status)
        assert status.Get_count() == size
        w.Recv(got, peer, tag)
        while w.Iprobe(peer, 99):
            pass
try:
    w.Send(out[:8], 1) if w.rank == 0 else w.Recv(got[:4], 0)
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_TRUNCATE
else:
    assert w.rank == 0
"""


def test_times_are_those_of_the_long_way(tmp_path):
    def clocks(**options):
        command = (sys.executable, "-c", TRAFFIC)
        done = Job(command, 2, max_wall=120).but(**options).run()
        assert (done.code, done.report) == (0, "")
        return done.clocks

    assert clocks() == clocks(trace=str(tmp_path / "trace"))


# Files under `lanai run`: the order that the shared pointer gives is one of simulated time, and so is what all of it
# takes.


PROGRAM = """if True:
    import sys
    import numpy as np
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    file = MPI.File.Open(world, sys.argv[1], MPI.MODE_RDWR | MPI.MODE_CREATE)
    file.Set_view(0, MPI.INT, MPI.INT)
    for step in range(10):
        file.Write_shared(np.full(2, 100 * world.rank + step, np.int32))
        if world.rank == step % world.size:
            world.send(None, (world.rank + 1) % world.size)
        if (world.rank - 1) % world.size == step % world.size:
            world.recv()
    file.Set_atomicity(True)
    file.Write_at(1000, np.full(5, world.rank, np.int32))
    file.Close()
    if world.rank == 0:
        print(np.fromfile(sys.argv[1], np.int32).tolist(), f"{MPI.Wtime():.12e}")
    """


ON = "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); "
ON += "os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


def test_two_runs_write_the_same_file_in_the_same_time(tmp_path):
    """On all processors, and on one."""
    every = sorted(os.sched_getaffinity(0))
    outputs = []
    for number, processors in enumerate((every, every[:1])):
        file = str(tmp_path / f"file{number}")
        done = together(4, "python", "-c", ON, ",".join(map(str, processors)), "-c", PROGRAM, file)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] != ""
