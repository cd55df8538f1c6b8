"""The points at which collectives change their algorithms, as a device prefers it.
docs/reference/mpi-collectives.md explains each choice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Choices:
    """Thresholds in bytes of one process's message, unless the name says otherwise. The same at all
    ranks of a job.

    Attributes:
        broadcast_by_pieces: from here on: scatter and ring instead of a binomial tree,
        pieces_from_size: ... in communicators of at least so many processes.
        tree_gather: gather and scatter blocks up to here travel along a tree, larger ones directly,
        tree_from_size: ... in communicators of at least so many processes.
        allgather_short: total bytes up to which allgather doubles instead of going round a ring.
        alltoall_short: block up to which alltoall combines blocks,
        alltoall_short_size: ... in communicators of at least so many processes.
        alltoall_at_once: processes up to which all receives and sends are posted at once.
        alltoall_under_way: bytes that a process sends at a time in them, or one message if that is
            longer; 0: all at once.
        long_vector, long_vector_per_rank: reduce and allreduce go by parts from the larger of the
            two on, the second of them for each process. The default was measured on mpi-np: 4 and 8
            ranks break even between 4 and 16 KB.
        multicast: a broadcast is one `Device.multicast`, which the device then must offer, and in an
            allgather each process multicasts its block.
        multicast_scatter: ... and so is a scatter, if all blocks together have at most so many
            bytes.
        reduce_by_gather: the root of a reduce receives all vectors and combines them; an allreduce is
            that, and a broadcast.
    """

    broadcast_by_pieces: int = 64 * 1024
    pieces_from_size: int = 4
    tree_gather: int = 2 * 1024
    tree_from_size: int = 4
    allgather_short: int = 32 * 1024
    alltoall_short: int = 256
    alltoall_short_size: int = 8
    alltoall_at_once: int = 32
    alltoall_under_way: int = 0
    long_vector: int = 16 * 1024
    long_vector_per_rank: int = 0
    multicast: bool = False
    multicast_scatter: int = 0
    reduce_by_gather: bool = False

    def by_parts(self, size: int, ranks: int) -> bool:
        """Is a vector of `size` bytes reduced sooner by parts than whole?"""
        return ranks >= self.pieces_from_size and size >= max(self.long_vector, self.long_vector_per_rank * ranks)
