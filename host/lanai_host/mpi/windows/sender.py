"""Requests to the targets of one window, and what is known of each of them."""

from collections import deque
from collections.abc import Callable
from functools import partial

from ...body import NOTHING, Body, Headed, Run
from ...device import SendMode
from ...operation import ANY_SOURCE, ANY_TAG, ErrorKind, Operation
from ..communicator import CALL, ONE_SIDED, ONE_SIDED_DATA, Communicator, ProcessState
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..memory import Scratch
from ..progress import NEVER
from ..request import device_error, hold
from . import way
from .memory import Watch
from .target import MOST_REFUSED, Target
from .way import Header, Kind, Place

# The one service of a process that takes the requests of all its windows' origins, as a task of
# `Progress`.
#
# It works whenever the process is inside MPI and looks at its device: a target that does not enter
# MPI keeps its origins waiting.

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
        scratch = Scratch(way.HEADER + way.EAGER)
        room = Run(scratch.address, way.HEADER + way.EAGER)
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
        header = way.unpack(scratch.data[: way.HEADER].tobytes())
        follows = operation.length == way.HEADER
        data = 0 if follows else scratch.address + way.HEADER
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


MOST_KEPT = 64  # operations that have ended are looked for when there are more than these


class Reply:
    """An answer under way: data of known size into the program's buffer, or the word that all is
    done."""

    __slots__ = ("operation", "rank", "scratch", "serial", "size")

    def __init__(self, rank: int, serial: int, operation: Operation, size: int, scratch: Scratch | None) -> None:
        self.rank, self.serial, self.operation, self.size, self.scratch = rank, serial, operation, size, scratch

    def error(self, call: str) -> MpiError | None:
        operation = self.operation
        if operation.error is not None:
            return device_error(call, operation.error, operation.length, self.rank)
        if self.scratch is not None and operation.length:
            text = self.scratch.data[: operation.length].tobytes().decode(errors="surrogateescape")
            return MpiError(ErrorClass.RMA_RANGE, f"{call}: rank {self.rank} refused {text}")
        if self.scratch is None and operation.length < self.size:
            text = f"{call}: rank {self.rank} refused to read memory that is not there, or not attached"
            return MpiError(ErrorClass.RMA_RANGE, text)
        return None


class Peer:
    """The state of one target, as this process knows it.

    Attributes:
        sends, replies: under way, as far as not looked at since they ended.
        applied: nothing was sent that changes the target's memory and is not known to be done.
        confirmed: nothing at all was sent that is not known to have come.
        used: how many of its MPI_Win_post calls the access epochs of this process have taken.
        slots: the datatypes that it remembers, by place.
    """

    def __init__(self, rank: int, world: int) -> None:
        self.rank, self.world = rank, world
        self.sends: list[Operation] = []
        self.replies: list[Reply] = []
        self.applied = self.confirmed = True
        self.used = 0
        self.slots: list[Datatype | None] = [None] * way.SLOTS
        self.sites: dict[str, int] = {}  # the calls that it remembers, where races are reported
        self.next_slot = 0
        self.completes_seen = 0  # completes counted by MPI_Win_wait


