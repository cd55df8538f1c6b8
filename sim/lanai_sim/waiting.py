"""Who waits for what, in words: for the deadlock report and the progress line."""

from lanai_host.bus import Wait
from lanai_host.protocol import unpack_wait

from .ranks import Rank
from .units import format_time


def describe(rank: Rank, clock: int, runs: bool, why: bytes) -> str:
    """What one rank is doing."""
    start = f"  rank {rank.number} at {format_time(clock)}:"
    if rank.finalized:
        return f"{start} has finalized"
    if runs:
        return f"{start} runs code" if rank.connected else f"{start} runs code and has not called MPI_Init"
    if rank.gone:
        return f"{start} has ended"
    return f"{start} {describe_wait(unpack_wait(why))}"


def describe_wait(why: Wait | None) -> str:
    if why is None:
        return "waits inside a call that gave no reason"
    parts = [f"waits in {why.call}"]
    for name, value in (("peer", why.peer), ("tag", why.tag), ("context", why.context)):
        if value is not None:
            parts.append(f"{name} {'any' if value == -1 else value}")
    if why.note:
        parts.append(why.note)
    return ", ".join(parts)
