"""The state of an open file."""

import enum
from collections import deque
from collections.abc import Generator, Iterable

import numpy as np

from ...body import Run
from ...device import SendMode
from ...operation import ANY_SOURCE, Operation, Wait
from ..attributes import Errhandler
from ..collectives.link import Link
from ..communicator import Communicator
from ..errors import ErrorClass, MpiError
from ..memory import Scratch
from ..request import Request, device_error, hold
from .disk import Disk, Mode, everyones
from .view import Hints, View

# The shared file pointer, and the lock of atomic mode: both are kept by the file's first process.
#
# The others ask it by messages, and it answers in the order in which they arrive. That is an order of simulated
# time, so a run is repeatable. It answers whenever it is inside an MPI call, as for any message: MPI promises no
# more.

KEEPER = 0  # the rank that answers
_ASK = 0  # the tag of questions; answers have the question's number
_QUESTION = np.dtype([("what", "<i8"), ("amount", "<i8"), ("number", "<i8")])
_ANSWER = np.dtype("<i8")

Asking = Generator[Iterable[Operation], None, int]


class _What(enum.IntEnum):
    ADD = 0  # answered with the pointer as it was
    LOCK = 1  # answered once the lock is the asker's
    UNLOCK = 2  # not answered


class SharedPointer:
    """The end of one process. `position` is in etypes, and means something at the keeper only."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self._numbers = 0
        self.position = 0
        self._service = _Service(comm, self) if comm.size > 1 and comm.rank == KEEPER else None

    @property
    def _local(self) -> bool:
        return self._comm.rank == KEEPER

    def add(self, link: Link, amount: int) -> Asking:
        """Move the pointer on; where it was."""
        if self._local:
            before = self.position
            self.position += amount
            return before
        return (yield from self._ask(link, _What.ADD, amount))

    def in_order(self, link: Link, amount: int) -> Asking:
        """Move the pointer on for all processes, in the order of their ranks; where it was for this
        one."""
        amounts = [row[0] for row in (yield from everyones(link, [amount]))]
        before = self.position
        if self._local:
            self.position += sum(amounts)
        rows = yield from everyones(link, [before])
        return rows[KEEPER][0] + sum(amounts[: link.rank])

    def lock(self, link: Link) -> Generator[Iterable[Operation], None, None]:
        """Wait until no other process is in an access of atomic mode."""
        if not self._local:
            yield from self._ask(link, _What.LOCK, 0)
        elif self._service is not None:
            yield from self._service.lock_own()

    def unlock(self, link: Link) -> None:
        if not self._local:
            self._send(link, _What.UNLOCK, 0)
        elif self._service is not None:
            self._service.unlock()

    def close(self) -> None:
        """No process asks any more."""
        if self._service is not None:
            self._service.close()

    def _ask(self, link: Link, what: _What, amount: int) -> Asking:
        comm, answer = self._comm, Scratch(_ANSWER.itemsize)
        keeper = comm.route[KEEPER]
        number = self._numbers + 1
        coming = comm.device.receive(keeper, number, comm.context, Run(answer.address, _ANSWER.itemsize))
        hold(coming, answer)
        link.under_way.append((coming, keeper))
        going = self._send(link, what, amount)
        yield [coming, going]
        for operation in (coming, going):
            if operation.error is not None:
                raise device_error(link.call, operation.error, _ANSWER.itemsize, KEEPER)
        return int(answer.data.view(_ANSWER)[0])

    def _send(self, link: Link, what: _What, amount: int) -> Operation:
        comm, question = self._comm, Scratch(_QUESTION.itemsize)
        self._numbers = self._numbers % (comm.tag_ub - 1) + 1
        question.data.view(_QUESTION)[0] = (what, amount, self._numbers)
        going = comm.device.send(
            comm.route[KEEPER], _ASK, comm.context, Run(question.address, _QUESTION.itemsize), SendMode.STANDARD
        )
        hold(going, question)
        return going


class _Service:
    """Answers the other processes; a task of `Progress` as long as the file is open."""

    def __init__(self, comm: Communicator, pointer: SharedPointer) -> None:
        self._comm = comm
        self._pointer = pointer
        self._question = Scratch(_QUESTION.itemsize)
        self._waiting: deque[tuple[int, int]] = deque()  # (rank of the world, number) of those that want the lock
        self._locked = False
        self._closed = False
        with comm.lock:
            self._listen()
            comm.progress.start(self)

    def _listen(self) -> None:
        comm = self._comm
        room = Run(self._question.address, _QUESTION.itemsize)
        self._coming = comm.device.receive(ANY_SOURCE, _ASK, comm.context, room)
        hold(self._coming, self._question)

    # Task

    def advance(self) -> bool:
        while self._coming.done and not self._closed:
            if self._coming.error is not None:  # a peer or the NIC is lost: those that ask hear of it themselves
                self._closed = True
                break
            what, amount, number = self._question.data.view(_QUESTION)[0].tolist()
            asker = self._coming.source
            self._listen()
            self._serve(_What(what), amount, asker, number)
        return self._closed

    def operations(self) -> list[Operation]:
        return [] if self._closed else [self._coming]

    def why(self) -> Wait:
        return Wait("MPI_File_close", note=f"the shared pointer of {self._comm.label}")

    def _serve(self, what: _What, amount: int, asker: int, number: int) -> None:
        if what is _What.ADD:
            self._answer(asker, number, self._pointer.position)
            self._pointer.position += amount
        elif what is _What.LOCK:
            self._waiting.append((asker, number))
            self._grant()
        else:
            self.unlock()

    def _answer(self, asker: int, number: int, value: int) -> None:
        answer = Scratch(_ANSWER.itemsize)
        answer.data.view(_ANSWER)[0] = value
        room = Run(answer.address, _ANSWER.itemsize)
        hold(self._comm.device.send(asker, number, self._comm.context, room, SendMode.STANDARD), answer)

    # The lock

    def lock_own(self) -> Generator[Iterable[Operation], None, None]:
        """The keeper's own turn, which comes after those of all who asked before."""
        own = (self._comm.process.rank, self._numbered())
        self._waiting.append(own)
        self._grant()
        while own in self._waiting:
            yield [self._coming]
            self.advance()

    def _numbered(self) -> int:
        self._pointer._numbers += 1
        return self._pointer._numbers

    def _grant(self) -> None:
        if self._locked or not self._waiting:
            return
        self._locked = True
        asker, number = self._waiting.popleft()
        if asker != self._comm.process.rank:
            self._answer(asker, number, 0)

    def unlock(self) -> None:
        self._locked = False
        self._grant()

    def close(self) -> None:
        self._closed = True
        with self._comm.lock:
            if not self._coming.done:
                self._comm.device.cancel(self._coming)


