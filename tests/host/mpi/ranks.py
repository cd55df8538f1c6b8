"""Ranks as threads of this process, each with its own World over an ideal device: MPI without a simulator."""

import queue
import threading

import numpy as np

from lanai_host.config import HostConfig
from lanai_host.devices.ideal import IdealDevice
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.world import World

LATENCY = 1_000_000  # picoseconds
TIMEOUT = 30


class Post:
    """Mail between threads. Arrival is sending time plus LATENCY; order is that of the queue."""

    def __init__(self, rank, boxes):
        self.now = 0
        self._rank = rank
        self._boxes = boxes

    def elapse(self, picoseconds):
        self.now += picoseconds

    def post(self, dest, letter):
        self._boxes[dest].put((self.now + LATENCY, self._rank, bytes(letter)))

    def collect(self, why):
        box = self._boxes[self._rank]
        letters = []
        try:
            if why is not None:
                letters.append(box.get(timeout=TIMEOUT))
            while True:
                letters.append(box.get_nowait())
        except queue.Empty:
            if why is not None and not letters:
                raise TimeoutError(f"rank {self._rank} waits: {why}") from None
        for arrival, _, _ in letters:
            self.now = max(self.now, arrival)
        return [(source, letter) for _, source, letter in letters]

    def close(self):
        pass


def run(size, program, device=None):
    """Run `program(world)` as `size` ranks; the list of what they return. The first exception is raised here."""
    boxes = [queue.Queue() for _ in range(size)]
    results, errors = [None] * size, []

    def rank_main(rank):
        try:
            made = IdealDevice(rank, size, Post(rank, boxes), HostConfig())
            world = World(device(made) if device else made)
            world.init()
            results[rank] = program(world)
            world.finalize()
        except BaseException as error:
            errors.append((rank, error))
            raise SystemExit from None

    threads = [threading.Thread(target=rank_main, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT + 10)
    timeouts = [pair for pair in errors if isinstance(pair[1], TimeoutError)]
    for _, error in [pair for pair in errors if pair not in timeouts] + timeouts:
        raise error
    assert not any(thread.is_alive() for thread in threads)
    return results


def buffer(array):
    """(address, count, datatype) of a numpy array."""
    names = {
        "i4": "MPI_INT",
        "i8": "MPI_LONG",
        "f8": "MPI_DOUBLE",
        "f4": "MPI_FLOAT",
        "u1": "MPI_UNSIGNED_CHAR",
        "c16": "MPI_C_DOUBLE_COMPLEX",
    }
    return array.ctypes.data, array.size, PREDEFINED[names[array.dtype.str[1:]]]


def ints(*values):
    return np.array(values, np.int32)
