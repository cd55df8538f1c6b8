"""Puts and flushes without Python on `ideal`: whatever goes on beside them, all is as Python does it,
which a traced run shows."""

import sys

import pytest

from lanai_sim.job.start import start

from .jobs import mpicc, together
from .native_jobs import head, run

pytest.importorskip("mpi4py")
BESIDE = """
for turn in range(14):
    kind = turn % 7
    nocheck = MPI.MODE_NOCHECK if turn & 1 else 0
    w.Barrier()
    if turn % 3:
        win.Lock_all(nocheck)
    else:
        for rank in others:
            win.Lock(rank, MPI.LOCK_SHARED, nocheck)
    if kind == 0 or w.rank == 0:  # all write to all; else the others ...
        request = w.Irecv(np.zeros(1, np.uint8), w.rank - 1, 3) if kind == 1 and w.rank else MPI.REQUEST_NULL
        puts(60)
        win.Flush_all()
        note("written", turn)
        if kind == 4:  # what it gets comes while it waits
            for _ in others:
                w.Recv(np.zeros(1, np.uint8), tag=4)
                puts(20)
    elif kind == 1:  # compute, for other times in real time
        time.sleep(random.random() / 100)
    elif kind == 2:  # poll
        for step in range(40):
            w.Iprobe(tag=9)
            win.Sync()
            note("polled", seen())
    elif kind == 3:  # use the window otherwise
        win.Get(np.zeros(8, np.uint8), 0)
        win.Accumulate(data[:1], 0, 499)
        win.Flush_all()
    elif kind == 4:
        puts(5)
        w.Send(data[:1], 0, 4)
    elif kind == 5:  # communicate
        if w.rank == 1:
            for step in range(20):
                w.Sendrecv(data[:8], 1, 5, np.zeros(8, np.uint8), 1, 5)
                note("sent", step)
    if turn % 3:
        win.Unlock_all()
    else:
        for rank in others:
            win.Unlock(rank)
    note("turn", turn)
end()
"""

MIXED = """
second = MPI.Win.Allocate(1000, 2, comm=w)
for turn in range(4):
    w.Barrier()
    win.Lock_all(MPI.MODE_NOCHECK if turn & 1 else 0)
    second.Lock_all()
    common, sent = random.Random(turn), []
    for step in range(25):
        kind = dice.randrange(12)
        if kind < 6:
            puts(dice.randrange(1, 8))
        elif kind == 6:
            win.Accumulate(data[:3], dice.choice(others), 490)
        elif kind == 7:
            got = np.zeros(8, np.uint8)
            win.Get(got, dice.choice(others))
            win.Flush_all()
            note("got", zlib.crc32(got))
        elif kind == 8:
            second.Put(data[:9], dice.choice(others), 3)
            second.Flush_all()
        elif kind == 9:
            win.Sync()
            note("seen", seen())
        else:
            sent.append(w.Isend(data[:4], dice.choice(others), 8))
        together = common.randrange(6)
        if together == 0:
            barrier = w.Ibarrier()
            puts(3)
            barrier.Wait()
        elif together == 1:
            w.Allreduce(MPI.IN_PLACE, np.zeros(2))
    MPI.Request.Waitall(sent)
    w.Barrier()
    while w.Iprobe(tag=8):
        w.Recv(np.zeros(4, np.uint8), tag=8)
    win.Unlock_all()
    second.Unlock_all()
    note("turn", seen())
second.Free()
end()
"""


@pytest.mark.parametrize(
    ("program", "ranks", "threads", "seed"),
    [
        pytest.param(BESIDE, 2, False, 0, marks=pytest.mark.ci),
        pytest.param(BESIDE, 3, True, 0, marks=pytest.mark.ci),
        (BESIDE, 4, True, 170),
        pytest.param(MIXED, 3, False, 0, marks=pytest.mark.ci),
    ],
    ids=["beside-2", "beside-3", "beside-4", "mixed-3"],
)
def test_times_and_bytes_are_those_of_python(program, ranks, threads, seed, tmp_path, capfd):
    found = []
    for options in ({}, {}, {"trace": str(tmp_path / "trace")}):
        clocks = run(head(threads, seed) + program, ranks, **options).clocks
        text = capfd.readouterr()
        found.append((clocks, sorted(text.out.splitlines())))
        native = text.err
        assert ("native [0, " in native) == bool(options), native
    assert found[0] == found[1] == found[2]
    assert len(found[0][1]) > 80


ENDLESS = """
if w.rank == 0:
    win.Lock(1)
    while True:
        puts(1, 1)
w.Barrier()
"""


def test_a_run_that_is_over_says_where(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(head() + ENDLESS)
    done = [
        start((sys.executable, str(program)), 2, max_sim_time=10**9, max_wall=100, **options)
        for options in ({}, {"trace": str(tmp_path / "trace")})
    ]
    assert "waits in MPI_Win_flush" in done[0].report
    assert (done[0].report, done[0].clocks) == (done[1].report, done[1].clocks)


C_PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank;
    double *memory, value = 5;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(800, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (!rank) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        for (int i = 0; i < 100; i++) {
            value = i;
            MPI_Put(&value, 1, MPI_DOUBLE, 1, i, 1, MPI_DOUBLE, win);
            MPI_Win_flush(1, win);
        }
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double sum = 0;
    for (int i = 0; i < 100; i++) sum += memory[i];
    if (rank) printf("%g %.17g\\n", sum, MPI_Wtime());
    MPI_Win_free(&win);
    MPI_Finalize();
}
"""
SHIM = """
#include <mpi.h>
#include <stdio.h>
static int puts_;
int MPI_Put(const void *address, int count, MPI_Datatype type, int rank, MPI_Aint disp, int there, MPI_Datatype its,
            MPI_Win win) {
    puts_++;
    return PMPI_Put(address, count, type, rank, disp, there, its, win);
}
int MPI_Win_flush(int rank, MPI_Win win) { return PMPI_Win_flush(rank, win); }
int MPI_Finalize(void) {
    if (puts_) printf("%d puts\\n", puts_);
    return PMPI_Finalize();
}
"""


def test_a_profiling_tool_sees_each_call(tmp_path):
    said = []
    for sources in ((C_PROGRAM,), (C_PROGRAM, SHIM)):
        files = [tmp_path / f"{number}.c" for number, _ in enumerate(sources)]
        for file, text in zip(files, sources, strict=True):
            file.write_text(text)
        program = tmp_path / "program"
        mpicc(*map(str, files), "-o", str(program))
        said.append(together(2, str(program)).stdout.splitlines())
    assert said[0][0].startswith("4950 ")
    assert sorted(said[1]) == ["100 puts", *said[0]]
