"""Measure the same exchange on each messaging system.

A function runs as two ranks on each system. The hosts and NICs are those of the default machine, so
what differs is the system. Run it with: python examples/api/compare.py
"""

import openlanai

ROUNDS = 4
SIZES = (4, 4096)


def exchange(size):
    """Send a message to the other rank while one comes from there, and return microseconds for both."""
    from mpi4py import MPI

    world, data, answer = MPI.COMM_WORLD, bytearray(size), bytearray(size)
    peer = 1 - world.rank
    world.Barrier()
    began = MPI.Wtime()
    for _ in range(ROUNDS):
        world.Sendrecv(data, peer, recvbuf=answer, source=peer)
    return 1e6 * (MPI.Wtime() - began) / ROUNDS


if __name__ == "__main__":
    for device in ("ideal", "mpi-np", "sci"):
        times = [openlanai.run(exchange, 2, device, args=(size,), buffers="page")[0] for size in SIZES]
        print(f"{device:8}", "  ".join(f"{size} bytes: {time:.2f} us" for size, time in zip(SIZES, times, strict=True)))
