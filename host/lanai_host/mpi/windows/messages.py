"""One-sided communication by messages: the origin's side. A target that is this process itself is reached directly."""

from collections.abc import Callable, Iterable
from functools import partial

from ...body import NOTHING, Body, Run, Runs
from ...bus.base import Wait
from ...device import SendMode
from ...operation import Operation
from ..communicator import Communicator
from ..constants import LockType
from ..context_numbers import ONE_SIDED, ONE_SIDED_DATA
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..memory import Scratch
from ..op import Op
from ..request import device_error, hold
from . import wire
from .races import Races, Watch
from .service import Service
from .target import MOST_REFUSED, Target
from .way import Buffer, Pending, Place, Transfer, Way
from .wire import Header, Kind


class Reply:
    """An answer under way: data of known size into the program's buffer, or the word that all is done."""

    __slots__ = ("fetched", "operation", "rank", "scratch", "serial", "size")

    def __init__(self, rank: int, serial: int, operation: Operation, size: int, scratch: Scratch | None) -> None:
        self.rank, self.serial, self.operation, self.size, self.scratch = rank, serial, operation, size, scratch

    def error(self, call: str) -> MpiError | None:
        operation = self.operation
        if operation.error is not None:
            return device_error(call, operation.error, operation.length, self.rank)
        if self.scratch is not None and operation.length:
            text = self.scratch.data[: operation.length].tobytes().decode(errors="replace")
            return MpiError(ErrorClass.RMA_RANGE, f"{call}: rank {self.rank} refused {text}")
        if self.scratch is None and operation.length < self.size:
            text = f"{call}: rank {self.rank} refused to read what is outside the memory that is attached"
            return MpiError(ErrorClass.RMA_RANGE, text)
        return None


