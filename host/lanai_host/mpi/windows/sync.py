"""Synchronization: what opens and closes the epochs of a window, and what completes operations
inside them (SC-23)."""

from collections.abc import Iterable

from ..collectives import barrier
from ..collectives.schedule import run_for
from ..communicator import CALL
from ..constants import Assertion, LockType, WindowFlavor
from ..errors import ErrorClass, MpiError
from ..group import Group
from .window import Window, check_assertion, in_one_turn


def _charge(window: Window) -> None:
    with window.progress.lock:
        window.device.charge(CALL)


def fence(window: Window, assertion: int) -> None:
    """MPI_Win_fence."""
    call = "MPI_Win_fence"
    window.epochs.fenced(call, check_assertion(call, assertion))
    _charge(window)
    try:
        window.way.flush(call, range(window.size), fence=True)
    finally:
        run_for(
            window.communicator, call, barrier
        )  # the others come here too, whatever became of this one's operations
        window.way.pass_fence()


# Post, start, complete, wait


def _ranks(window: Window, call: str, group: Group) -> list[int]:
    """The group's processes as ranks of the window."""
    found = []
    for world in group.members:
        rank = window.group.position(world)
        if rank < 0:
            raise MpiError(
                ErrorClass.GROUP, f"{call}: the group has world rank {world}, which is not of {window.label}"
            )
        found.append(rank)
    return found


def start(window: Window, group: Group, assertion: int) -> None:
    """MPI_Win_start. The first operation on a target waits for its MPI_Win_post."""
    call = "MPI_Win_start"
    check_assertion(call, assertion)
    _ranks(window, call, group)
    window.epochs.start(call, group)
    _charge(window)


def complete(window: Window) -> None:
    """MPI_Win_complete."""
    call = "MPI_Win_complete"
    group = window.epochs.complete(call)
    ranks = _ranks(window, call, group)
    _charge(window)
    window.way.complete(call, ranks)
    if window.flavor is WindowFlavor.DYNAMIC:  # only its targets know what may be reached
        window.way.flush(call, ranks)


def post(window: Window, group: Group, assertion: int) -> None:
    """MPI_Win_post."""
    call = "MPI_Win_post"
    check_assertion(call, assertion)
    ranks = _ranks(window, call, group)
    window.epochs.post(call, group)
    _charge(window)
    window.way.post(ranks)


def wait(window: Window) -> None:
    """MPI_Win_wait."""
    call = "MPI_Win_wait"
    ranks = _ranks(window, call, window.epochs.posted(call))
    _charge(window)
    window.progress.wait(window.way.exposed(call, ranks))
    _end_exposure(window, ranks)


def test(window: Window) -> bool:
    """MPI_Win_test."""
    call = "MPI_Win_test"
    ranks = _ranks(window, call, window.epochs.posted(call))
    pending = window.way.exposed(call, ranks)
    if not pending.done:
        window.progress.poll()
    if not pending.done:
        return False
    _end_exposure(window, ranks)
    return True


def _end_exposure(window: Window, ranks: Iterable[int]) -> None:
    window.epochs.exposure = None
    window.way.end_exposure(ranks)


# Locks


def lock(window: Window, kind: int, rank: int, assertion: int) -> None:
    """MPI_Win_lock. Blocks until the lock is granted."""
    call = "MPI_Win_lock"
    if kind not in tuple(LockType):
        raise MpiError(
            ErrorClass.LOCKTYPE, f"{call}: lock_type is {kind}; it must be MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED"
        )
    asserted = check_assertion(call, assertion)
    present = window.check_rank(call, rank)
    window.epochs.lock(call, rank, LockType(kind))
    _charge(window)
    if Assertion.NOCHECK in asserted:
        window.epochs.unchecked.add(rank)
    elif present:
        window.await_others(call)
        window.way.lock(call, rank, LockType(kind))


def unlock(window: Window, rank: int) -> None:
    """MPI_Win_unlock."""
    call = "MPI_Win_unlock"
    present = window.check_rank(call, rank)
    window.epochs.unlock(call, rank)
    _charge(window)
    unchecked = rank in window.epochs.unchecked
    window.epochs.unchecked.discard(rank)
    del window.epochs.locks[rank]
    if present and unchecked:
        window.way.flush(call, [rank])
    elif present:
        window.way.unlock(call, [rank])


def lock_all(window: Window, assertion: int) -> None:
    """MPI_Win_lock_all. A target is locked when an operation first needs it, so that others are not
    asked at all."""
    call = "MPI_Win_lock_all"
    asserted = check_assertion(call, assertion)
    window.epochs.lock_all(call)
    _charge(window)
    window.epochs.checked = Assertion.NOCHECK not in asserted
    if window.epochs.checked:
        window.epochs.reached.add(window.rank)  # for loads and stores
        window.way.lock(call, window.rank, LockType.SHARED)


def unlock_all(window: Window) -> None:
    """MPI_Win_unlock_all."""
    call = "MPI_Win_unlock_all"
    window.epochs.unlock_all(call)
    _charge(window)
    reached, window.epochs.reached = sorted(window.epochs.reached), set()
    window.epochs.all = False
    if window.epochs.checked:
        window.way.unlock(call, reached)
    else:
        window.way.flush(call, range(window.size))


@in_one_turn
def flush(window: Window, rank: int) -> None:
    """MPI_Win_flush."""
    if _flushed(window, "MPI_Win_flush", rank):
        window.way.flush("MPI_Win_flush", [rank])


@in_one_turn
def flush_all(window: Window) -> None:
    """MPI_Win_flush_all."""
    window.epochs.flush("MPI_Win_flush_all", None)
    _charge(window)
    window.way.flush("MPI_Win_flush_all", range(window.size))


@in_one_turn
def flush_local(window: Window, rank: int) -> None:
    """MPI_Win_flush_local."""
    if _flushed(window, "MPI_Win_flush_local", rank):
        window.way.flush_local("MPI_Win_flush_local", [rank])


@in_one_turn
def flush_local_all(window: Window) -> None:
    """MPI_Win_flush_local_all."""
    window.epochs.flush("MPI_Win_flush_local_all", None)
    _charge(window)
    window.way.flush_local("MPI_Win_flush_local_all", range(window.size))


def _flushed(window: Window, call: str, rank: int) -> bool:
    present = window.check_rank(call, rank)
    window.epochs.flush(call, rank)
    _charge(window)
    return present


def sync(window: Window) -> None:
    """MPI_Win_sync: private and public copies are one here. Lets requests of others in."""
    window.progress.poll()
