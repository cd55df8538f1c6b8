"""Programs that put and flush on `ideal`, for what native code does of that."""

import sys

from lanai_sim.job.start import start

HEAD = """
import mpi4py
mpi4py.rc.threads = {threads}
import random, sys, time, zlib
import numpy as np
from mpi4py import MPI
w = MPI.COMM_WORLD
win = MPI.Win.Allocate(1000, 2, comm=w)
memory = np.frombuffer(win.tomemory(), np.uint8)
others = [rank for rank in range(w.size) if rank != w.rank]
data = np.arange(500, dtype=np.uint8) + w.rank
dice = random.Random(w.rank + {seed})
out = []

def note(*what):
    out.append((w.rank, *what, MPI.Wtime().hex()))

def seen():
    return zlib.crc32(memory)

def calls():
    from lanai_host.abi.native import native
    return native.puts.calls if native.puts else 0

def puts(count, rank=None, flushes=(2, 3, 9, 9)):
    '''To one rank or to several, with flushes of all kinds.'''
    one, all_, local, all_local = flushes
    for step in range(count):
        to = dice.choice(others) if rank is None else rank
        size = dice.choice([1, 3, 8, 8, 8, 400])
        win.Put(data[:size], to, dice.randrange(250))
        if not dice.randrange(one):
            win.Flush(to)
        if not dice.randrange(all_):
            win.Flush_all()
        if not dice.randrange(local):
            win.Flush_local(to)
        if not dice.randrange(all_local):
            win.Flush_local_all()
        if not dice.randrange(20):
            note("step", step)

def end():
    w.Barrier()
    note("end", seen())
    print(*out, sep="\\n", flush=True)
    used = np.zeros(w.size, np.int64)
    w.Gather(np.array([calls()]), used)
    if w.rank == 0:
        print("native", used.tolist(), file=sys.stderr)
    win.Free()
"""


def head(threads=False, seed=0):
    return HEAD.replace("{threads}", str(threads)).replace("{seed}", str(seed))


def run(program, ranks, **options):
    done = start((sys.executable, "-c", program), ranks, max_wall=200, **options)
    assert (done.code, done.report) == (0, "")
    return done
