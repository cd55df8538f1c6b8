"""Calls that were out of proportion: their CPU time grows with their number and not faster, and beside
MPICH's it has a limit."""

import subprocess
import sys

import pytest

from lanai_host.abi import weighing
from lanai_host.abi.counting import CALL, LINE, pace
from lanai_sim.studies.benches.mpi import mpich

from .jobs import mpicc, together

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
static char *room;
static int rank;
static void none(int n) { (void)n; }
static void duplicate(int n, MPI_Comm of) {
    MPI_Comm made;
    for (int i = 0; i < n; i++) MPI_Comm_dup(of, &made), MPI_Comm_free(&made);
}
static void alone(int n) { duplicate(n, MPI_COMM_SELF); }
static void world(int n) { duplicate(n, MPI_COMM_WORLD); }
static void errors(int n) {
    int class, code;
    for (int i = 0; i < n; i++) {
        MPI_Add_error_class(&class), MPI_Add_error_code(class, &code), MPI_Add_error_string(code, "text");
        MPI_Remove_error_string(code), MPI_Remove_error_code(code), MPI_Remove_error_class(class);
    }
}
static void allocate(int n) { memset(room = malloc((size_t)n << 20), 1, (size_t)n << 20); }
static void bytes(int n) { room = calloc(n, 1); }
static void copy(int n) {
    MPI_Datatype mebibyte;
    MPI_Type_contiguous(1 << 20, MPI_BYTE, &mebibyte);
    MPI_Type_commit(&mebibyte);
    if (rank) MPI_Recv(room, n, mebibyte, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Send(room, n, mebibyte, 1, 0, MPI_COMM_WORLD);
    MPI_Type_free(&mebibyte);
}
static void unexpected(int n) {
    MPI_Request request = MPI_REQUEST_NULL;
    int mebibyte = 1 << 20;
    if (!rank) MPI_Isend(room, n * mebibyte, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank) MPI_Recv(room, n * mebibyte, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void indexed(int n) {
    int *lengths = malloc(4 * n), *places = malloc(4 * n);
    MPI_Datatype made;
    for (int i = 0; i < n; i++) lengths[i] = 1, places[i] = 2 * i;
    MPI_Type_indexed(n, lengths, places, MPI_INT, &made);
    MPI_Type_commit(&made);
    MPI_Type_free(&made);
}
static void barriers(int n) {
    MPI_Request *all = malloc(n * sizeof *all);
    for (int i = 0; i < n; i++) MPI_Ibarrier(MPI_COMM_WORLD, all + i);
    MPI_Waitall(n, all, MPI_STATUSES_IGNORE);
}
static void partitions(int n) {
    MPI_Request request;
    int here;
    if (rank) MPI_Precv_init(room, n, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else MPI_Psend_init(room, n, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (int i = 0; i < n && !rank; i++) MPI_Pready(i, request);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n && rank; i += here) MPI_Parrived(request, i, &here);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}
static struct { const char *name; void (*begin)(int), (*work)(int); } calls[] = {
    {"alone", none, alone}, {"world", none, world}, {"errors", none, errors}, {"copy", allocate, copy},
    {"unexpected", allocate, unexpected}, {"indexed", none, indexed}, {"barriers", none, barriers},
    {"partitions", bytes, partitions}};
static double now(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
int main(int argc, char **argv) {
    int n = atoi(argv[2]);
    unsigned which = 0;
    double spent, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (strcmp(calls[which].name, argv[1])) which++;
    calls[which].begin(n);
    MPI_Barrier(MPI_COMM_WORLD);
    spent = now();
    calls[which].work(n);
    spent = now() - spent;
    MPI_Reduce(&spent, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("%.9f\n", all);
    MPI_Finalize();
}
"""
# Name, ranks, how many here and on MPICH, and how often MPICH's time each may take.
CALLS = (
    ("alone", 1, 4000, 4000, 20),
    ("world", 2, 1500, 1500, 20),
    ("errors", 1, 100_000, 10_000, 10),
    ("copy", 2, 200, 200, 10),
    ("unexpected", 2, 200, 200, 10),
    ("indexed", 1, 1 << 20, 1 << 20, 20),
    ("barriers", 2, 1000, 1000, 10),
    ("partitions", 2, 1 << 18, 1 << 18, 10),
)
GROWTH = 2.0  # times as much for each call, if there are four times as many
TRIES = 3


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("slow") / "calls"
    path.with_suffix(".c").write_text(PROGRAM)
    mpicc("-O1", "-w", "-o", str(path), f"{path}.c")
    return path


def spent(program, call, ranks, count):
    """CPU seconds of all ranks for one call."""
    done = together(ranks, str(program), call, str(count))
    assert done.returncode == 0, done.stderr
    return float(done.stdout) / count


def spent_by_mpich(program, call, ranks, count):
    starter, libraries = mpich()
    command = [str(starter), "-n", str(ranks), "-env", "LD_LIBRARY_PATH", str(libraries), str(program), call]
    done = subprocess.run([*command, str(count)], capture_output=True, text=True, timeout=500, check=True)
    return float(done.stdout) / count


@pytest.mark.slow
@pytest.mark.parametrize(("call", "ranks", "count", "theirs", "limit"), CALLS, ids=[call[0] for call in CALLS])
def test_calls_beside_mpich(program, call, ranks, count, theirs, limit):
    if mpich() is None:
        pytest.fail("the mpich wheel is not installed: pip install mpich")
    pairs = [(spent(program, call, ranks, count), spent_by_mpich(program, call, ranks, theirs)) for _ in range(TRIES)]
    assert min(own for own, _ in pairs) < limit * min(other for _, other in pairs), pairs


@pytest.mark.slow
@pytest.mark.parametrize(("call", "ranks", "count"), [call[:3] for call in CALLS])
def test_four_times_as_many_take_four_times_as_long(program, call, ranks, count):
    some, many = ([spent(program, call, ranks, size) for _ in range(TRIES)] for size in (count // 4, count))
    assert min(many) < GROWTH * min(some), (some, many)


# Computing that takes simulated time: the same counts in every run.


PYTHON = """if True:
    import json, threading
    from mpi4py import MPI
    def spent(work):
        start = MPI.Wtime()
        work()
        return round(1e12 * (MPI.Wtime() - start))
    def nothing():
        pass
    def lines(n):
        for _ in range(n):
            pass
    def elsewhere():
        thread = threading.Thread(target=lines, args=(500,))
        thread.start()
        thread.join()
    def sized():
        n = 1
        while spent(lambda: lines(n)) < 1e9:
            n *= 2
        return n
    base = spent(nothing)
    spent(lambda: json.dumps(1))
    print(base, spent(lambda: lines(100)) - base, spent(lambda: lines(200)) - base, spent(elsewhere) > 500 * 2 * 100,
          spent(lambda: MPI.COMM_WORLD.Get_name()) < base + 10**6, sized())
    """
C = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static double spent(long n) {
    double start = MPI_Wtime();
    for (volatile long i = 0; i < n; i++) continue;
    return MPI_Wtime() - start;
}
int main(void) {
    double few, many;
    MPI_Init(NULL, NULL);
    few = spent(1000), many = spent(3000);
    printf("%.0f %.0f\\n", 1e12 * few, 1e12 * (many - few));
    MPI_Finalize();
    return 0;
}
"""


def run(*command, price="1ns", **how):
    done = together(1, *command, options=["--compute", f"counted:{price}"], **how)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_lines_of_python_take_time():
    first, second = (run(sys.executable, "-c", PYTHON) for _ in range(2))
    assert first == second
    base, hundred, two_hundred, threads, library, sized = first
    assert int(two_hundred) - int(hundred) == 100 * 2 * LINE * 1000  # a loop of one line has two
    assert int(base) > 0
    assert (threads, library) == ("True", "True")
    assert int(sized) >= 1024


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The program, made with --count and without."""
    folder = tmp_path_factory.mktemp("counting")
    source = folder / "work.c"
    source.write_text(C)
    made = []
    for options in (["--count"], []):
        made.append(str(folder / f"work{len(made)}"))
        mpicc(*options, "-O1", str(source), "-o", made[-1])
    return made


def test_instructions_take_time(compiled):
    counting, _ = compiled
    first = [int(number) for number in run(counting)]
    assert first == [int(number) for number in run(counting)]
    assert 4_000_000 <= first[1] <= 16_000_000  # 2000 turns, each of at least a load, an addition, a store, a branch
    dearer = [int(number) for number in run(counting, price="3ns")]
    assert dearer[1] == 3 * first[1]


def test_a_block_has_the_instructions_up_to_the_next_and_the_first_one_those_of_the_function_before_it():
    lines = [
        "\t.type\tf, @function",
        "f:",
        "\tpushq\t%rbx",
        "\tcall\t__sanitizer_cov_trace_pc@PLT",
        "\ttestl\t%edi, %edi",
    ]
    lines += [
        "\tje\t.L2",
        ".L2:",
        "\tcall\t__sanitizer_cov_trace_pc",
        "\tret",
        "\t.section\t.text.unlikely",
        "\tnop",
        "",
    ]
    found = weighing.weigh("\n".join(lines))
    assert [line.split()[1] for line in found.splitlines() if "addq" in line] == ["$3,", "$1,"]
    assert "call" not in found


def test_jitter_makes_computing_longer_by_a_part_that_the_seed_and_the_rank_choose():
    even, one, same, other = (pace(10, *how) for how in ((0.0, 0, 0), (0.5, 7, 1), (0.5, 7, 1), (0.5, 7, 2)))
    assert even(1000) == 10_000
    first, again, others = ([time(1000) for _ in range(50)] for time in (one, same, other))
    assert first == again != others
    assert 10_000 <= min(first) < 11_000 < 14_000 < max(first) < 15_000


def test_of_other_binaries_each_call_takes_time(compiled):
    _, plain = compiled
    few, more = (int(number) for number in run(plain))
    assert more == 0
    clock = 100_000
    assert few == CALL * 1000 + clock


def test_counting_costs_nothing_where_it_is_not_asked_for(compiled):
    counting, _ = compiled
    assert together(1, counting).stdout.split() == ["100000", "0"]


@pytest.mark.parametrize("asked", ["count", "counted:", "counted:fast", "counted:5"])
def test_what_cannot_be_asked_for(asked):
    done = together(1, "true", options=["--compute", asked])
    assert done.returncode == 2
    assert "--compute" in done.stderr
    assert asked.removeprefix("counted:") in done.stderr


HINT = """if True:
    from mpi4py import MPI
    while MPI.Wtime() < {limit}:
        pass
    """


@pytest.mark.parametrize(("limit", "hints"), [(1.0, 1), (0.001, 0)])
def test_a_program_that_only_reads_the_clock_gets_a_hint(limit, hints):
    done = together(1, sys.executable, "-c", HINT.format(limit=limit))
    assert done.stderr.count("run it with --compute counted") == hints, done.stderr
