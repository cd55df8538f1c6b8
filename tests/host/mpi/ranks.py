"""Ranks as threads of this process, each with its own World over an ideal device: MPI without a
simulator."""

import collections
import queue
import threading

import numpy as np

from lanai_host.config import HostConfig
from lanai_host.mpi.datatypes import PREDEFINED
from lanai_host.mpi.world import World
from lanai_host.operation import Operation
from lanai_host.process_manager import Local, Registry
from lanai_host.stacks.ideal.device import IdealDevice

LATENCY = 1_000_000  # picoseconds
TIMEOUT = 30


class ThreadTransport:
    """A transport between threads. Arrival is sending time plus LATENCY; order is that of the
    queue."""

    def __init__(self, rank, boxes):
        self.now = 0
        self._rank = rank
        self._boxes = boxes

    def elapse(self, picoseconds):
        self.now += picoseconds

    def post(self, dest, head, body):
        self._boxes[dest].put((self.now + LATENCY, self._rank, head + body.read()))

    def collect(self, why):
        """One datagram at a time, so that the clock is not set by datagrams that no call waits for
        yet."""
        try:
            arrival, source, datagram = (
                self._boxes[self._rank].get(timeout=TIMEOUT) if why else self._boxes[self._rank].get_nowait()
            )
        except queue.Empty:
            if why is None:
                return []
            raise TimeoutError(f"rank {self._rank} waits: {why}") from None
        self.now = max(self.now, arrival)
        return [(source, datagram)]

    def close(self):
        pass


class LateDevice(IdealDevice):
    """A device whose sends read their buffers and end only when the library next looks, one at a
    time, as a NIC's do."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._late = collections.deque()
        self._mirrored = []

    def send(self, dest, tag, context, body, mode):
        operation = Operation(self.rank, tag)
        self._late.append((operation, (dest, tag, context, body, mode)))
        return operation

    def _one_more(self):
        if self._late:
            operation, arguments = self._late.popleft()
            self._mirrored.append((operation, super().send(*arguments)))
        still = []
        for operation, real in self._mirrored:
            operation.done, operation.cancelled, operation.error = real.done, real.cancelled, real.error
            if not real.done:
                still.append((operation, real))
        self._mirrored = still

    def cancel(self, operation):
        for entry in self._late:
            if entry[0] is operation:
                self._late.remove(entry)
                operation.done = operation.cancelled = True
                return True
        for mirror, real in self._mirrored:
            if mirror is operation:
                return super().cancel(real)
        return super().cancel(operation)

    def progress(self):
        self._one_more()
        super().progress()

    def wait(self, operations, why):
        if operations is None:
            late = bool(self._late)
            self._one_more()
            if not late:
                super().wait(None, why)
                self._one_more()
            return
        while not any(operation.done for operation in operations):
            late = bool(self._late)
            self._one_more()
            if not late and not any(operation.done for operation in operations):
                super().wait(None, why)

    def close(self):
        while self._late:
            self._one_more()
        super().close()


def run(size, program, device=IdealDevice):
    """Run `program(world)` as `size` ranks; the list of what they return. The first exception is
    raised here."""
    boxes = [queue.Queue() for _ in range(size)]
    results, errors = [None] * size, []
    registry = Registry()

    def rank_main(rank):
        try:
            world = World(device(rank, size, ThreadTransport(rank, boxes), HostConfig()), manager=Local(rank, registry))
            world.init()
            results[rank] = program(world)
            world.finalize()
        except BaseException as error:
            errors.append((rank, error))

    threads = [threading.Thread(target=rank_main, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT + 10)
    # A rank that failed leaves others waiting: their timeouts come last.
    for _, error in sorted(errors, key=lambda pair: isinstance(pair[1], TimeoutError)):
        raise error
    assert not any(thread.is_alive() for thread in threads)
    return results


KEPT = collections.deque(maxlen=1000)


def buffer(array):
    """(address, count, datatype) of a numpy array, which is kept alive for a while in case the test
    does not."""
    KEPT.append(array)
    return array.ctypes.data, array.size, PREDEFINED[NAMES[array.dtype.str[1:]]]


NAMES = {
    "i4": "MPI_INT",
    "i8": "MPI_LONG",
    "f8": "MPI_DOUBLE",
    "f4": "MPI_FLOAT",
    "u1": "MPI_UNSIGNED_CHAR",
    "c16": "MPI_C_DOUBLE_COMPLEX",
}


def ints(*values):
    return np.array(values, np.int32)
