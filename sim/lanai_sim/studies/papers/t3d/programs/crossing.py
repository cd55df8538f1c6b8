"""All ranks send each other messages at the same time, and how many came with wrong bytes.
Arguments: rounds, bytes.

Prints "rankR.messages N" and "rankR.wrong N" for each rank R.
"""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rounds, length = int(sys.argv[1]), int(sys.argv[2])
peers = [rank for rank in range(world.size) if rank != world.rank]
mine, theirs = np.zeros((2, world.size, length), "u1")


def content(number: int, source: int, target: int) -> int:
    """Another one for each pair, and in each round."""
    return (7 * number + 13 * source + target) % 251 + 1


wrong = 0
for number in range(rounds):
    theirs[:] = 0
    for peer in peers:
        mine[peer] = content(number, world.rank, peer)
    receives = [world.Irecv(theirs[peer], peer, 3) for peer in peers]
    sends = [world.Isend(mine[peer], peer, 3) for peer in peers]
    MPI.Request.Waitall(receives + sends)
    wrong += sum(not (theirs[peer] == content(number, peer, world.rank)).all() for peer in peers)

# Each rank prints its own: a sum by messages could come with wrong bytes too.
print(f"rank{world.rank}.messages {rounds * len(peers)}")
print(f"rank{world.rank}.wrong {wrong}")
