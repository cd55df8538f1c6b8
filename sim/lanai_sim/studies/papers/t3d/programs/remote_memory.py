"""Put against get and swap, two ranks.

Arguments: sizes. Prints microseconds: "put SIZE T", "get SIZE T", "swap 4 T", "add 4 T".
"""

import sys

from lanai_host import shmem

sizes = [int(text) for text in sys.argv[1].split(",")]
with shmem.start(heap=2 * max(sizes) + 64) as heap:
    source, target, word = heap.allocate(max(sizes)), heap.allocate(max(sizes)), heap.allocate(4)
    heap.barrier()
    if heap.rank == 0:
        for size in sizes:
            begin = heap.now()
            heap.put(1, target, source, size)
            heap.quiet()
            print(f"put {size} {(heap.now() - begin) * 1e6:.6f}")
            begin = heap.now()
            heap.get(1, source, target, size)
            print(f"get {size} {(heap.now() - begin) * 1e6:.6f}")
        for name, change in (("swap", heap.swap), ("add", heap.fetch_add)):
            begin = heap.now()
            change(1, word, 7)
            print(f"{name} 4 {(heap.now() - begin) * 1e6:.6f}")
