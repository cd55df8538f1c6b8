"""Ranks of a compiled program, forked from one process before `main`, are as if executed."""

import os
import re
import subprocess
import sys

import pytest

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
