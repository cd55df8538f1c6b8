"""The epochs that a window is in at this process, and so what may be called: one state machine for all
kinds of synchronization."""

from ..constants import Assertion, LockType
from ..errors import ErrorClass, MpiError
from ..group import Group


def check_assertion(call: str, value: int) -> Assertion:
    """The `assert` argument of a call. Assertions of other calls mean nothing, and programs pass
    them."""
    known = Assertion(sum(Assertion))
    if value < 0 or value & ~known:
        raise MpiError(ErrorClass.ASSERT, f"{call}: assert is {value}; it must be made of MPI_MODE constants")
    return Assertion(value)


class Epochs:
    """The epochs of one window. Every method that begins or ends one checks first, and raises
    MPI_ERR_RMA_SYNC.

    Attributes:
        fence: MPI_Win_fence has opened an epoch; `used`: an operation was started in it.
        access: the group of MPI_Win_start; `exposure`: that of MPI_Win_post.
        locks: targets locked by MPI_Win_lock.
        unchecked: those among them whose locks are only asserted (MPI_MODE_NOCHECK).
        all: MPI_Win_lock_all, `checked` unless its locks are only asserted; `reached`: the targets
            that it has locked so far.
    """

    def __init__(self) -> None:
        self.fence = False
        self.used = False
        self.access: Group | None = None
        self.exposure: Group | None = None
        self.locks: dict[int, LockType] = {}
        self.unchecked: set[int] = set()
        self.all = False
        self.checked = True
        self.reached: set[int] = set()
        self.name = "the window"

    def _error(self, call: str, text: str) -> MpiError:
        return MpiError(ErrorClass.RMA_SYNC, f"{call}: {text} on {self.name}")

    def passive(self) -> str | None:
        """The call that opened a passive epoch."""
        if self.all:
            return "MPI_Win_lock_all"
        return "MPI_Win_lock" if self.locks else None

    def _open(self) -> str | None:
        """The call that opened the access epoch under way, which MPI_Win_fence did only if it was
        used."""
        if self.access is not None:
            return "MPI_Win_start"
        return self.passive() or ("MPI_Win_fence" if self.fence and self.used else None)

    def _refuse_open(self, call: str) -> None:
        opened = self._open()
        if opened:
            raise self._error(call, f"the epoch of {opened} is still open")

    # Operations

    def use(self, call: str, target: int, world: int) -> None:
        """An operation on `target`, whose rank in the world is `world`, needs an access epoch that
        reaches it."""
        if target in self.locks or self.all or self.fence:
            self.used = True
        elif self.locks:
            locked = ", ".join(str(rank) for rank in sorted(self.locks))
            raise self._error(call, f"target_rank is {target}, but the locked ranks are {locked}")
        elif self.access is None:
            raise self._error(call, "no access epoch is open; MPI_Win_fence, MPI_Win_start or MPI_Win_lock opens one")
        elif self.access.position(world) < 0:
            raise self._error(call, f"target_rank is {target}, which is not in the group of MPI_Win_start")

    def request(self, call: str) -> None:
        """Operations that return requests are for passive epochs."""
        if self.passive() is None:
            raise self._error(call, "no epoch of MPI_Win_lock or MPI_Win_lock_all is open")

    # Fence

    def fenced(self, call: str, assertion: Assertion) -> None:
        """A fence ends the epoch before it and opens the next."""
        if self.access is not None or self.passive():
            self._refuse_open(call)
        if self.exposure is not None:
            raise self._error(call, "the epoch of MPI_Win_post is still open")
        if Assertion.NOPRECEDE in assertion and self.fence and self.used:
            raise self._error(call, "MPI_MODE_NOPRECEDE was asserted, but operations came before")
        self.fence = Assertion.NOSUCCEED not in assertion
        self.used = False

    # Post, start, complete, wait

    def start(self, call: str, group: Group) -> None:
        self._refuse_open(call)
        self.fence = False
        self.access = group

    def complete(self, call: str) -> Group:
        if self.access is None:
            raise self._error(call, "there was no MPI_Win_start")
        group, self.access = self.access, None
        return group

    def post(self, call: str, group: Group) -> None:
        if self.exposure is not None:
            raise self._error(call, "the epoch of the MPI_Win_post before is still open")
        if self.fence and self.used:
            self._refuse_open(call)
        self.fence = False
        self.exposure = group

    def posted(self, call: str) -> Group:
        if self.exposure is None:
            raise self._error(call, "there was no MPI_Win_post")
        return self.exposure

    # Locks

    def lock(self, call: str, target: int, kind: LockType) -> None:
        if target in self.locks:
            raise self._error(call, f"rank {target} is locked already")
        if not self.locks:
            self._refuse_open(call)
        self.fence = False
        self.locks[target] = kind

    def unlock(self, call: str, target: int) -> None:
        if target not in self.locks:
            raise self._error(call, f"rank {target} is not locked by MPI_Win_lock")

    def lock_all(self, call: str) -> None:
        self._refuse_open(call)
        self.fence = False
        self.all = True

    def unlock_all(self, call: str) -> None:
        if not self.all:
            raise self._error(call, "there was no MPI_Win_lock_all")

    def flush(self, call: str, target: int | None) -> None:
        """A flush of one target, or of all, needs a passive epoch that reaches it."""
        if self.passive() is None:
            raise self._error(call, "no epoch of MPI_Win_lock or MPI_Win_lock_all is open")
        if target is not None and not self.all and target not in self.locks:
            raise self._error(call, f"rank {target} is not locked")

    def free(self, call: str) -> None:
        self._refuse_open(call)
        if self.exposure is not None:
            raise self._error(call, "the epoch of MPI_Win_post is still open")
