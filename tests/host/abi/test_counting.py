"""Computing that takes simulated time: the same counts in every run."""

import sys

import pytest

from lanai_host.abi import weighing
from lanai_host.abi.counting import CALL, LINE, pace

from .jobs import mpicc, together

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
