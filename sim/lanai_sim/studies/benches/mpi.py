"""Costs of calls and messages in real time: a local call, half a round trip of 4 bytes on the ideal
device, the same while a window exists that is not used, a put of 8 bytes with its flush, all beside
the same program under the `mpich` wheel's own library, and the start of a small job."""

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lanai_hdl.errors import UserError
from lanai_host.abi import wrappers

from ...job.job import Job

NAME = "mpi"
HELP = "MPI in real time: calls, ideal device against MPICH, start-up"

ROUNDS = 5  # of each, in turns; the best counts: other work on the machine only ever slows
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int rank;

/* Half a round trip of 4 bytes. */
static double ping_pong(int trips) {
    char word[4] = "abc";
    double best = 1e9;
    for (int round = 0; round < 10; round++) {
        double start = now();
        for (int i = 0; i < trips; i++) {
            if (rank) MPI_Recv(word, 4, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(word, 4, MPI_CHAR, !rank, 0, MPI_COMM_WORLD);
            if (!rank) MPI_Recv(word, 4, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        double spent = (now() - start) / trips / 2;
        if (spent < best) best = spent;
    }
    return best;
}

/* A put of 8 bytes and its flush, while the target waits in a barrier. */
static double put_and_flush(int trips, MPI_Win win) {
    double best = 1e9, value = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        for (int round = 0; round < 10; round++) {
            double start = now();
            for (int i = 0; i < trips; i++) {
                MPI_Put(&value, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win);
                MPI_Win_flush(1, win);
            }
            double spent = (now() - start) / trips;
            if (spent < best) best = spent;
        }
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return best;
}

static double local_call(void) {
    int calls = 20000;
    double best = 1e9;
    for (int round = 0; !rank && round < 10; round++) {
        int answer;
        double start = now();
        for (int i = 0; i < calls; i++) MPI_Comm_rank(MPI_COMM_WORLD, &answer);
        double spent = (now() - start) / calls;
        if (spent < best) best = spent;
    }
    return best;
}

int main(int argc, char **argv) {
    int trips = atoi(argv[1]);
    double times[4], *memory;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    times[0] = ping_pong(trips);
    times[1] = local_call();
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    times[2] = ping_pong(trips);
    times[3] = put_and_flush(trips, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    if (!rank) {
        FILE *file = fopen(argv[2], "w");
        for (int i = 0; i < 4; i++) fprintf(file, "%.9g ", times[i] * 1e6);
        fclose(file);
    }
}
"""
HELLO = "from mpi4py import MPI; print('hello from', MPI.COMM_WORLD.rank)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trips", type=int, default=400, help="round trips to time at once (default: %(default)s)")


def mpich() -> tuple[Path, Path] | None:
    """mpiexec and the library's directory of the `mpich` wheel, where this Python has it."""
    starter, libraries = Path(sysconfig.get_path("scripts")) / "mpiexec", Path(sys.prefix) / "lib"
    return (starter, libraries) if starter.exists() and (libraries / "libmpi.so.12").exists() else None


def on_ideal(program: Path, trips: int, result: Path) -> list[float]:
    """Half a round trip, a local call, half a round trip beside an idle window, put and flush: in
    microseconds."""
    Job((str(program), str(trips), str(result)), 2).run().check()
    return [float(word) for word in result.read_text().split()]


def on_mpich(found: tuple[Path, Path], program: Path, trips: int, result: Path) -> list[float]:
    """Return the times of the program under real MPICH."""
    starter, libraries = found
    run_checked(
        [str(starter), "-n", "2", str(program), str(trips), str(result)],
        {**os.environ, "LD_LIBRARY_PATH": str(libraries)},
    )
    return [float(word) for word in result.read_text().split()]


def run_checked(command: Sequence[str], env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{command[0]} failed with exit code {done.returncode}: {(done.stdout + done.stderr)[-500:]}")


def hello_seconds() -> float:
    """Return the seconds from the command line to the end of four ranks that only say hello."""
    started = time.perf_counter()
    run_checked([sys.executable, "-m", "lanai_sim", "run", "-n", "4", "python", "-c", HELLO])
    return time.perf_counter() - started


def run(args: argparse.Namespace) -> dict[str, float]:
    ours: list[list[float]] = []
    theirs: list[list[float]] = []
    found = mpich()
    with tempfile.TemporaryDirectory() as folder:
        source, program, result = (Path(folder) / name for name in ("bench.c", "bench", "result"))
        source.write_text(PROGRAM)
        run_checked(wrappers.line(wrappers.WRAPPERS["mpicc"], ["-O2", "-o", str(program), str(source)]).command)
        for _ in range(ROUNDS):
            ours.append(on_ideal(program, args.trips, result))
            if found is not None:
                theirs.append(on_mpich(found, program, 10 * args.trips, result))
    half, call, beside, put = (min(column) for column in zip(*ours, strict=True))
    figures = {"mpi.comm_rank_us": call, "mpi.ideal_half_round_trip_us": half}
    figures |= {"mpi.idle_window_half_round_trip_us": beside, "mpi.ideal_put_flush_us": put}
    if theirs:
        real, _, _, real_put = (min(column) for column in zip(*theirs, strict=True))
        figures |= {"mpi.mpich_half_round_trip_us": real, "mpi.half_round_trip_ratio": half / real}
        figures |= {"mpi.mpich_put_flush_us": real_put, "mpi.put_flush_ratio": put / real_put}
    else:
        print("lanai: note: no `mpich` wheel to compare with; run: pip install mpich", file=sys.stderr)
    figures["mpi.hello_4_seconds"] = min(hello_seconds() for _ in range(3))
    return figures
