"""Rank 0 puts, gets and swaps in rank 1's memory, and prints how long each takes.

Run: lanai run -n 2 --device t3d --nic t3d_shell python examples/shmem/costs.py
"""

from lanai_host import shmem

LONG = 100_000


def timed(operation):
    """Return the microseconds of a call: of the second one, as the first may find a NIC that sleeps."""
    operation()
    begin = heap.now()
    operation()
    return 1e6 * (heap.now() - begin)


def put(size):
    heap.put(1, far, near, size)
    heap.quiet()


with shmem.start(heap=1 << 20) as heap:
    near, far = heap.allocate(LONG), heap.allocate(LONG)
    heap.barrier()
    if heap.rank == 0:
        costs = {
            "put, until it is there": lambda: put(4),
            "get": lambda: heap.get(1, far, near, 4),
            "swap": lambda: heap.swap(1, far, 7),
            "put of 100,000 bytes": lambda: put(LONG),
            "get of 100,000 bytes": lambda: heap.get(1, far, near, LONG),
        }
        for name, operation in costs.items():
            print(f"{name:24}{timed(operation):9.2f} us")
    heap.barrier()
