"""The `mpi-np` device: MPI-NP (1999), the protocol on the network interface.

The host places requests and reads records; matching, credit and rendezvous are the firmware's. What is left here: short bodies are
written by the processor (NP-41), long ones are pinned and described (NP-44); what the NIC has no room for waits in queues, so
that any number of operations may be outstanding.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from lanai_firmware.mcp.layout import ANY, NO_TAG, Error, Kind, Op

from ..bus import ANSWER, Bus, Wait, run_now
from ..config import HostConfig, HostCost
from ..device import (
    ANY_SOURCE,
    ANY_TAG,
    Arrived,
    Device,
    DeviceError,
    ErrorKind,
    Operation,
    Segments,
    SendMode,
)
from ..driver import Attachment
from ..endpoint import Endpoint, Notice
from ..pages import PageTable
from .np_memory import Hold, Memory, gather, merged, scatter
from .np_parcels import Parcel, Parcels, Receive

RESERVED = 4  # receive entries kept for messages taken off the NIC: those always finish
MOST_SENDS = 4096  # long sends on the NIC at once: each will need a record
NO_ERROR = int(Error.OK)
ERRORS = {
    Error.TRUNCATED: ErrorKind.TRUNCATED,
    Error.BAD_ADDRESS: ErrorKind.BUS_ERROR,
    Error.BUS: ErrorKind.BUS_ERROR,
    Error.PEER_FAILED: ErrorKind.PEER_FAILED,
}


class Send(Operation):
    """A send under way."""

    __slots__ = ("context", "dest", "hold", "mode", "runs", "size")

    def __init__(self, rank: int, dest: int, tag: int, context: int, segments: Segments, mode: SendMode) -> None:
        super().__init__(rank, tag)
        self.dest = dest
        self.context = context
        self.runs = merged(segments)
        self.size = sum(size for _, size in self.runs)
        self.mode = mode
        self.hold: Hold | None = None


def failure(error: int) -> DeviceError | None:
    """A record's error as the device's."""
    if error == NO_ERROR:
        return None
    kind = ERRORS.get(Error(error), ErrorKind.BAD_REQUEST)
    return DeviceError(kind, f"the NIC reports {Error(error).name}")


class MpiNp(Device):
    """Messages through the MCP."""

    def __init__(self, bus: Bus, attachment: Attachment, config: HostConfig) -> None:
        self.bus = bus
        self.config = config
        self.rank = attachment.rank
        self.size = attachment.ranks
        self.offloads = frozenset({"matching", "synchronous", "ready"})
        self.endpoint = Endpoint(bus, attachment, config)
        self.memory = Memory(bus, config)
        table = self.endpoint.copyblock.view[attachment.page_table_offset :]
        self.table = PageTable(table, attachment.page_entries, config.pages_per_entry)
        self.sends: dict[int, deque[Send]] = {}  # by destination: not on the NIC yet
        self.parcels = Parcels()
        self.entries = list(range(attachment.receives))  # receive entries of the NIC that are free
        self.wildcards = attachment.any_receives
        self.pressure = attachment.messages // 2  # unclaimed messages of one source at which they are taken off the NIC
        self.numbers = deque(range(1, 0x8000))
        self.active: dict[int, Operation] = {}  # on the NIC, by number
        self.long_sends = 0
        self.answers: dict[int, Notice | None] = {}  # to probes and cancels, by number
        self.crowded: set[int] = set()  # sources whose message slots are running out
        self.watching = False  # all messages are off the NIC, and it will announce the next
        self.lost: set[int] = set()  # ranks that do not answer
        self.news = 0
        self.seen = 0
        self.closed = False

    # The interface.

    def send(self, dest: int, tag: int, context: int, segments: Segments, mode: SendMode) -> Operation:
        return self._now(self.begin_send(dest, tag, context, segments, mode))

    def receive(self, source: int, tag: int, context: int, segments: Segments) -> Operation:
        return self._now(self.begin_receive(source, tag, context, segments))

    async def begin_send(self, dest: int, tag: int, context: int, segments: Segments, mode: SendMode) -> Operation:
        """`send` for a program that is a coroutine on a bus that suspends."""
        operation = Send(self.rank, dest, tag, context, segments, mode)
        await self._send(operation)
        return operation

    async def begin_receive(self, source: int, tag: int, context: int, segments: Segments) -> Operation:
        """`receive` for such a program."""
        operation = Receive(source, tag, context, segments)
        await self._receive(operation)
        return operation

    async def finish(self, operations: Sequence[Operation], why: Wait) -> None:
        """Wait, in such a program, until all of `operations` are done."""
        for operation in operations:
            while not operation.done:
                await self._wait([operation], why)

    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        return self._now(self._probe(source, tag, context, take))

    def receive_taken(self, arrived: Arrived, segments: Segments) -> Operation:
        operation = Receive(arrived.source, arrived.tag, arrived.context, segments)
        parcel = arrived.handle
        if not isinstance(parcel, Parcel):
            raise ValueError(f"{arrived!r} was not taken by this device's probe")
        self._now(self._open(parcel, operation))
        return operation

    def cancel(self, operation: Operation) -> bool:
        return self._now(self._cancel(operation))

    def progress(self) -> None:
        self._now(self._look_once())

    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        self._now(self._wait(operations, why))

    def now(self) -> int:
        return self.bus.now + self.endpoint.debt

    def charge(self, what: HostCost, count: int = 1) -> None:
        self.endpoint.charge(what, count)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._now(self._close())

    def _now(self, work: Coroutine[Any, Any, ANSWER]) -> ANSWER:
        return run_now(work)

    # Sends.

    async def _send(self, send: Send) -> None:
        queue = self.sends.get(send.dest)
        if send.dest in self.lost:
            self._fail(send, send.dest)
        elif queue or not await self._place_send(send):
            self.sends.setdefault(send.dest, deque()).append(send)

    async def _place_send(self, send: Send) -> bool:
        """Put a send on the NIC. False if there is no room."""
        fields = {"tag": send.tag, "length": send.size, "context": send.context, "peer": send.dest}
        synchronous = send.mode is SendMode.SYNCHRONOUS
        short = send.size <= self.endpoint.inline_limit
        if short and not synchronous and send.hold is None and await self.endpoint.can_post(send.dest, inline=True):
            await self.endpoint.post(Op.SEND_INLINE, 0, fields, send.dest, gather(send.runs) if send.size else b"")
            self._finish(send)
            return True
        if self.long_sends >= MOST_SENDS or not self.numbers or not await self.endpoint.can_post(send.dest):
            return False
        if send.hold is None:
            send.hold = await self.memory.lend(send.runs, True, bounce=short)
            self._account()
        if self.table.needed(len(send.hold.pieces)) >= len(self.table.free):
            return False
        number = self.numbers.popleft()
        hold = send.hold
        hold.entries = self.table.write(hold.pieces, send.size, number, send.dest)
        self.active[number] = send
        self.long_sends += 1
        op = Op.SEND_SYNC if synchronous else Op.SEND
        fields |= {"table": hold.entries[0], **self._inline(hold)}
        await self.endpoint.post(op, number, fields, send.dest)
        return True

    def _inline(self, hold: Hold) -> dict[str, int]:
        """The first pieces, which ride in the request (NP-47)."""
        fields = {}
        for i, (address, length) in enumerate(hold.pieces[:2]):
            fields[f"pieces.{i}.address"] = address
            fields[f"pieces.{i}.length"] = length
        return fields

    # Receives.

    async def _receive(self, receive: Receive) -> None:
        parcel = self.parcels.find(receive.wanted_source, receive.wanted_tag, receive.context)
        self.charge(HostCost.MATCH, self.parcels.compared())
        if parcel is not None:
            self.parcels.parcels.remove(parcel)
            await self._open(parcel, receive)
        elif self.parcels.receives or not await self._place_receive(receive):
            self.parcels.receives.append(receive)
            await self._sort()
            for rank in self.lost:
                self._fail_waiting(rank)

    async def _place_receive(self, receive: Receive) -> bool:
        """Post a receive on the NIC. False if there is no room."""
        anyone = receive.wanted_source == ANY_SOURCE
        if self.config.host_matching or len(self.entries) <= RESERVED or (anyone and self.wildcards == 0):
            return False
        peer = int(ANY) if anyone else receive.wanted_source
        tag = int(NO_TAG) if receive.wanted_tag == ANY_TAG else receive.wanted_tag
        if not await self._post_receive(Op.RECEIVE, receive, {"peer": peer, "tag": tag}):
            return False
        if anyone:
            self.wildcards -= 1
        return True

    async def _post_receive(self, op: Op, receive: Receive, fields: dict[str, int]) -> bool:
        if not self.entries or not self.numbers:
            return False
        while not await self.endpoint.can_post():
            pass  # sends leave some slots to others, and the NIC gives those back as soon as it has read them
        if receive.hold is None:
            receive.hold = await self.memory.lend(receive.segments, False)
            self._account()
        hold = receive.hold
        assert isinstance(hold, Hold)
        rest = hold.pieces[2:]
        if rest and self.table.needed(len(rest)) >= len(self.table.free):
            return False
        number = self.numbers.popleft()
        if rest:
            hold.entries = self.table.write(rest, hold.total, number, 0)
            fields["table"] = hold.entries[0]
        receive.index = self.entries.pop()
        receive.number = number
        receive.placed = True
        self.active[number] = receive
        fields |= {"token": receive.index, "limit": hold.total, "context": receive.context, **self._inline(hold)}
        await self.endpoint.post(op, number, fields)
        return True

    async def _open(self, parcel: Parcel, receive: Receive) -> None:
        """Receive a message that is off the NIC."""
        receive.source, receive.tag = parcel.source, parcel.tag
        receive.wanted_source = parcel.source
        if parcel.data is not None:
            receive.length = scatter(merged(receive.segments), parcel.data)
            self.charge(HostCost.COPY, receive.length)
            if receive.length < parcel.length:
                receive.error = failure(Error.TRUNCATED)
            self._finish(receive)
            return
        fields = {"peer": parcel.source, "tag": parcel.tag, "length": parcel.length, "spare": parcel.handle}
        await self._until(lambda: self._post_receive(Op.RECEIVE_PULL, receive, fields))

    # Messages taken off the NIC.

    async def _drain(self, peer: int) -> None:
        """Take all messages of one source, or of all, off the NIC, and give them to waiting receives."""
        self.watching = peer == int(ANY) or self.watching  # an arrival from now on turns it off again
        while (notice := await self._ask(Op.DRAIN, {"peer": peer})).kind is not Kind.MISSING:
            found = Parcel(notice.source, notice.tag, notice.context, notice.length, None, notice.token)
            receive = self.parcels.claim(found)
            self.charge(HostCost.MATCH, self.parcels.compared())
            if receive is None:
                self.parcels.parcels.append(await self._parcel(notice))
            elif notice.kind is Kind.FOUND_PULL:
                await self._open(found, receive)
            else:
                receive.wanted_source = notice.source
                await self._receive_taken(notice, receive)

    async def _parcel(self, notice: Notice) -> Parcel:
        """The message that a matched probe took. A body in the NIC's heap is brought to the host: heap and slot are scarce."""
        parcel = Parcel(notice.source, notice.tag, notice.context, notice.length, None, notice.token)
        if notice.kind is Kind.FOUND_PULL:
            return parcel
        if not notice.length:
            await self._fetch(notice, Receive(notice.source, notice.tag, notice.context, ()))
            parcel.data = b""
            return parcel
        buffer = bytearray(notice.length)
        address = address_of(buffer)
        receive = Receive(notice.source, notice.tag, notice.context, ((address, notice.length),))
        await self._fetch(notice, receive)
        parcel.data = bytes(buffer)
        return parcel

    async def _receive_taken(self, notice: Notice, receive: Receive) -> None:
        """Let the NIC bring the body that a matched probe left there."""
        fields = {"peer": notice.source, "spare": notice.token}
        await self._until(lambda: self._post_receive(Op.RECEIVE_TAKEN, receive, fields))

    async def _fetch(self, notice: Notice, receive: Receive) -> None:
        receive.hold = await self.memory.lend(receive.segments, False, bounce=True)
        await self._receive_taken(notice, receive)
        while not receive.done:
            await self._step(Wait("bringing in an unexpected message", receive.source, receive.tag, receive.context))

    # Questions with an answer.

    async def _ask(self, op: Op, fields: dict[str, int]) -> Notice:
        """Place a request that the NIC answers at once, and wait for the answer."""
        await self._until(self.endpoint.can_post)
        number = self.numbers.popleft()
        self.answers[number] = None
        await self.endpoint.post(op, number, fields)
        while (notice := self.answers[number]) is None:
            await self._step(Wait(f"asking the NIC: {op.name}"))
        del self.answers[number]
        self.numbers.append(number)
        return notice

    async def _probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        await self._progress()
        if self.parcels.receives:
            await self._drain(int(ANY))
        parcel = self.parcels.find(source, tag, context)
        if parcel is not None:
            if take:
                self.parcels.parcels.remove(parcel)
            return Arrived(parcel.source, parcel.tag, parcel.length, context, parcel)
        peer = int(ANY) if source == ANY_SOURCE else source
        fields = {"peer": peer, "tag": int(NO_TAG) if tag == ANY_TAG else tag, "context": context}
        self.seen = self.news
        notice = await self._ask(Op.PROBE_TAKE if take else Op.PROBE, fields)
        if notice.kind is Kind.MISSING:
            return None
        handle = await self._parcel(notice) if take else None
        return Arrived(notice.source, notice.tag, notice.length, context, handle)

    async def _cancel(self, operation: Operation) -> bool:
        if operation.done:
            return False
        if isinstance(operation, Send):
            queue = self.sends.get(operation.dest)
            if queue and operation in queue:
                queue.remove(operation)
                operation.cancelled = True
                if operation.hold is not None:
                    await self.memory.take_back(operation.hold, 0)
                self._finish(operation)
            return operation.cancelled
        assert isinstance(operation, Receive)
        if not operation.placed:
            if operation not in self.parcels.receives:
                return False
            self.parcels.receives.remove(operation)
            if isinstance(operation.hold, Hold):
                await self.memory.take_back(operation.hold, 0)
        else:
            notice = await self._ask(Op.CANCEL, {"token": operation.index})
            if notice.kind is not Kind.CANCELLED or operation.done:
                return False
            await self._retire(operation, 0)
        operation.cancelled = True
        self._finish(operation)
        return True

    # Progress.

    async def _look_once(self) -> None:
        """A look that lets time pass, so that a program which only tests sees the world move."""
        news = self.news
        await self._progress()
        if self.news == news:
            await self.bus.catch_up()
            await self._progress()
            if self.news == news:
                await self._relieve()

    async def _progress(self) -> None:
        """Look at what the NIC has written, and use the room that this may have made."""
        self.charge(HostCost.POLL)
        while (notice := self.endpoint.look()) is not None:
            await self._heed(notice)
        await self.endpoint.pay()
        await self._sort()
        await self._flush()

    async def _sort(self) -> None:
        """Take messages off the NIC where its slots run out, or where receives wait here; move receives on to the NIC."""
        while self.parcels.receives:
            if not await self._place_receive(self.parcels.receives[0]):
                break
            self.parcels.receives.popleft()
        if self.parcels.receives and not self.watching:
            await self._drain(int(ANY))

    async def _relieve(self) -> bool:
        """Take messages off the NIC where its slots run out, when the program has nothing better to do: what it receives
        meanwhile goes straight to its place. False if there was nothing to take."""
        if not self.crowded:
            return False
        while self.crowded:
            await self._drain(self.crowded.pop())
        return True

    async def _flush(self) -> None:
        """Put waiting sends on the NIC, in order for each destination."""
        for dest in list(self.sends):
            queue = self.sends[dest]
            while queue and await self._place_send(queue[0]):
                queue.popleft()
            if not queue:
                del self.sends[dest]

    async def _heed(self, notice: Notice) -> None:
        """Act on one record."""
        if notice.kind is Kind.ROOM:
            return
        if notice.operation in self.answers and notice.kind is not Kind.ARRIVED:
            self.answers[notice.operation] = notice
            return
        self.news += 1
        if notice.kind is Kind.LOST:
            await self._lose(notice.source)
            return
        if notice.kind is Kind.ARRIVED:
            self.watching = False
            if notice.length >= self.pressure:
                self.crowded.add(notice.source)
            return
        operation = self.active.get(notice.operation)
        if operation is None:
            return
        operation.error = failure(notice.error)
        if isinstance(operation, Receive):
            if notice.kind is Kind.RECEIVED:
                self._check(notice, operation)
                operation.source, operation.tag, operation.length = notice.source, notice.tag, notice.length
            await self._retire(operation, operation.length)
        elif isinstance(operation, Send):
            await self._retire_send(notice.operation, operation)
        self._finish(operation)

    def _check(self, notice: Notice, receive: Receive) -> None:
        """Believe of a received message only what can be: a source in the world, no more bytes than were asked for."""
        total = receive.hold.total if isinstance(receive.hold, Hold) else 0
        if notice.length > total:
            raise self.endpoint.distrust(f"tells of {notice.length} bytes in a buffer of {total}")
        if notice.error == NO_ERROR and notice.source >= self.size:
            raise self.endpoint.distrust(f"tells of source {notice.source} in a world of {self.size} ranks")

    async def _lose(self, rank: int) -> None:
        """A rank does not answer. The NIC has failed the receives that it had; sends, and what waits here, are failed now."""
        self.lost.add(rank)
        for number, operation in list(self.active.items()):
            if isinstance(operation, Send) and operation.dest == rank:
                await self._retire_send(number, operation)
                self._fail(operation, rank)
        for send in self.sends.pop(rank, ()):
            if send.hold is not None:
                await self.memory.take_back(send.hold, 0)
            self._fail(send, rank)
        self._fail_waiting(rank)

    def _fail_waiting(self, rank: int) -> None:
        """Receives that wait here for a lost rank, or for anyone, would wait for ever."""
        for receive in [r for r in self.parcels.receives if r.wanted_source in (rank, ANY_SOURCE)]:
            self.parcels.receives.remove(receive)
            self._fail(receive, rank)

    def _fail(self, operation: Operation, rank: int) -> None:
        operation.error = DeviceError(ErrorKind.PEER_FAILED, f"rank {rank} does not answer")
        self._finish(operation)

    async def _retire(self, receive: Receive, received: int) -> None:
        """The NIC has forgotten a receive: everything it held is free again."""
        del self.active[receive.number]
        self.numbers.append(receive.number)
        self.entries.append(receive.index)
        if receive.wanted_source == ANY_SOURCE:
            self.wildcards += 1
        hold = receive.hold
        if isinstance(hold, Hold):
            self.table.release(hold.entries)
            await self.memory.take_back(hold, received)
            self._account()
            receive.hold = None

    async def _retire_send(self, number: int, send: Send) -> None:
        del self.active[number]
        self.numbers.append(number)
        self.long_sends -= 1
        hold = send.hold
        if hold is not None:
            self.table.release(hold.entries)
            await self.memory.take_back(hold, 0)
            self._account()
            send.hold = None

    def _finish(self, operation: Operation) -> None:
        operation.done = True
        if isinstance(operation, Send) and operation.error is None:
            operation.length = operation.size

    def _account(self) -> None:
        for what, count in self.memory.work():
            self.charge(what, count)

    async def _wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        while True:
            await self._progress()
            if operations is None:
                if self.news != self.seen:
                    self.seen = self.news
                    return
            elif any(operation.done for operation in operations):
                return
            if not await self._relieve():
                await self._doze(why)

    async def _doze(self, why: Wait) -> None:
        """Sleep until the NIC writes something; if it is room that is wanted, ask to be told of it."""
        if self.sends or self.parcels.receives:
            await self.endpoint.alarm()
            await self._sort()
            await self._flush()
        await self.endpoint.sleep(why)

    async def _step(self, why: Wait) -> None:
        """Wait for one record and act on it, and on nothing else: used inside an action."""
        if (notice := self.endpoint.look()) is None:
            await self.endpoint.sleep(why)
            notice = self.endpoint.look()
        if notice is not None:
            await self._heed(notice)

    async def _until(self, attempt: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        """Repeat an attempt until it succeeds, sleeping between."""
        while not await attempt():
            await self.endpoint.alarm()
            if await attempt():
                return
            await self._step(Wait("waiting for room on the NIC"))

    async def _close(self) -> None:
        while self.sends:
            await self._progress()
            if self.sends and not await self._relieve():
                await self._doze(Wait("sending what is left before the end"))
        await self.memory.pins.close()
        self._account()
        await self.endpoint.pay()


def connect(portal: Any, host: HostConfig) -> Device:
    """The device of a rank that `lanai run` started: its simulator says in "nic" what `driver.boot` answered."""
    from ..rank_bus import RankBus

    return MpiNp(RankBus(portal, host), Attachment.from_dict(portal.config["nic"]), host)


def address_of(buffer: bytearray) -> int:
    """Where a bytearray's bytes are."""
    import ctypes

    return ctypes.addressof((ctypes.c_char * len(buffer)).from_buffer(buffer))
