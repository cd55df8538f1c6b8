"""What calls and messages cost in real time: a local call, half a round trip of 4 bytes on the ideal device beside the same program under
the `mpich` wheel's own library, and the start of a small job."""

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
from lanai_host.abi.programs import environment

from ...job.config import RunConfig
from ...job.launcher import run as launch

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

int main(int argc, char **argv) {
    int rank, trips = atoi(argv[1]), calls = 20000;
    char word[4] = "abc";
    double best = 1e9, call = 1e9;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
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
    for (int round = 0; !rank && round < 10; round++) {
        int answer;
        double start = now();
        for (int i = 0; i < calls; i++) MPI_Comm_rank(MPI_COMM_WORLD, &answer);
        double spent = (now() - start) / calls;
        if (spent < call) call = spent;
    }
    MPI_Finalize();
    if (!rank) {
        FILE *file = fopen(argv[2], "w");
        fprintf(file, "%.9g %.9g\n", best * 1e6, call * 1e6);
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
    """(half round trip, local call) in microseconds."""
    command = (str(program), str(trips), str(result))
    done = launch(RunConfig(command, 2, environment=environment(program)))
    if done.code:
        raise RuntimeError(done.report)
    return [float(word) for word in result.read_text().split()]


def on_mpich(found: tuple[Path, Path], program: Path, trips: int, result: Path) -> list[float]:
    """The same of real MPICH."""
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
    """From the command line to the end of four ranks that only say hello."""
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
    half, call = (min(column) for column in zip(*ours, strict=True))
    figures = {"mpi.comm_rank_us": call, "mpi.ideal_half_round_trip_us": half}
    if theirs:
        real = min(row[0] for row in theirs)
        figures |= {"mpi.mpich_half_round_trip_us": real, "mpi.half_round_trip_ratio": half / real}
    else:
        print("lanai: note: no `mpich` wheel to compare with; run: pip install mpich", file=sys.stderr)
    figures["mpi.hello_4_seconds"] = min(hello_seconds() for _ in range(3))
    return figures
