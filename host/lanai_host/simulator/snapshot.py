"""A rank's snapshot of itself: a copy of the process, made by fork, that sleeps until the simulator
makes the rank from it anew (`lanai run --checkpoint`).

All is native code (snapshot.c): a restarted rank must allocate what the rank itself went on
to allocate, so that its buffers lie at the same addresses.
"""

from functools import cache
from typing import Any

from ..c_module import load

DECLARED = "int snapshot_take(int sock, const char *line, uint32_t size, uint32_t rank, uint32_t serial);"


@cache
def _native() -> Any:
    return load(__package__, "snapshot", DECLARED)


def take(sock: int, line: bytes, rank: int, serial: int) -> int:
    """Copy this process. Returns in it, and again in each process that the simulator makes from the
    copy: its connection to the simulator then has the descriptor `sock`.

    Args:
        line: name of the abstract Unix socket to which the copy connects.
        serial: of the copy, which it says there with the rank.

    Returns:
        0, or the number of an error, and there is no copy.
    """
    return int(_native().lib.snapshot_take(sock, line, len(line), rank, serial))
