"""Turns of a run in C. `test_continuations.py` compares what they do with what Python does."""

import ctypes
import os
import re
import signal
import subprocess
import sys
from time import sleep

import pytest

from lanai_host.simulator.protocol import unpack_wait
from lanai_sim.job import launcher
from lanai_sim.job.native_loop import NativeLoop
from lanai_sim.job.nic_world import NicWorld
from lanai_sim.job.result import Ending
from openlanai import Job

TURNS = """
import os, signal, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
word = bytearray(4)
for turn in range(int(sys.argv[1])):
    for rank in (0, 1):
        world.Send(word, dest=1 - rank) if world.rank == rank else world.Recv(word, source=rank)
    if turn == 40 and world.rank == 1 and sys.argv[2:]:
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
"""
MANY = 1_000_000


def played(*arguments, **options):
    command = (sys.executable, "-c", TURNS, *map(str, arguments))
    return launcher.run(Job(command, 2, "mpi-np", capture=True).but(**options), NicWorld)


def test_a_rank_that_is_killed_meanwhile_ends_the_run():
    result = played(MANY, "SIGKILL")
    assert result.ending == Ending.RANK_FAILED
    assert result.code == 128 + signal.SIGKILL
    assert "rank 1" in result.report


@pytest.mark.parametrize("ending", [Ending.INTERRUPTED, Ending.WALL_LIMIT])
def test_the_run_can_be_ended_meanwhile(ending, monkeypatch):
    calls = []

    def look_after(loop):
        calls.append(1)
        if len(calls) == 3 and ending == Ending.INTERRUPTED:
            signal.raise_signal(signal.SIGTERM)
        elif len(calls) == 3:
            loop._cluster.kernel.deadline = 0.0
        look(loop)

    look = NativeLoop._look_after
    monkeypatch.setattr(NativeLoop, "_look_after", look_after)
    result = played(MANY)
    assert result.ending == ending
    assert "MPI_Recv" in result.report


def test_it_is_known_which_rank_waits_and_what_for(monkeypatch):
    seen = []

    def look_after(loop):
        ranks = [served.rank for served in loop._served.values()]
        for rank in ranks:
            _, runs, why = world[0].look(rank)
            seen.append((runs, unpack_wait(why).call if why else ""))
        look(loop)

    class World(NicWorld):
        def begin(self):
            world.append(self)
            super().begin()

    world, look = [], NativeLoop._look_after
    monkeypatch.setattr(NativeLoop, "_look_after", look_after)
    command = (sys.executable, "-c", TURNS, "100")
    assert launcher.run(Job(command, 2, "mpi-np", capture=True), World).code == 0
    assert len(seen) >= 10
    pairs = {frozenset(pair) for pair in zip(seen[::2], seen[1::2], strict=True)}
    receives, asks = (frozenset({(True, ""), (False, call)}) for call in ("MPI_Recv", "asking the NIC: PROBE_TAKE"))
    assert receives in pairs
    assert pairs <= {receives, asks}  # the latter where a busy machine brings a look earlier


def test_python_looks_soon_though_turns_take_long(monkeypatch):
    """So that a signal or a limit ends the run soon, however many NICs there are."""

    class World(NicWorld):
        def boot(self):
            super().boot()
            run, calls = self.engine._native.engine_run, self.engine.calls()

            def slow(engine, limit):
                sleep(0.06)
                return run(engine, limit)

            self.slow = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64)(slow)
            address = ctypes.cast(self.slow, ctypes.c_void_p).value
            self.engine.calls = lambda: calls._replace(run=address)

    looks, look = [], NativeLoop._look_after
    monkeypatch.setattr(NativeLoop, "_look_after", lambda loop: looks.append(1) or look(loop))
    command = (sys.executable, "-c", TURNS, "8")
    assert launcher.run(Job(command, 2, "mpi-np", capture=True), World).code == 0
    assert len(looks) >= 8


@pytest.mark.parametrize("size", [3_000, 40_000])
def test_writes_of_any_size_are_served(size, monkeypatch):
    """Requests that are larger than what is received at first are left to Python, and the next ones are not."""
    program = (
        "from mpi4py import MPI\nworld = MPI.COMM_WORLD\n"
        f"sent = bytes(i % 251 for i in range({size}))\ngot = bytearray({size})\n"
        "for turn in range(4):\n"
        "    for rank in (0, 1):\n"
        "        world.Send(sent, dest=1 - rank) if world.rank == rank else world.Recv(got, source=rank)\n"
        "assert got == sent\nprint(MPI.Wtime())\n"
    )
    said = []
    for used in (True, False):
        monkeypatch.setattr(NativeLoop, "used", used)
        result = launcher.run(Job((sys.executable, "-c", program), 2, "sci", capture=True), NicWorld)
        assert result.code == 0, result.report
        said.append((result.clocks, result.summary.spent, result.outputs))
    assert said[0] == said[1]


# Ranks of a compiled program, forked from one process before `main`, are as if executed.


PROBE = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int constructed;
static __thread int own = 7;
__attribute__((constructor)) static void construct(void) { constructed++; }
static void bye(void) { puts("bye"); }

