"""Bus addresses of the processes of a host: each has a window of its own, so that a NIC can tell their
memory apart."""

WINDOW = 1 << 28
WINDOW_MASK = 0xF000_0000


def window_of(local_rank: int) -> int:
    """First bus address of the host memory of the `local_rank`-th rank on a NIC. Window 0 is
    no rank's."""
    return (local_rank + 1) * WINDOW
