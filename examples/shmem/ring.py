"""Each rank puts a block into its right neighbour's memory; the neighbour waits for the flag behind it.

Run: lanai run -n 4 --device t3d python examples/shmem/ring.py
"""

from lanai_host import shmem

SIZE = 4096

with shmem.start(heap=3 * SIZE) as heap:
    mine, theirs, flag = heap.allocate(SIZE), heap.allocate(SIZE), heap.allocate(4)
    heap.view(mine, SIZE)[:] = bytes([heap.rank + 1]) * SIZE
    heap.barrier()
    right, left = (heap.rank + 1) % heap.count, (heap.rank - 1) % heap.count
    heap.put(right, theirs, mine, SIZE)
    heap.fence()  # on a T3E the flag could come first
    heap.put_bytes(right, flag, (1).to_bytes(4, "big"))
    heap.wait_until(flag, 1)
    assert bytes(heap.view(theirs, SIZE)) == bytes([left + 1]) * SIZE
    heap.barrier()
    if heap.rank == 0:
        print(f"{heap.count} ranks have the block of their left neighbour")