int main(int count, char **words, char **environment) {
    int rank, option, seen = 0;
    char input[64] = "", place[256], name[64];
    struct sigaction action;
    for (char **one = environment; *one; one++) seen += !strncmp(*one, "LANAI_RANK=", 11);
    while ((option = getopt(count, words, "a:")) != -1) printf("option %c %s\n", option, optarg);
    printf("words %d %s %s\n", count, strrchr(words[0], '/'), words[count - 1]);
    printf("variables %d %s %s %s\n", seen, getenv("LANAI_RANK"), getenv("GIVEN"), getenv("LANAI_PROGRAM_FD"));
    printf("input %s\n", fgets(input, sizeof input, stdin) ? input : "none");
    printf("constructed %d, own %d, %s\n", constructed, own, getcwd(place, sizeof place));
    printf("leads %d, new %d\n", getsid(0) == getpid(), clock() < CLOCKS_PER_SEC);
    sigaction(SIGINT, 0, &action);
    printf("interrupt %d\n", action.sa_handler == SIG_DFL);
    place[readlink("/proc/self/exe", place, sizeof place - 1)] = 0;
    printf("file %d\n", !strcmp(place, words[0]) || strlen(place) > 0);
    atexit(bye);
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_processor_name(name, &option);
    sigaction(SIGINT, 0, &action);
    printf("rank %d, interrupt %d\n", rank, action.sa_handler == SIG_DFL);
    MPI_Finalize();
    fputs("no end of line", stderr);
    fflush(stdout);
    if (words[count - 1][0] == '!') raise(SIGUSR1);
    return words[count - 1][0] == '?' ? 3 : 0;
}
"""
PARENT = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(void) { MPI_Init(0, 0); printf("%d\n", getppid()); MPI_Finalize(); }
"""
FORKER = r"""
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void) {
    char place[64], command[4096] = "";
    MPI_Init(0, 0);
    snprintf(place, sizeof place, "/proc/%d/cmdline", getppid());
    FILE *file = fopen(place, "r");
    fread(command, 1, sizeof command - 1, file);
    puts(strstr(command, "forker") ? "forked" : "executed");
    MPI_Finalize();
}
"""
BUFFERS = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static char fixed[5000];
int main(void) {
    int rank, size;
    char *heap = malloc(9000), automatic[3000] = "";
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(automatic, 3000, MPI_CHAR, (rank + 1) % size, 1, fixed, 3000, MPI_CHAR, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(heap, 9000, MPI_CHAR, 0, MPI_COMM_WORLD);
    printf("%.9f\n", MPI_Wtime());
    MPI_Finalize();
}
"""
THREADS = r"""
#include <pthread.h>
#include <unistd.h>
static void *sleeps(void *none) { return sleep(1000), none; }
__attribute__((constructor)) static void begin(void) { pthread_t one; pthread_create(&one, 0, sleeps, 0); }
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compile a program; its path."""
    folder = tmp_path_factory.mktemp("compiled")

    def compile_(name, text, *flags):
        (folder / f"{name}.c").write_text(text)
        words = [
            sys.executable,
            "-m",
            "lanai_sim",
            "mpicc",
            "-o",
            str(folder / name),
            str(folder / f"{name}.c"),
            *flags,
        ]
        subprocess.run(words, check=True, capture_output=True)
        return folder / name

    return compile_


def lanai(*words, cwd=None, stdin=""):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lanai_sim", "run", "-q", *words],
        capture_output=True, text=True, cwd=cwd, input=stdin, env={**os.environ, "GIVEN": "yes"}, check=False,
    )  # fmt: skip
    return done.returncode, sorted(done.stdout.splitlines()), sorted(re.sub(r"pid \d+", "", done.stderr).splitlines())


@pytest.mark.parametrize("last", ["plain", "?", "!"])
def test_a_program_sees_what_it_would_see_if_executed(compiled, tmp_path, last):
    program = str(compiled("probe", PROBE))
    words = ("-n", "2", "--prefix", program, "-a", "value", last)
    forked, executed = (lanai(*flags, *words, cwd=tmp_path, stdin="line") for flags in ([], ["--no-fork"]))
    assert forked == executed
    assert "[0] input line" in forked[1]
    assert "[1] input none" in forked[1]
    assert "[1] rank 1, interrupt 1" in forked[1]
    assert forked[0] == {"plain": 0, "?": 3, "!": 138}[last]


def test_ranks_come_from_one_process_unless_refused(compiled):
    program = str(compiled("parent", PARENT))
    assert len(set(lanai("-n", "3", program)[1])) == 1
    assert set(lanai("-n", "2", program)[1]) != set(lanai("--no-fork", "-n", "2", program)[1])


def test_ranks_on_nics_are_forked_if_their_buffers_lie_in_pages(compiled):
    on_nics = ("-n", "2", "--device", "t3d")
    forker = str(compiled("forker", FORKER))
    assert lanai(*on_nics, forker) == (0, ["forked", "forked"], [])
    assert lanai(*on_nics, "--buffers", "any", forker) == (0, ["executed", "executed"], [])


@pytest.mark.parametrize("device", ["mpi-np", "mbcf"])
def test_forked_ranks_on_nics_take_the_time_of_executed_ones(compiled, device):
    program = str(compiled("buffers", BUFFERS))
    words = ("-n", "3", "--device", device, program)
    forked, executed = lanai(*words), lanai("--no-fork", *words)
    assert forked == executed
    assert len(forked[1]) == 3


def test_a_library_with_threads_has_each_rank_executed(compiled):
    """A fork would lose the thread."""
    library = compiled("libthreads.so", THREADS, "-shared", "-fPIC", "-pthread")
    program = compiled("threads", PARENT.replace("getppid()", 'access("/proc/self/task", 0) + 5'), str(library))
    assert lanai("-n", "2", str(program)) == (0, ["5", "5"], [])
