"""Two ranks: latency, rate, stream, overlap, host time of calls, and messages without a receive.

Buffers are pages of their own, so that a run does not depend on where the heap puts them.
"""

import json
import mmap
from functools import cache
from typing import Any

import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK = WORLD.rank
PEER = 1 - RANK
ROUNDS = 3
SIZES = (0, 4, 64, 1024, 4096, 16384, 65536)
LONG = 65536
MUCH = 16384  # bytes from which a round takes a NIC long
MICRO = 1e6


@cache
def buffer(size: int, number: int = 0) -> Any:
    """Return the same buffer each time: its pages are pinned once."""
    return np.frombuffer(mmap.mmap(-1, max(size, 1)), "u1")[:size]


def one_way(size: int, source: int = PEER, tag: int = 0) -> float:
    """Half of the shortest round trip, in microseconds."""
    data = buffer(size)
    WORLD.Barrier()
    best = 1.0
    for _ in range(ROUNDS if size < MUCH else 2):
        begin = MPI.Wtime()
        if RANK == 0:
            WORLD.Send(data, PEER, tag)
            WORLD.Recv(data, source, tag)
        else:
            WORLD.Recv(data, source, tag)
            WORLD.Send(data, PEER, tag)
        best = min(best, MPI.Wtime() - begin)
    return best / 2 * MICRO


def behind(count: int) -> float:
    """One way, behind receives that other messages will meet."""
    posted = [WORLD.Irecv(bytearray(4), PEER, 100 + number) for number in range(count)]
    time = one_way(4, tag=1)
    for number in range(count):
        WORLD.Send(bytes(4), PEER, 100 + number)
    MPI.Request.Waitall(posted)
    return time


def burst(size: int, count: int) -> float:
    """Seconds for messages one after the other, until the receiver says that it has all."""
    data = [buffer(size, number) for number in range(count)]
    WORLD.Barrier()
    begin = MPI.Wtime()
    MPI.Request.Waitall([WORLD.Isend(one, PEER) if RANK == 0 else WORLD.Irecv(one, PEER) for one in data])
    done = bytearray(1)
    if RANK == 0:
        WORLD.Recv(done, PEER, 9)
    else:
        WORLD.Send(done, PEER, 9)
    return MPI.Wtime() - begin


def call(size: int) -> float:
    """Microseconds of the host in MPI_Isend, whose receive is posted."""
    data = buffer(size)
    WORLD.Barrier()
    request = WORLD.Irecv(data, PEER) if RANK else None
    WORLD.Barrier()
    begin = MPI.Wtime()
    if RANK == 0:
        request = WORLD.Isend(data, PEER)
    time = MPI.Wtime() - begin
    assert request is not None
    request.Wait()
    WORLD.Barrier()
    return time * MICRO


def compute(seconds: float) -> None:
    """Compute without calls that could help a message on: MPI_Wtime looks at the clock alone."""
    end = MPI.Wtime() + seconds
    while MPI.Wtime() < end:
        pass


def hidden(size: int, who: int, alone: float) -> float:
    """Percent of a transfer that is over when rank `who` has computed for twice the time that it takes alone."""
    data = buffer(size)
    WORLD.Barrier()
    request = WORLD.Irecv(data, PEER) if RANK == 1 else None
    WORLD.Barrier()
    if RANK == 0:
        request = WORLD.Isend(data, PEER)
    assert request is not None
    left = 0.0
    if who == RANK:
        compute(2 * alone / MICRO)
        begin = MPI.Wtime()
        request.Wait()
        left = MPI.Wtime() - begin
    else:
        request.Wait()
    return float(100 * max(0.0, 1 - WORLD.bcast(left, who) * MICRO / alone))


def unexpected(size: int) -> float:
    """Microseconds of MPI_Send, while the receiver computes for half a millisecond before it posts its receive."""
    data = buffer(size)
    WORLD.Barrier()
    begin = MPI.Wtime()
    if RANK == 0:
        WORLD.Send(data, PEER)
        time = MPI.Wtime() - begin
    else:
        compute(5e-4)
        WORLD.Recv(data, PEER)
        time = 0.0
    WORLD.Barrier()
    return time * MICRO


def barrier(count: int) -> float:
    """Microseconds of a barrier, the mean of several in a row."""
    WORLD.Barrier()
    begin = MPI.Wtime()
    for _ in range(count):
        WORLD.Barrier()
    return (MPI.Wtime() - begin) / count * MICRO


def main() -> None:
    found = {f"one way, {size} B, us": one_way(size) for size in SIZES}
    alone = found[f"one way, {LONG} B, us"]
    found["one way, 4 B, ANY_SOURCE, us"] = one_way(4, source=MPI.ANY_SOURCE)
    found["one way, 4 B, behind 16 receives, us"] = behind(16)
    found["4-byte messages a second"] = 32 / burst(4, 32)
    found["stream of 64 KiB, MB/s"] = 4 * LONG / burst(LONG, 4) / MICRO
    found["hidden behind computing, sender, %"] = hidden(LONG, 0, alone)
    found["hidden behind computing, receiver, %"] = hidden(LONG, 1, alone)
    found |= {f"host in Isend of {size} B, us": call(size) for size in (4, 4096, LONG)}
    found |= {f"Send of {size} B without a receive, us": unexpected(size) for size in (4, 1024, LONG)}
    found["barrier, 2 ranks, us"] = barrier(4)
    if RANK == 0:
        print(json.dumps({name: round(value, 2) for name, value in found.items()}))


if __name__ == "__main__":
    main()
