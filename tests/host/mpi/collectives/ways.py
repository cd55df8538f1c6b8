"""Every way to call a collective, and what the tests of collectives give them."""

import numpy as np

from lanai_host.mpi import collectives as coll
from lanai_host.mpi.op import PREDEFINED as OPS

SIZES = [1, 2, 3, 4, 5, 8, 9]
# Element counts on both sides of every threshold in lanai_host.device (elements of 8 bytes).
COUNTS = [0, 1, 31, 300, 3000, 20000]
SUM = OPS["MPI_SUM"]


def data(rank, count, blocks=1):
    """Different in every element of every rank."""
    return np.arange(count * blocks, dtype=np.int64) * 100 + rank


def each_way(comm, plan, *arguments):
    """Run the plan as the blocking call; then the other ways, which must give the same."""
    coll.run(comm, plan, *arguments)
    yield
    coll.start(comm, plan, *arguments).wait()
    yield
    request = coll.prepare(comm, plan, *arguments)
    for _ in range(2):
        request.start()
        request.wait()
        yield