class Sender:
    """All methods are called under the lock of `Progress`, and none blocks."""

    def __init__(self, communicator: Communicator, service: Service, watch: Watch | None) -> None:
        self.peers = [Peer(rank, world) for rank, world in enumerate(communicator.route)]
        self._device = communicator.device
        self._number = communicator.number
        self._service = service
        self._watch = watch
        self._serial = 0

    def send(self, peer: Peer, header: Header, body: Body = NOTHING) -> list[Operation]:
        """A request and its data, which go along if they fit. The operations that need the data's
        memory."""
        head = _scratch(way.pack(header))
        start = (head.address, way.HEADER)
        along = body.size <= way.EAGER
        message = Headed(*start, body) if along and body.size else Run(*start)
        first = self._device.send(peer.world, header.kind, ONE_SIDED, message, SendMode.STANDARD)
        hold(first, head)
        peer.confirmed = False
        if along:
            return self._keep(peer, first)
        tag = way.data_tag(header.serial)
        data = self._device.send(peer.world, tag, ONE_SIDED_DATA, body, SendMode.STANDARD)
        nothing = partial(self._device.send, peer.world, tag, ONE_SIDED_DATA, NOTHING, SendMode.STANDARD)
        self._service.if_it_fails(data, nothing)  # the target waits for the data, and must learn that there are none
        return self._keep(peer, data)

    @staticmethod
    def _keep(peer: Peer, operation: Operation) -> list[Operation]:
        if operation.done and operation.error is None:
            return []
        if len(peer.sends) > MOST_KEPT:
            peer.sends = [one for one in peer.sends if not one.done or one.error is not None]
        peer.sends.append(operation)
        return [operation]

    def tell(self, peer: Peer, kind: Kind) -> None:
        """A request without data or answer."""
        self.send(peer, Header(kind, window=self._number))

    def ask(self, peer: Peer, kind: Kind, op: int = 0) -> Reply:
        """A request that is answered when it, and all before it, is done."""
        reply = self.expect(peer, None, 0)
        self.send(peer, Header(kind, op, window=self._number, serial=reply.serial))
        if kind is not Kind.LOCK:  # what comes after this needs an answer of its own
            peer.applied = peer.confirmed = True
        return reply

    def expect(self, peer: Peer, buffer: Body | None, size: int) -> Reply:
        """Be ready for an answer: into a buffer, or (None) that something is done."""
        scratch = Scratch(MOST_REFUSED) if buffer is None else None
        body = Run(scratch.address, MOST_REFUSED) if scratch is not None else buffer or NOTHING
        serial = self.next_serial()
        operation = self._device.receive(peer.world, way.answer_tag(serial), ONE_SIDED_DATA, body)
        hold(operation, scratch)
        reply = Reply(peer.rank, serial, operation, size, scratch)
        if len(peer.replies) > MOST_KEPT:
            peer.replies = [one for one in peer.replies if not one.operation.done or one.error("") is not None]
        peer.replies.append(reply)
        return reply

    def next_serial(self) -> int:
        self._serial = self._serial % (way.SERIALS - 1) + 1
        return self._serial

    def header(self, call: str, epoch: int, kind: Kind, place: Place, serial: int, size: int, op: int = 0) -> Header:
        """The request for an operation at a place, once the target knows the place's datatype."""
        peer, datatype, count, offset = self.peers[place.rank], place.datatype, place.elements, place.offset
        basic, slot = place.basic, way.NO_SLOT
        number = way.TYPE_NUMBERS.get(id(datatype))
        if number is not None:
            basic = number
        elif datatype.dense and way.TYPES[basic].dense:  # one run of elements
            offset += datatype.true_lb
            count = place.size // way.TYPES[basic].size
        else:
            slot = self._slot(peer, datatype)
        site = 0 if self._watch is None else self._site(peer, self._watch.place(call))
        return Header(kind, op, basic, self._number, slot, serial, count, offset, size, epoch, site)

    def _slot(self, peer: Peer, datatype: Datatype) -> int:
        """The place where the target remembers a datatype, which it is sent if it does not."""
        for slot, known in enumerate(peer.slots):
            if known is datatype:
                return slot
        slot, peer.next_slot = peer.next_slot, (peer.next_slot + 1) % way.SLOTS
        peer.slots[slot] = datatype  # kept, so that no other takes its identity
        self._teach(peer, Kind.TYPE, slot, way.encode(datatype))
        return slot

    def _site(self, peer: Peer, call: str) -> int:
        """The number under which the target remembers the words for a call."""
        site = peer.sites.get(call)
        if site is None:
            site = peer.sites[call] = len(peer.sites) % (way.SITES - 1) + 1
            self._teach(peer, Kind.SITE, site, call.encode(errors="surrogateescape"))
        return site

    def _teach(self, peer: Peer, kind: Kind, slot: int, data: bytes) -> None:
        """Send the target data to remember under a number."""
        scratch = _scratch(data)
        header = Header(kind, window=self._number, slot=slot, serial=self.next_serial(), size=len(data))
        for operation in self.send(peer, header, Run(scratch.address, len(data))):
            hold(operation, scratch)


def _scratch(data: bytes) -> Scratch:
    """Bytes at an address."""
    scratch = Scratch(len(data))
    scratch.data[: len(data)] = bytearray(data)
    return scratch
