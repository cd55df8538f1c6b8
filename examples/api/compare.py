"""How long the same exchange takes on each messaging system.

A function runs as two ranks on each system. The hosts and NICs are those of the default machine, so
what differs is the system. Run it with: python examples/api/compare.py
"""

import openlanai

ROUNDS = 4
SIZES = (4, 4096)


def half_round_trip(size):
    """Send a message to and fro, on each rank, and return microseconds for one way."""
    from mpi4py import MPI

    world, data = MPI.COMM_WORLD, bytearray(size)
    peer = 1 - world.rank
    world.Barrier()
    began = MPI.Wtime()
    for _ in range(ROUNDS):
        if world.rank == 0:
            world.Send(data, peer)
            world.Recv(data, peer)
        else:
            world.Recv(data, peer)
            world.Send(data, peer)
    return 1e6 * (MPI.Wtime() - began) / (2 * ROUNDS)


if __name__ == "__main__":
    for device in ("ideal", "mpi-np", "sci"):
        times = [openlanai.run(half_round_trip, 2, device, args=(size,), buffers="page")[0] for size in SIZES]
        print(f"{device:8}", "  ".join(f"{size} bytes: {time:.2f} us" for size, time in zip(SIZES, times, strict=True)))
