"""One-sided communication by messages: the origin's side. A target that is this process itself is
reached directly. Windows on private memory of devices that do not reach it use this (SC-21)."""

from collections.abc import Callable, Iterable
from functools import partial

from ...body import Runs
from ...operation import Operation, Wait
from ..communicator import ONE_SIDED, Communicator
from ..constants import LockType
from ..errors import MpiError
from ..memory import Scratch
from ..op import Op
from ..request import device_error
from . import way
from .memory import LocalStores, Races, Watch
from .sender import Peer, Reply, Sender, Service
from .target import Target
from .way import Buffer, Header, Kind, Pending, Place, Transfer, Way

# The waits of calls on a window whose operations go by messages.


class Moved(Transfer):
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


class Until(Pending):
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
            target.watch(Races(watch.report, name))
        self._device = communicator.device
        self._progress = communicator.progress
        self._me = communicator.rank
        self._sender = Sender(communicator, service, watch)
        self._peers = self._sender.peers
        service.targets[communicator.number] = target

    def rename(self, name: str) -> None:
        self.name = name
        if self.target.races is not None:
            self.target.races.window = name

    def _why(self, call: str, rank: int | None, what: str) -> Wait:
        world = tuple(self.communicator.route) if rank is None else (self._peers[rank].world,)
        others = tuple(one for one in world if one != self._device.rank)
        return Wait(call, rank, None, ONE_SIDED, f"{what} on {self.name}", others)

    def _note_here(self, call: str, kind: Kind, place: Place, op: int = 0) -> None:
        """An operation of this process on its own memory."""
        if self._watch is not None:
            header = Header(kind, op, place.basic, 0, 0, 0, place.elements, place.offset, 0, self.epoch)
            self.target.note(self._me, self._watch.place(call), header, place.datatype)

    # Operations

    def put(self, call: str, origin: Buffer, target: Place) -> Transfer:
        why = self._why(call, target.rank, "put")
        if target.rank == self._me:
            with self._progress.lock:
                self._note_here(call, Kind.PUT, target)
                packed = self._packed(origin)
                self.target.put(target.datatype, target.elements, target.offset, packed.address, origin.size)
            return Moved(why)
        return self._give(why, self._peers[target.rank], Kind.PUT, origin, target)

    def accumulate(self, call: str, origin: Buffer, target: Place, op: Op) -> Transfer:
        why = self._why(call, target.rank, "accumulate")
        if target.rank == self._me:
            with self._progress.lock:
                self._note_here(call, Kind.ACCUMULATE, target, way.OP_NUMBERS[id(op)])
                self._accumulate_here(origin, target, op)
            return Moved(why)
        return self._give(why, self._peers[target.rank], Kind.ACCUMULATE, origin, target, op)

    def _give(self, why: Wait, peer: Peer, kind: Kind, origin: Buffer, target: Place, op: Op | None = None) -> Transfer:
        with self._progress.lock:
            number = 0 if op is None else way.OP_NUMBERS[id(op)]
            serial = self._sender.next_serial()
            header = self._sender.header(why.call, self.epoch, kind, target, serial, origin.size, number)
            peer.applied = False
            return Moved(why, self._sender.send(peer, header, origin.body()))

    def get(self, call: str, origin: Buffer, target: Place) -> Transfer:
        why = self._why(call, target.rank, "get")
        with self._progress.lock:
            if target.rank == self._me:
                self._note_here(call, Kind.GET, target)
                found = self.target.fetch(target.datatype, target.elements, target.offset)
                origin.datatype.unpack(found.address, origin.address, origin.elements, 0, target.size)
                return Moved(why)
            peer = self._peers[target.rank]
            reply = self._sender.expect(peer, origin.body(), target.size)
            self._sender.send(peer, self._sender.header(call, self.epoch, Kind.GET, target, reply.serial, 0))
            return self._fetched(why, peer, reply)

    def get_accumulate(self, call: str, origin: Buffer, result: Buffer, target: Place, op: Op) -> Transfer:
        why = self._why(call, target.rank, "get and accumulate")
        with self._progress.lock:
            if target.rank == self._me:
                self._note_here(call, Kind.GET_ACCUMULATE, target, way.OP_NUMBERS[id(op)])
                packed = self._packed(origin)
                found = self.target.fetch(target.datatype, target.elements, target.offset)
                self._accumulate_here(origin, target, op, packed)
                result.datatype.unpack(found.address, result.address, result.elements, 0, target.size)
                return Moved(why)
            peer = self._peers[target.rank]
            number = way.OP_NUMBERS[id(op)]
            reply = self._sender.expect(peer, result.body(), target.size)
            kind, size = Kind.GET_ACCUMULATE, origin.size
            header = self._sender.header(call, self.epoch, kind, target, reply.serial, size, number)
            return self._fetched(why, peer, reply, self._sender.send(peer, header, origin.body()))

    def compare_and_swap(self, call: str, origin: Buffer, compare: Buffer, result: Buffer, target: Place) -> Transfer:
        why = self._why(call, target.rank, "compare and swap")
        basic = way.TYPES[target.basic]
        with self._progress.lock:
            if target.rank == self._me:
                self._note_here(call, Kind.COMPARE_AND_SWAP, target)
                ours, theirs = self._packed(origin), self._packed(compare)
                old = self.target.compare_and_swap(basic, target.offset, ours.address, theirs.address)
                result.datatype.unpack(old.address, result.address, 1)
                return Moved(why)
            peer = self._peers[target.rank]
            reply = self._sender.expect(peer, result.body(), basic.size)
            kind, both = Kind.COMPARE_AND_SWAP, Runs([*origin.body().segments(), *compare.body().segments()])
            header = self._sender.header(call, self.epoch, kind, target, reply.serial, both.size)
            return self._fetched(why, peer, reply, self._sender.send(peer, header, both))

    def _fetched(self, why: Wait, peer: Peer, reply: Reply, sends: Iterable[Operation] = ()) -> Transfer:
        peer.applied = peer.applied and self._watch is None  # where reads are watched, their end must be told too
        return Moved(why, sends, [reply])

    @staticmethod
    def _packed(origin: Buffer) -> Scratch:
        copy = Scratch(origin.size)
        if origin.size:
            origin.datatype.pack(origin.address, origin.elements, copy.address)
        return copy

    def _accumulate_here(self, origin: Buffer, target: Place, op: Op, packed: Scratch | None = None) -> None:
        source = packed or self._packed(origin)
        basic, where = way.TYPES[target.basic], (target.datatype, target.elements, target.offset)
        self.target.accumulate(op, basic, *where, source.address, origin.size)

    # Completion

    def flush_local(self, call: str, ranks: Iterable[int]) -> None:
        self._finish(call, [self._peers[rank] for rank in ranks], landed=False)

    def _landing(self, peers: Iterable[Peer]) -> list[Operation]:
        """Return operations that are done once all that went another way than by messages has taken effect at the
        peers.
        """
        return []

    @property
    def _stores(self) -> LocalStores | None:
        return None if self.target.races is None else self.target.races.stores

    def flush(self, call: str, ranks: Iterable[int], fence: bool = False) -> None:
        if fence and self._stores is not None:
            self._stores.enter_fence(self.epoch)
        peers = [self._peers[rank] for rank in ranks]
        with self._progress.lock:
            for peer in peers:
                if not peer.applied:
                    self._sender.ask(peer, Kind.FLUSH, way.FENCE if fence else 0)
                if peer.rank == self._me and not fence:
                    self.target.done(self._me)
        self._finish(call, peers)

    def _finish(self, call: str, peers: list[Peer], landed: bool = True) -> None:
        """Wait for all that is under way to these targets; `landed`: for its effect there too."""
        sends = [(one, peer) for peer in peers for one in peer.sends]
        replies = [reply for peer in peers for reply in peer.replies]
        ranks = {reply.rank for reply in replies if not reply.operation.done}
        why = self._why(call, min(ranks) if len(ranks) == 1 else None, "operations")
        landing = self._landing(peers) if landed else []
        pending = Pending(why, [*(one for one, _ in sends), *(reply.operation for reply in replies), *landing])
        if pending.done:
            self._progress.poll()  # a program may loop over such calls until another process has done its part
        else:
            self._progress.wait(pending)
        errors = [reply.error(call) for reply in replies]
        errors += [device_error(call, one.error, one.length, peer.rank) for one, peer in sends if one.error is not None]
        seen = {id(one) for one, _ in sends} | {id(reply) for reply in replies}
        for peer in peers:  # another thread may have begun more
            peer.sends = [one for one in peer.sends if id(one) not in seen]
            peer.replies = [reply for reply in peer.replies if id(reply) not in seen]
        error = next(filter(None, errors), None)
        if error is not None:
            raise error

    def pass_fence(self) -> None:
        super().pass_fence()
        if self._stores is not None:
            self._stores.leave_fence()

    def confirm(self, call: str) -> None:
        with self._progress.lock:
            for peer in self._peers:
                if not peer.confirmed:
                    self._sender.ask(peer, Kind.FLUSH, way.FENCE)
        self._finish(call, self._peers)

    # Locks

    def lock(self, call: str, rank: int, kind: LockType) -> None:
        what = f"{kind.name.lower()} lock of rank {rank}"
        if rank == self._me:
            granted: list[bool] = []
            with self._progress.lock:
                self.target.locks.request(rank, kind, partial(granted.append, True))
            self._progress.wait(Until(self._why(call, rank, what), partial(bool, granted), self._service))
            return
        peer = self._peers[rank]
        with self._progress.lock:
            reply = self._sender.ask(peer, Kind.LOCK, kind)
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
                    self._sender.ask(peer, Kind.UNLOCK)
                else:
                    self._sender.tell(peer, Kind.UNLOCK)
        self._finish(call, peers)

    # Post, start, complete, wait

    def post(self, ranks: Iterable[int]) -> None:
        if self._stores is not None:
            self._stores.open()
        with self._progress.lock:
            for rank in ranks:
                self._tell(rank, Kind.POST)

    def _tell(self, rank: int, kind: Kind) -> None:
        if rank == self._me:
            counted = self.target.posts if kind is Kind.POST else self.target.completes
            counted[rank] += 1
        else:
            self._sender.tell(self._peers[rank], kind)

    def await_post(self, call: str, rank: int) -> None:
        peer, posts = self._peers[rank], self.target.posts
        if posts[rank] > peer.used:
            return
        why = self._why(call, rank, f"MPI_Win_post of rank {rank}")
        self._progress.wait(Until(why, lambda: posts[rank] > peer.used, self._service))

    def complete(self, call: str, ranks: Iterable[int]) -> None:
        ranks = list(ranks)
        with self._progress.lock:
            for rank in ranks:
                self._tell(rank, Kind.COMPLETE)
                self._peers[rank].used += 1
        self.flush_local(call, ranks)

    def exposed(self, call: str, ranks: Iterable[int]) -> Pending:
        ranks, completes = list(ranks), self.target.completes
        late = [rank for rank in ranks if completes[rank] <= self._peers[rank].completes_seen]
        text = ", ".join(map(str, late))
        why = self._why(call, late[0] if len(late) == 1 else None, f"MPI_Win_complete of rank {text}")
        return Until(
            why, lambda: all(completes[rank] > self._peers[rank].completes_seen for rank in ranks), self._service
        )

    def end_exposure(self, ranks: Iterable[int]) -> None:
        if self.target.races is not None:
            self.target.races.closed()
        for rank in ranks:
            self._peers[rank].completes_seen += 1

    def close(self) -> None:
        self._service.targets.pop(self.communicator.number, None)