class Peer:
    """What this process knows of one target.

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
        self.slots: list[Datatype | None] = [None] * wire.SLOTS
        self.sites: dict[str, int] = {}  # the calls that it remembers, where races are reported
        self.next_slot = 0
        self.told = 0  # completes counted by MPI_Win_wait


class _Moved(Transfer):
    """A transfer by messages, or done already."""

    def __init__(self, why: Wait, operations: Iterable[Operation] = (), replies: Iterable[Reply] = ()) -> None:
        self._replies = list(replies)
        self._all = [*operations, *(reply.operation for reply in self._replies)]
        super().__init__(why, self._all)

    def error(self, call: str) -> MpiError | None:
        found = next(filter(None, (reply.error(call) for reply in self._replies)), None)
        failed = next((one for one in self._all if one.error is not None), None)
        if found is None and failed is not None and failed.error is not None:
            found = device_error(call, failed.error, failed.length, -1)
        return found


class _Until(Pending):
    """Done when a condition holds, which messages that the service takes may bring about."""

    def __init__(self, why: Wait, condition: Callable[[], bool], service: Service) -> None:
        super().__init__(why)
        self._condition, self._service = condition, service

    @property
    def done(self) -> bool:
        return self._condition()

    def operations(self) -> list[Operation]:
        return self._service.operations()


class Messages(Way):
    """`name` is what reports call the window."""

    def __init__(
        self, communicator: Communicator, target: Target, service: Service, name: str, watch: Watch | None = None
    ) -> None:
        self.communicator = communicator
        self.target = target
        self.name = name
        self._service = service
        self._watch = watch
        if watch is not None:
            target.races = Races(watch.report, name)
        self._device = communicator.device
        self._progress = communicator.progress
        self._me = communicator.rank
        self._peers = [Peer(rank, world) for rank, world in enumerate(communicator.route)]
        self._serial = 0
        service.targets[communicator.number] = target

    def rename(self, name: str) -> None:
        self.name = name
        if self.target.races is not None:
            self.target.races.window = name

    # Messages

    def _send(self, peer: Peer, header: Header, body: Body = NOTHING) -> None:
        """A request and its data, which go along if they fit."""
        scratch = Scratch(wire.HEADER)
        scratch.data[:] = bytearray(wire.pack(header))
        head = (scratch.address, wire.HEADER)
        along = body.size <= wire.EAGER
        first = self._device.send(
            peer.world,
            header.kind,
            ONE_SIDED,
            Runs([head, *body.segments()]) if along and body.size else Run(*head),
            SendMode.STANDARD,
        )
        hold(first, scratch)
        peer.confirmed = False
        if along:
            self._keep(peer, first)
        else:
            self._keep(
                peer,
                self._device.send(peer.world, wire.data_tag(header.serial), ONE_SIDED_DATA, body, SendMode.STANDARD),
            )

    @staticmethod
    def _keep(peer: Peer, operation: Operation) -> None:
        if not operation.done or operation.error is not None:
            if len(peer.sends) > 64:
                peer.sends = [one for one in peer.sends if not one.done or one.error is not None]
            peer.sends.append(operation)

    def _next_serial(self) -> int:
        self._serial = self._serial % (wire.SERIALS - 1) + 1
        return self._serial

    def _expect(self, peer: Peer, buffer: Body | None, size: int) -> Reply:
        """Be ready for an answer: into a buffer, or (None) that something is done."""
        scratch = Scratch(MOST_REFUSED) if buffer is None else None
        body = Run(scratch.address, MOST_REFUSED) if scratch is not None else buffer or NOTHING
        serial = self._next_serial()
        operation = self._device.receive(peer.world, wire.answer_tag(serial), ONE_SIDED_DATA, body)
        hold(operation, scratch)
        reply = Reply(peer.rank, serial, operation, size, scratch)
        if len(peer.replies) > 64:
            peer.replies = [one for one in peer.replies if not one.operation.done or one.error("") is not None]
        peer.replies.append(reply)
        return reply

    def _header(self, call: str, kind: Kind, place: Place, serial: int, size: int, op: int = 0) -> Header:
        """The request for an operation at a place, once the target knows the place's datatype."""
        datatype, count, offset, basic, slot = place.datatype, place.elements, place.offset, place.basic, wire.NO_SLOT
        number = wire.TYPE_NUMBERS.get(id(datatype))
        if number is not None:
            basic = number
        elif datatype.dense and wire.TYPES[basic].dense:  # one run of elements
            offset += datatype.true_lb
            count = place.size // wire.TYPES[basic].size
        else:
            slot = self._slot(self._peers[place.rank], datatype)
        site = 0 if self._watch is None else self._site(self._peers[place.rank], self._watch.place(call))
        number = self.communicator.number
        return Header(kind, op, basic, number, slot, serial, count, offset, size, self.epoch, site)

    def _site(self, peer: Peer, call: str) -> int:
        """The number under which the target remembers the words for a call."""
        site = peer.sites.get(call)
        if site is None:
            site = peer.sites[call] = len(peer.sites) % (wire.SITES - 1) + 1
            text = Scratch(len(call.encode()))
            text.data[:] = bytearray(call.encode())
            size = len(text.data)
            header = Header(
                Kind.SITE, window=self.communicator.number, slot=site, serial=self._next_serial(), size=size
            )
            self._send(peer, header, Run(text.address, size))
            if peer.sends:
                hold(peer.sends[-1], text)
        return site

    def _note_here(self, call: str, kind: Kind, place: Place, op: int = 0) -> None:
        """An operation of this process on its own memory."""
        if self._watch is not None:
            header = Header(kind, op, place.basic, 0, 0, 0, place.elements, place.offset, 0, self.epoch)
            self.target.note(self._me, self._watch.place(call), header, place.datatype)

    def _slot(self, peer: Peer, datatype: Datatype) -> int:
        """The place where the target remembers a datatype, which it is sent if it does not."""
        for slot, known in enumerate(peer.slots):
            if known is datatype:
                return slot
        slot, peer.next_slot = peer.next_slot, (peer.next_slot + 1) % wire.SLOTS
        peer.slots[slot] = datatype  # kept, so that no other takes its identity
        data = wire.encode(datatype)
        scratch = Scratch(len(data))
        scratch.data[: len(data)] = bytearray(data)
        header = Header(
            Kind.TYPE, window=self.communicator.number, slot=slot, serial=self._next_serial(), size=len(data)
        )
        self._send(peer, header, Run(scratch.address, len(data)))
        if peer.sends:
            hold(peer.sends[-1], scratch)
        return slot

    def _why(self, call: str, rank: int | None, what: str) -> Wait:
        world = tuple(self.communicator.route) if rank is None else (self._peers[rank].world,)
        others = tuple(one for one in world if one != self._device.rank)
        return Wait(call, rank, None, ONE_SIDED, f"{what} on {self.name}", others)

    # Operations

    def put(self, call: str, origin: Buffer, target: Place) -> Transfer:
        why = self._why(call, target.rank, "put")
        if target.rank == self._me:
            with self._progress.lock:
                self._note_here(call, Kind.PUT, target)
                packed = self._packed(origin)
                self.target.put(target.datatype, target.elements, target.offset, packed.address, origin.size)
            return _Moved(why)
        return self._give(why, self._peers[target.rank], Kind.PUT, origin, target)

    def accumulate(self, call: str, origin: Buffer, target: Place, op: Op) -> Transfer:
        why = self._why(call, target.rank, "accumulate")
        if target.rank == self._me:
            with self._progress.lock:
                self._note_here(call, Kind.ACCUMULATE, target, wire.OP_NUMBERS[id(op)])
                self._accumulate_here(origin, target, op)
            return _Moved(why)
        return self._give(why, self._peers[target.rank], Kind.ACCUMULATE, origin, target, op)

    def _give(self, why: Wait, peer: Peer, kind: Kind, origin: Buffer, target: Place, op: Op | None = None) -> Transfer:
        with self._progress.lock:
            number = 0 if op is None else wire.OP_NUMBERS[id(op)]
            header = self._header(why.call, kind, target, self._next_serial(), origin.size, number)
            before = len(peer.sends)
            self._send(peer, header, origin.body())
            peer.applied = False
            return _Moved(why, peer.sends[before:])

    def get(self, call: str, origin: Buffer, target: Place) -> Transfer:
        why = self._why(call, target.rank, "get")
        with self._progress.lock:
            if target.rank == self._me:
                self._note_here(call, Kind.GET, target)
                found = self.target.fetch(target.datatype, target.elements, target.offset)
                origin.datatype.unpack(found.address, origin.address, origin.elements, 0, target.size)
                return _Moved(why)
            peer = self._peers[target.rank]
            reply = self._expect(peer, origin.body(), target.size)
            peer.applied = peer.applied and self._watch is None  # where reads are watched, their end must be told too
            self._send(peer, self._header(call, Kind.GET, target, reply.serial, 0))
            return _Moved(why, (), [reply])

    def get_accumulate(self, call: str, origin: Buffer, result: Buffer, target: Place, op: Op) -> Transfer:
        why = self._why(call, target.rank, "get and accumulate")
        with self._progress.lock:
            if target.rank == self._me:
                self._note_here(call, Kind.GET_ACCUMULATE, target, wire.OP_NUMBERS[id(op)])
                packed = self._packed(origin)
                found = self.target.fetch(target.datatype, target.elements, target.offset)
                self._accumulate_here(origin, target, op, packed)
                result.datatype.unpack(found.address, result.address, result.elements, 0, target.size)
                return _Moved(why)
            peer = self._peers[target.rank]
            number = wire.OP_NUMBERS[id(op)]
            reply = self._expect(peer, result.body(), target.size)
            peer.applied = peer.applied and self._watch is None
            header = self._header(call, Kind.GET_ACCUMULATE, target, reply.serial, origin.size, number)
            before = len(peer.sends)
            self._send(peer, header, origin.body())
            return _Moved(why, peer.sends[before:], [reply])

    def compare_and_swap(self, call: str, origin: Buffer, compare: Buffer, result: Buffer, target: Place) -> Transfer:
        why = self._why(call, target.rank, "compare and swap")
        basic = wire.TYPES[target.basic]
        with self._progress.lock:
            if target.rank == self._me:
                self._note_here(call, Kind.COMPARE_AND_SWAP, target)
                old = self.target.compare_and_swap(basic, target.offset, origin.address, compare.address)
                result.datatype.unpack(old.address, result.address, 1)
                return _Moved(why)
            peer = self._peers[target.rank]
            reply = self._expect(peer, result.body(), basic.size)
            peer.applied = peer.applied and self._watch is None
            header = self._header(call, Kind.COMPARE_AND_SWAP, target, reply.serial, 2 * basic.size)
            self._send(peer, header, Runs([*origin.body().segments(), *compare.body().segments()]))
            return _Moved(why, (), [reply])

    @staticmethod
    def _packed(origin: Buffer) -> Scratch:
        copy = Scratch(origin.size)
        if origin.size:
            origin.datatype.pack(origin.address, origin.elements, copy.address)
        return copy

    def _accumulate_here(self, origin: Buffer, target: Place, op: Op, packed: Scratch | None = None) -> None:
        source = packed or self._packed(origin)
        basic, where = wire.TYPES[target.basic], (target.datatype, target.elements, target.offset)
        self.target.accumulate(op, basic, *where, source.address, origin.size)

    # Completion

    def flush_local(self, call: str, ranks: Iterable[int]) -> None:
        self._finish(call, [self._peers[rank] for rank in ranks])

    def flush(self, call: str, ranks: Iterable[int], fence: bool = False) -> None:
        peers = [self._peers[rank] for rank in ranks]
        with self._progress.lock:
            for peer in peers:
                if not peer.applied:
                    self._ask(peer, Kind.FLUSH, wire.FENCE if fence else 0)
                if peer.rank == self._me and not fence:
                    self.target.done(self._me)
        self._finish(call, peers)

    def _ask(self, peer: Peer, kind: Kind, op: int = 0) -> Reply:
        reply = self._expect(peer, None, 0)
        self._send(peer, Header(kind, op, window=self.communicator.number, serial=reply.serial))
        if kind is not Kind.LOCK:  # what comes after this needs an answer of its own
            peer.applied = peer.confirmed = True
        return reply

    def _finish(self, call: str, peers: list[Peer]) -> None:
        """Wait for all that is under way to these targets."""
        operations = [one for peer in peers for one in peer.sends]
        operations += [reply.operation for peer in peers for reply in peer.replies]
        ranks = {reply.rank for peer in peers for reply in peer.replies if not reply.operation.done}
        pending = Pending(self._why(call, min(ranks) if len(ranks) == 1 else None, "operations"), operations)
        if pending.done:
            self._progress.poll()  # a program may loop over calls that only concern itself until another process has done its part
        else:
            self._progress.wait(pending)
        errors = [reply.error(call) for peer in peers for reply in peer.replies]
        for peer in peers:
            for one in peer.sends:
                errors.append(None if one.error is None else device_error(call, one.error, one.length, peer.rank))
            peer.sends, peer.replies = [], []
        error = next(filter(None, errors), None)
        if error is not None:
            raise error

    def confirm(self, call: str) -> None:
        with self._progress.lock:
            for peer in self._peers:
                if not peer.confirmed:
                    self._ask(peer, Kind.FLUSH, wire.FENCE)
        self._finish(call, self._peers)

    # Locks

    def lock(self, call: str, rank: int, kind: LockType) -> None:
        what = f"{kind.name.lower()} lock of rank {rank}"
        if rank == self._me:
            granted: list[bool] = []
            with self._progress.lock:
                self.target.locks.request(rank, kind, partial(granted.append, True))
            self._progress.wait(_Until(self._why(call, rank, what), partial(bool, granted), self._service))
            return
        peer = self._peers[rank]
        with self._progress.lock:
            reply = self._ask(peer, Kind.LOCK, kind)
        self._progress.wait(Pending(self._why(call, rank, what), [reply.operation]))
        peer.replies.remove(reply)
        error = reply.error(call)
        if error is not None:
            raise error

    def unlock(self, call: str, ranks: Iterable[int]) -> None:
        peers = [self._peers[rank] for rank in ranks]
        with self._progress.lock:
            for peer in peers:
                if peer.rank == self._me:
                    self.target.done(self._me)
                    self.target.locks.release(self._me)
                elif not peer.applied:
                    self._ask(peer, Kind.UNLOCK)
                else:
                    self._send(peer, Header(Kind.UNLOCK, window=self.communicator.number))
        self._finish(call, peers)

    # Post, start, complete, wait

    def post(self, ranks: Iterable[int]) -> None:
        with self._progress.lock:
            for rank in ranks:
                self._tell(rank, Kind.POST)

    def _tell(self, rank: int, kind: Kind) -> None:
        if rank == self._me:
            counted = self.target.posts if kind is Kind.POST else self.target.completes
            counted[rank] += 1
        else:
            self._send(self._peers[rank], Header(kind, window=self.communicator.number))

    def await_post(self, call: str, rank: int) -> None:
        peer, posts = self._peers[rank], self.target.posts
        if posts[rank] > peer.used:
            return
        why = self._why(call, rank, f"MPI_Win_post of rank {rank}")
        self._progress.wait(_Until(why, lambda: posts[rank] > peer.used, self._service))

    def complete(self, call: str, ranks: Iterable[int]) -> None:
        ranks = list(ranks)
        with self._progress.lock:
            for rank in ranks:
                self._tell(rank, Kind.COMPLETE)
                self._peers[rank].used += 1
        self.flush_local(call, ranks)

    def exposed(self, call: str, ranks: Iterable[int]) -> Pending:
        ranks, completes = list(ranks), self.target.completes
        late = [rank for rank in ranks if completes[rank] <= self._peers[rank].told]
        text = ", ".join(map(str, late))
        why = self._why(call, late[0] if len(late) == 1 else None, f"MPI_Win_complete of rank {text}")
        return _Until(why, lambda: all(completes[rank] > self._peers[rank].told for rank in ranks), self._service)

    def end_exposure(self, ranks: Iterable[int]) -> None:
        if self.target.races is not None:
            self.target.races.closed()
        for rank in ranks:
            self._peers[rank].told += 1

    def close(self) -> None:
        self._service.targets.pop(self.communicator.number, None)