class Split:
    """A split collective between its begin and its end."""

    def __init__(self, call: str, request: Request) -> None:
        self.call = call  # of the begin
        self.request = request


class File:
    """MPI_File. `comm` is the library's own communicator of the processes that opened the file;
    `position` the individual pointer, in etypes of the view."""

    def __init__(
        self, comm: Communicator, filename: str, mode: Mode, disk: Disk, hints: Hints, errhandler: Errhandler
    ) -> None:
        self.comm = comm
        self.name = filename
        self.mode = mode
        self.disk = disk
        self.hints = hints
        self.errhandler = errhandler
        self.view = View()
        self.position = 0
        self.shared = SharedPointer(comm)
        self.atomic = False
        self.split: Split | None = None

    def check_readable(self, call: str) -> None:
        if Mode.WRONLY in self.mode:
            raise MpiError(ErrorClass.ACCESS, f"{call}: {self.name!r} was opened with MPI_MODE_WRONLY")

    def check_writable(self, call: str) -> None:
        if Mode.RDONLY in self.mode:
            raise MpiError(ErrorClass.READ_ONLY, f"{call}: {self.name!r} was opened with MPI_MODE_RDONLY")

    def check_random(self, call: str) -> None:
        """The call is not one of those that MPI_MODE_SEQUENTIAL leaves out."""
        if Mode.SEQUENTIAL in self.mode:
            raise MpiError(
                ErrorClass.UNSUPPORTED_OPERATION, f"{call}: {self.name!r} was opened with MPI_MODE_SEQUENTIAL"
            )

    def check_no_split(self, call: str) -> None:
        """No split collective is under way."""
        if self.split is not None:
            raise MpiError(ErrorClass.IO, f"{call}: {self.split.call} on {self.name!r} has not been ended")
