"""The window object: what all its calls need, and its inquiries."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..added_codes import byte_length
from ..attributes import ERRORS_ARE_FATAL, Attributes, Errhandler, Info
from ..communicator import Communicator
from ..constants import MAX_OBJECT_NAME, PROC_NULL, Assertion, LockType, ThreadLevel, WindowFlavor, WindowModel
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..group import Group
from .memory import Memory, reach
from .way import Way

# The epochs that a window is in at this process, and so what may be called: one state machine for all
# kinds of synchronization.


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


HINTS = (  # of MPI-4.1, with what this library does if the program says nothing
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
)
BY_MESSAGES = "lanai_targets_by_messages"  # how many, of windows on devices that have remote memory

PAUSES = 64  # in which other ranks decide as many wildcards


class Window:
    """MPI_Win. Its fields are plain, as a communicator's are.

    Attributes:
        communicator: a duplicate that only the library uses; ranks of the window are its ranks.
        memory: what this process exposes; `unit` its displacement unit.
        sizes, units: those of all ranks.
        way: how targets are reached.
        held: what the memory of windows that allocate lives in. `addresses`: for a shared one,
            where each rank's part lies here.
    """

    model = WindowModel.UNIFIED
    way: Way

    def __init__(self, communicator: Communicator, flavor: WindowFlavor, memory: Memory, unit: int) -> None:
        self.communicator = communicator
        self.progress = communicator.progress
        self.device = communicator.device
        self.group = communicator.group
        self.rank = communicator.rank
        self.size = communicator.size
        self.flavor = flavor
        self.memory = memory
        self.unit = unit
        self.sizes: list[int] = []
        self.units: list[int] = []
        self.epochs = Epochs()
        self.attributes = Attributes()
        self.errhandler: Errhandler = ERRORS_ARE_FATAL
        self.info = Info(HINTS)
        self.name = ""
        self.held: Any = None
        self.addresses: list[int] = []
        self.freed = False

    def await_others(self, call: str) -> None:
        """Begin a lock or an access. Where orders are explored it may wait until the other ranks have done what
        they can."""
        orders = self.device.orders
        if orders is not None and orders.lets_others(call):
            for _ in range(PAUSES):
                with self.progress.lock:
                    orders.pause()
                self.progress.poll()

    @property
    def label(self) -> str:
        """The window's name in reports."""
        return f"window {self.name}" if self.name else f"an unnamed window of {self.size} ranks"

    def __repr__(self) -> str:
        return f"<Window {self.label} rank {self.rank}>"

    def set_name(self, name: str) -> None:
        """MPI_Win_set_name."""
        length = byte_length(name)
        if length >= MAX_OBJECT_NAME:
            raise MpiError(
                ErrorClass.ARG,
                f"MPI_Win_set_name: win_name has {length} bytes; at most {MAX_OBJECT_NAME - 1} fit",
            )
        self.name = name
        self.epochs.name = self.label
        self.way.rename(self.label)

    def set_info(self, info: Info) -> None:
        """MPI_Win_set_info."""
        for key, value in info.pairs():
            self.info.set(key, value)

    def check_rank(self, call: str, rank: int, name: str = "rank") -> bool:
        """`rank` is a target; False if it is MPI_PROC_NULL."""
        if 0 <= rank < self.size:
            return True
        if rank == PROC_NULL:
            return False
        raise MpiError(
            ErrorClass.RANK, f"{call}: {name} is {rank}; it must be MPI_PROC_NULL or from 0 to {self.size - 1}"
        )

    def place(self, call: str, rank: int, displacement: int, count: int, datatype: Datatype) -> int:
        """The offset in bytes of elements at a target, which lie in its memory as far as is known
        here."""
        if self.flavor is WindowFlavor.DYNAMIC:
            if rank == self.rank and not self.memory.holds(displacement, count, datatype):
                raise self._outside(call, rank, displacement, "the memory that is attached")
            return displacement
        if displacement < 0:
            raise MpiError(ErrorClass.DISP, f"{call}: target_disp is {displacement}; it must not be negative")
        offset = displacement * self.units[rank]
        first, last = reach(offset, count, datatype)
        if first != last and not 0 <= first <= last <= self.sizes[rank]:
            raise self._outside(call, rank, displacement, f"its {self.sizes[rank]} bytes: {first} to {last - 1}")
        return offset

    def _outside(self, call: str, rank: int, displacement: int, what: str) -> MpiError:
        text = f"{call}: target_disp {displacement} of rank {rank} reaches outside {what} on {self.label}"
        return MpiError(ErrorClass.RMA_RANGE, text)

    def attach(self, address: int, size: int) -> None:
        """MPI_Win_attach."""
        self._check_dynamic("MPI_Win_attach")
        if size < 0:
            raise MpiError(ErrorClass.SIZE, f"MPI_Win_attach: size is {size}; it must not be negative")
        if size and not address:
            raise MpiError(ErrorClass.BASE, f"MPI_Win_attach: base is a null pointer, but the size is {size}")
        with self.progress.lock:
            self.memory.attach("MPI_Win_attach", address, size)

    def detach(self, address: int) -> None:
        """MPI_Win_detach."""
        self._check_dynamic("MPI_Win_detach")
        with self.progress.lock:
            self.memory.detach("MPI_Win_detach", address)

    def _check_dynamic(self, call: str) -> None:
        if self.flavor is not WindowFlavor.DYNAMIC:
            raise MpiError(ErrorClass.RMA_FLAVOR, f"{call}: {self.label} was not made by MPI_Win_create_dynamic")

    def shared_query(self, rank: int) -> tuple[int, int, int]:
        """MPI_Win_shared_query: size, displacement unit and address here of a rank's memory;
        nothing of what is not shared."""
        call = "MPI_Win_shared_query"
        if self.flavor is WindowFlavor.DYNAMIC:
            raise MpiError(ErrorClass.RMA_FLAVOR, f"{call}: {self.label} was made by MPI_Win_create_dynamic")
        if not self.check_rank(call, rank):
            rank = next((one for one, size in enumerate(self.sizes) if size), 0)
        if self.flavor is WindowFlavor.SHARED:
            return self.sizes[rank], self.units[rank], self.addresses[rank]
        if rank == self.rank:
            return self.memory.size, self.unit, self.memory.base
        return 0, self.units[rank], 0


Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


def in_one_turn(
    call: Callable[Concatenate[Window, Arguments], Value],
) -> Callable[Concatenate[Window, Arguments], Value]:
    """Let a call on a window keep its thread's turn, where threads take turns, until it waits: each turn costs two
    switches of threads."""

    @wraps(call)
    def keeping(window: Window, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Value:
        order = window.progress.order
        if order is None or window.progress.level < ThreadLevel.MULTIPLE:
            return call(window, *arguments, **named)
        with order:
            return call(window, *arguments, **named)

    return keeping
