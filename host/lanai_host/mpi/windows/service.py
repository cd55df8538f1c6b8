"""The one service of a process that takes the requests of all its windows' origins, as a task of
`Progress`.

It works whenever the process is inside MPI and looks at its device: a target that does not enter
MPI keeps its origins waiting.
"""

from collections import deque
from collections.abc import Callable

from ...body import Run
from ...operation import ANY_SOURCE, ANY_TAG, ErrorKind, Operation
from ..communicator import CALL, ProcessState
from ..context_numbers import ONE_SIDED, ONE_SIDED_DATA
from ..memory import Scratch
from ..progress import NEVER
from ..request import hold
from . import wire
from .target import Target

FAILED = (ErrorKind.NIC_LOST, ErrorKind.PEER_FAILED, ErrorKind.RANK_LOST)
SOME_CAME = Operation()
SOME_CAME.done = True
RECEIVES = 2  # posted at a time; NICs have few that take a message from anyone


class Service:
    """`targets` are the windows of this process by the number of their communicators."""

    def __init__(self, process: ProcessState) -> None:
        self._device = process.device
        self._posted: deque[tuple[Operation, Scratch]] = deque()
        self._stopped = False
        self._busy = False
        self._waiting: set[Target] = set()  # where a request waits for its data
        self._sends: list[tuple[Operation, Callable[[], object]]] = []
        self.targets: dict[int, Target] = {}
        self._device.interrupt_for((ONE_SIDED, ONE_SIDED_DATA))
        for _ in range(RECEIVES):
            self._post()

    def _post(self) -> None:
        """Listen for one more request, unless that fails at once: then the device is of no use any
        more."""
        scratch = Scratch(wire.HEADER + wire.EAGER)
        room = Run(scratch.address, wire.HEADER + wire.EAGER)
        operation = self._device.receive(ANY_SOURCE, ANY_TAG, ONE_SIDED, room)
        if operation.error is not None and operation.error.kind in FAILED:
            return
        hold(operation, scratch)
        self._posted.append((operation, scratch))

    @property
    def request(self) -> Operation:
        """The next one; one that is done while data of an earlier one may have come."""
        if self._waiting:
            return SOME_CAME
        return self._posted[0][0] if self._posted else NEVER

    def operations(self) -> list[Operation]:
        """Return the operations that are not done. One that ended before an older one is taken after it; a wait for it
        would return at once, and let no time pass.
        """
        found = [operation for operation, _ in (*self._posted, *self._sends)]
        for target in self._waiting:
            found += target.operations()
        return [operation for operation in found if not operation.done]

    def if_it_fails(self, send: Operation, then: Callable[[], object]) -> None:
        """Call `then` if a send fails, now or later."""
        if not send.done:
            self._sends.append((send, then))
        elif send.error is not None:
            then()

    def _look_at_sends(self) -> None:
        ended = [entry for entry in self._sends if entry[0].done]
        if ended:
            self._sends = [entry for entry in self._sends if not entry[0].done]
        for send, then in ended:
            if send.error is not None:
                self._device.charge(CALL)
                then()

    def advance(self) -> bool:
        """Do what was asked for. It never ends by itself."""
        if self._busy or self._stopped:
            return False
        self._busy = True
        try:
            if self._sends:
                self._look_at_sends()
            while self._posted and self._posted[0][0].done:
                operation, scratch = self._posted.popleft()
                self._post()
                self._device.charge(CALL)
                if operation.error is None:
                    self._take(operation, scratch)
            for target in [target for target in self.targets.values() if target in self._waiting]:
                target.advance()
                if not target.pending:
                    self._waiting.discard(target)
        finally:
            self._busy = False
        return False

    def _take(self, operation: Operation, scratch: Scratch) -> None:
        header = wire.unpack(scratch.data[: wire.HEADER].tobytes())
        follows = operation.length == wire.HEADER
        data = 0 if follows else scratch.address + wire.HEADER
        target = self.targets[header.window]
        target.arrive(operation.source, header, data, scratch)
        if target.pending:
            self._waiting.add(target)

    def stop(self) -> None:
        self._stopped = True
        for operation, _ in self._posted:
            self._device.cancel(operation)


def service_of(process: ProcessState) -> Service:
    """The service of a process, which starts with its first window."""
    found = process.one_sided
    if not isinstance(found, Service):
        found = process.one_sided = Service(process)
        process.progress.serve(found)
    return found
