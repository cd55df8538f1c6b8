"""A random MPI program is run twice with other bytes of rank 0: all that the other ranks see but for what rank 0 sends
them, and every time, is equal. So no rank learns anything of another one's memory on any device."""

import pytest

from lanai_host.stacks import names
from lanai_sim.job.function import run

DEFAULT = ("mpi-np", "mbcf")
SEEDS = 4  # of each device in .ci/run


def story(seed, secret):
    """The ranks draw the same script from `seed`, and what they send from that and, rank 0, from `secret`."""
    import random
    import zlib

    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    script, content = random.Random(seed), random.Random(f"{seed} {rank} {secret if rank == 0 else ''}")
    seen = []

    def see(what, data=b"", sender=None):
        """Note the time, and the data unless they are of rank 0."""
        seen.append((what, zlib.crc32(data) if 0 not in (sender, rank) else None, MPI.Wtime()))

    def talk():
        """Messages, each with a tag of its own: some into more room than they need, some into less."""
        messages = [
            (
                *script.sample(range(size), 2),
                script.choice([0, 1, 60, 700, 5000, 20_000]),
                script.choice([0, 0, 0, 7, -3]),
            )
            for _ in range(5)
        ]
        received, sent = [], []
        for tag, (source, dest, length, more) in enumerate(messages):
            if dest == rank:
                room, any_source = max(length + more, 0), script.random() < 0.3
                buffer = bytearray(b"\xee" * (room + 16))
                named = MPI.ANY_SOURCE if any_source else source
                request = comm.Irecv([memoryview(buffer)[:room], MPI.BYTE], named, tag)
                received.append((request, buffer, room, source))
            else:
                script.random()
            if source == rank:
                sent.append(comm.Isend([content.randbytes(length), MPI.BYTE], dest, tag))
        for request, buffer, room, source in received:
            status = MPI.Status()
            try:
                request.Wait(status)
            except MPI.Exception as error:
                see(("error", error.Get_error_class()))
            else:
                count = status.Get_count(MPI.BYTE)
                see((status.source, status.tag, count), buffer[:count], source)
                see("rest", buffer[count:])
            see("behind", buffer[room:])
        MPI.Request.Waitall(sent)

    def collect():
        length = script.choice([1, 300, 6000])
        mine = content.randbytes(length)
        all_of = bytearray(length * size)
        comm.Allgather([mine, MPI.BYTE], [all_of, MPI.BYTE])
        see("allgather", all_of[length:])
        root = script.randrange(1, size)
        buffer = bytearray(mine)
        comm.Bcast([buffer, MPI.BYTE], root)
        see("bcast", buffer)

    def access():
        """Every rank changes its own part of all windows, rank 0 too."""
        part = 64
        window = MPI.Win.Allocate(part * size, comm=comm)
        memory = window.tomemory()
        memory[:] = bytes(part * size)
        window.Fence()
        target, length = script.randrange(size), script.choice([1, 8, 64])
        window.Put([content.randbytes(length), MPI.BYTE], target, part * rank)
        window.Fence()
        see("window", bytes(memory[part:]))
        brought = bytearray(part)
        window.Get([brought, MPI.BYTE], target, part * (size - 1))
        window.Fence()
        see("got", brought)
        window.Free()

    for _ in range(6):
        script.choice([talk, talk, collect, access])()
    comm.Barrier()
    see("end")
    return seen


@pytest.mark.parametrize(
    ("device", "seed"),
    [
        pytest.param(device, seed, marks=() if device in DEFAULT and seed == 0 else pytest.mark.ci)
        for device in names()
        for seed in range(SEEDS)
    ],
)
def test_other_ranks_see_the_same_whatever_the_bytes_of_one_are(device, seed):
    first, second = (run(story, 4, device, args=(seed, secret)) for secret in ("one", "other"))
    assert all(len(seen) > 6 for seen in first)
    assert first == second
