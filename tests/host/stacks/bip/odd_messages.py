"""An MPI program whose rank 0 prints a digest of all that the ranks saw. It must not depend on the device.

`python odd_messages.py SEED`: around the limit of short messages, to the rank itself too, with wildcards, probes,
cancelled receives and sends, buffers that are too short, start anywhere or lie in pieces, and windows.
"""

import hashlib
import random
import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
seen: list[object] = []
SIZES = (0, 1, 3, 252, 253, 255, 256, 257, 258, 260, 483, 484, 485, 511, 512, 513, 1023, 1025, 4095, 4097, 9000)


def bytes_of(length, seed):
    return np.frombuffer(random.Random(seed).randbytes(length), "u1")


def placed(data, offset):
    """The same bytes at an odd address."""
    memory = np.zeros(len(data) + offset, "u1")
    memory[offset:] = data
    return memory[offset:]


def everybody_to_everybody(dice):
    """Each size to each rank, with a receive by name, with a wildcard, or after a probe."""
    for number, length in enumerate(dice.sample(SIZES, 8)):
        buffers = [placed(bytes_of(length, f"{rank} {to} {number}"), to % 4) for to in range(size)]
        sends = [
            (world.Issend if (rank + to + number) % 3 == 0 else world.Isend)(buffers[to], to, number)
            for to in range(size)
        ]
        way = dice.randrange(3)
        got = {}
        for source in range(size):
            room = np.full(length + 8, 9, "u1")[3:]
            status = MPI.Status()
            if way == 0:
                world.Recv(room, source, number, status)
            elif way == 1:
                world.Recv(room, MPI.ANY_SOURCE, number, status)
            else:
                message = world.Mprobe(MPI.ANY_SOURCE, number, status)
                message.Recv(room, status)
            got[status.source] = (status.Get_count(MPI.BYTE), room.tobytes())
        MPI.Request.Waitall(sends)
        seen.append(sorted(got.items()))
        world.Barrier()


def pieces(dice):
    """A vector of integers to the next rank, which takes it as a vector or as one run."""
    for count in dice.sample((1, 20, 31, 32, 33, 64, 300, 1500), 4):
        kind = MPI.INT.Create_vector(count, 2, 5).Commit()
        sent = np.arange(5 * count, dtype="i4") + 1000 * rank
        got = np.full(5 * count, -1, "i4")
        whole = dice.random() < 0.5
        what = [got[: 2 * count], MPI.INT] if whole else [got, 1, kind]
        world.Sendrecv([sent, 1, kind], (rank + 1) % size, 1, what, (rank - 1) % size, 1)
        seen.append(got.tolist())
        kind.Free()


def too_short(dice):
    """Receives with room for less than the message."""
    for length in dice.sample((10, 255, 257, 484, 600, 5000), 3):
        request = world.Isend(bytes_of(length, length), (rank + 1) % size, 2)
        room = np.full(length, 7, "u1")
        try:
            world.Recv(room[: length - 5], (rank - 1) % size, 2)
            seen.append("no error")
        except MPI.Exception as error:
            seen.append(error.Get_error_class() == MPI.ERR_TRUNCATE)
        request.Wait()
        seen.append(room.tobytes())


def cancelled(dice):
    """A receive that nothing will meet ends by being cancelled, and takes nothing of what comes later."""
    for length in dice.sample((8, 256, 257, 3000), 2):
        room = np.zeros(length, "u1")
        request = world.Irecv(room, MPI.ANY_SOURCE, 77)
        request.Cancel()
        status = MPI.Status()
        request.Wait(status)
        seen.append(status.Is_cancelled())
        world.Barrier()
        late = world.Isend(bytes_of(length, 5), (rank + 1) % size, 77)
        found = MPI.Status()
        while not world.Iprobe(MPI.ANY_SOURCE, 77, found):
            pass
        seen.append((found.source, found.Get_count(MPI.BYTE)))
        world.Recv(room, found.source, 77)
        late.Wait()
        seen.append(room.tobytes())
        world.Barrier()


def windows(dice):
    """Puts, gets and sums of lengths around the limit, at odd places."""
    memory = np.zeros(20_000, "u1")
    window = MPI.Win.Create(memory, comm=world)
    length, place = dice.choice((250, 256, 257, 484, 5000)), dice.randrange(100)
    window.Fence()
    data, one = bytes_of(length, rank), np.ones(1, "i4")  # there until the epochs end
    window.Put(data, (rank + 1) % size, [place, length, MPI.BYTE])
    window.Fence()
    copy = np.zeros(length, "u1")
    window.Lock((rank + 2) % size)
    window.Get(copy, (rank + 2) % size, [place, length, MPI.BYTE])
    window.Unlock((rank + 2) % size)
    window.Lock(0)
    window.Accumulate(one, 0, [16_000, 1, MPI.INT])
    window.Unlock(0)
    world.Barrier()
    seen.append((copy.tobytes(), memory.tobytes()))
    window.Free()


def main(seed):
    dice = random.Random(seed)  # the same on each rank
    for part in dice.sample((everybody_to_everybody, pieces, too_short, cancelled, windows), 5):
        part(dice)
    digests = world.gather(hashlib.sha256(repr(seen).encode()).hexdigest()[:16])
    if rank == 0:
        print(*digests)


main(int(sys.argv[1]))
