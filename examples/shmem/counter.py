"""All ranks take numbers from one counter, which is in rank 0's memory: each number is taken once.

Run: lanai run -n 4 --device t3d python examples/shmem/counter.py
"""

from lanai_host import shmem

EACH = 5

with shmem.start(heap=4096) as heap:
    counter, taken = heap.allocate(4), heap.allocate(4 * EACH * heap.count)
    numbers = [heap.fetch_increment(0, counter) for _ in range(EACH)]
    for number in numbers:
        heap.put_bytes(0, taken + 4 * number, (heap.rank + 1).to_bytes(4, "big"))
    heap.barrier()
    if heap.rank == 0:
        words = heap.view(taken, 4 * EACH * heap.count).cast("I")
        assert all(words), "a number was taken twice, and another one never"
        print(f"{EACH * heap.count} numbers taken, each once")
