"""Messages of several lengths, and how many came with wrong bytes; run by `lanai run`. Arguments: rounds, lengths."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rounds = int(sys.argv[1])
lengths = [int(text) for text in sys.argv[2].split(",")]
wrong = 0
for number in range(rounds):
    for length in lengths:
        mine = np.full(length, number % 251 + 1, "u1")
        theirs = np.zeros(length, "u1")
        world.Sendrecv(mine, 1 - world.rank, 3, theirs, 1 - world.rank, 3)
        wrong += not (theirs == mine).all()
print(f"{wrong} of {rounds * len(lengths)} messages wrong")
