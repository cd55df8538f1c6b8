"""Short and long messages, and how many came with wrong bytes.

Prints "messages N" and "wrong N", of both ranks together.
"""

from mpi4py import MPI

ROUNDS = 20
LENGTHS = (4, 500, 9000)

world = MPI.COMM_WORLD
wrong = 0
for number in range(ROUNDS):
    for length in LENGTHS:
        mine, theirs = bytearray([number + 1]) * length, bytearray(length)
        world.Sendrecv([mine, MPI.BYTE], 1 - world.rank, 3, [theirs, MPI.BYTE], 1 - world.rank, 3)
        wrong += theirs != mine
total = world.reduce(wrong)
if world.rank == 0:
    print(f"messages {2 * ROUNDS * len(LENGTHS)}")
    print(f"wrong {total}")
