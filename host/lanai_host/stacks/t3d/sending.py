"""Sends: one message a peer is outstanding (T3-05); long ones wait for their receivers' replies
(T3-10, T3-15)."""

from collections import deque
from collections.abc import Collection

from ...body import Body, Run
from ...bus.base import BusError, Watched
from ...config import HostCost
from ...host_model.meter import Meter, fail
from ...operation import ErrorKind, Operation
from ...scratch_pool import POOL
from ..pinning import Pins
from .heap import LINE, LONG, NONE, REPLY, SHORT, WORD, Heap, pack_header
from .operations import LongSend, OperandRangeError, Send, Validation
from .puts import MatchedFlags, Put, Puts, Remote

BUSY = 1  # a flag: the slot at that peer holds a message
SPARSE = 16  # a message whose runs are spread over more times its bytes is packed, so that few pages are pinned


class Sending:
    """Sends of this rank that are not done."""

    def __init__(
        self, meter: Meter, heap: Heap, puts: Puts, pins: Pins, validation: Validation, rank: int, flags: MatchedFlags
    ) -> None:
        self._meter = meter
        self._heap = heap
        self._puts = puts
        self._pins = pins
        self._validation = validation
        self._rank = rank
        self._layout = heap.layout
        self._queues: dict[int, deque[Send]] = {}  # by destination
        self._long: list[LongSend] = []
        self._matched: dict[int, Send] = {}  # synchronous sends whose receivers have not answered, by flag
        self._free_replies = list(range(self._layout.options.long_sends))
        self._flags = flags

    @property
    def idle(self) -> bool:
        """No message of this rank is under way."""
        return not (any(self._queues.values()) or self._long or self._matched)

    @property
    def settled(self) -> bool:
        """Nothing moves on unless one of `watched` has changed."""
        return not any(long.last for long in self._long)

    def waits(self, send: Send) -> bool:
        """Return whether a message waits for its slot, and none before it for a reply structure."""
        queue = self._queues.get(send.dest, ())
        return send in queue and not any(map(self._lacks_reply, queue))

    def queue(self, send: Send) -> None:
        self._queues.setdefault(send.dest, deque()).append(send)

    def advance(self, moving: Collection[Operation] | None = None) -> None:
        """See what has ended, then send what can leave: it may have waited for what ended.

        Of the long sends whose receivers have answered, all move on; only those in `moving` if it is given (T3-15).
        """
        for long in list(self._long):
            if moving is None or long.send in moving:
                self._advance_long(long)
        for flag, send in list(self._matched.items()):
            if self._flags.is_set(flag):
                del self._matched[flag]
                self._flags.give(flag)
                send.matched = None
                self._end(send)
        for dest in [dest for dest, queue in self._queues.items() if queue]:
            self._start(self._queues[dest], dest)
        self._puts.push()

    def pending(self) -> list[Send]:
        """Sends that are not done."""
        found = [send for queue in self._queues.values() for send in queue]
        found += [long.send for long in self._long] + list(self._matched.values())
        return list({id(send): send for send in found}.values())  # a long one may be synchronous too

    def watched(self, moving: Collection[Operation] | None = None) -> list[Watched]:
        """Return the words that peers write when a send can move on, as they are until then. `moving` as `advance`
        has it."""
        memory, layout = self._heap.memory, self._layout
        words = [
            Watched(memory, layout.flag(dest), WORD.pack(BUSY))
            for dest, queue in self._queues.items()
            if queue and not self._lacks_reply(queue[0])
        ]
        status = layout.reply_size - WORD.size
        words += [
            Watched(memory, layout.reply(long.reply) + status, WORD.pack(long.chunks))
            for long in self._long
            if not long.last and (moving is None or long.send in moving)
        ]
        return words + [self._flags.watched(flag) for flag in self._matched]

    def fail_all(self, kind: ErrorKind, text: str) -> None:
        for send in self.pending():
            fail(send, kind, text)
        self._queues.clear()
        self._long.clear()
        self._matched.clear()

    def _start(self, queue: deque[Send], dest: int) -> None:
        """The oldest message for a peer leaves if the slot there is free (T3-04, T3-06). Nothing overtakes it
        (T3-16)."""
        flag = self._layout.flag(dest)
        while queue and not self._heap.word(flag):
            send = queue[0]
            if self._lacks_reply(send):
                return
            queue.popleft()
            self._heap.set_word(flag, BUSY)
            if send.synchronous:
                send.matched = self._flags.take()
                self._matched[send.matched] = send
            if self._is_long(send):
                self._announce(send)
            else:
                self._send_short(send)

    def _is_long(self, send: Send) -> bool:
        return send.body.size > self._layout.options.short

    def _lacks_reply(self, send: Send) -> bool:
        """Return whether a send waits for a reply structure."""
        return self._is_long(send) and not self._free_replies

    def _send_short(self, send: Send) -> None:
        try:
            data = send.body.read()
        except BusError as error:
            self._give_up(send, error)
            return
        if not self._aligned(send.body):
            self._copy_to_own_slot(data)
        self._put_message(send, SHORT, data, NONE)
        self._end(send)

    def _aligned(self, body: Body) -> bool:
        """Return whether puts can move a message from where it is (T3-21)."""
        grain = self._layout.options.alignment
        return body.runs <= 1 and body.address % grain == body.size % grain == 0

    def _copy_to_own_slot(self, data: bytes) -> None:
        """The only use of the slot of messages to oneself (T3-21, T3-G4)."""
        place = self._layout.slot(self._rank)
        self._heap.view[place : place + len(data)] = data
        self._meter.spend(HostCost.COPY, len(data))

    def _give_up(self, send: Send, error: BusError) -> None:
        """The message's memory cannot be read, so nothing of it leaves."""
        self._heap.set_word(self._layout.flag(send.dest), 0)
        if send.matched is not None:
            del self._matched[send.matched]
            self._flags.give(send.matched)
            send.matched = None
        fail(send, ErrorKind.BUS_ERROR, str(error))

    def _put_message(self, send: Send, mode: int, data: bytes, reply: int) -> None:
        """Message and header as one put. The status is its last word (T3-08, T3-09)."""
        matched = NONE if send.matched is None else send.matched
        header = pack_header(self._layout, (mode, send.context, send.tag, send.body.size, reply, matched, 0, BUSY))
        there = Remote(send.dest, self._layout.header(self._rank))
        data = data + bytes(-len(data) % WORD.size)
        if self._layout.status == 0:
            self._put_status_first(there, data, header)
        else:
            self._puts.put_last(there, data, header, self._layout)

    def _put_status_first(self, there: Remote, data: bytes, header: bytes) -> None:
        """Put a message as the first version does: the line with the status leaves before the rest of the header."""
        if data:
            self._puts.put(Put(there._replace(address=there.address - len(data)), data))
        first = LINE - there.address % LINE
        self._puts.put(Put(there, header[:first]))
        if header[first:]:
            self._puts.put(Put(there._replace(address=there.address + first), header[first:]))

    def _announce(self, send: Send) -> None:
        """The header of a long message leaves, and names the reply structure. The message's memory
        is pinned before."""
        long = LongSend(send, self._free_replies[-1])
        try:
            self._lend(long)
        except BusError as error:
            self._give_up(send, error)
            return
        self._free_replies.pop()
        reply = self._layout.reply(long.reply)
        self._heap.set_word(reply + self._layout.reply_size - WORD.size, 0)
        self._long.append(long)
        self._put_message(send, LONG, b"", reply)

    def _lend(self, long: LongSend) -> None:
        """Pin the message's memory.

        One in several runs, or that is not aligned, is copied first (T3-21, T3-22), unless each run can be put by
        itself. Raises BusError.
        """
        long.body = body = long.send.body
        if body.runs > 1 and self._lend_runs(long):
            return
        if body.runs > 1 or body.address % self._layout.options.alignment:
            long.packed, address = POOL.take(body.size)
            long.body = Run(address, body.size)
            body.pack(0, body.size, address)
            self._meter.spend(HostCost.COPY, body.size)
        long.pinned = self._pins.pin(long.body.address, body.size, writable=False)

    def _lend_runs(self, long: LongSend) -> bool:
        """Pin all from the first byte of a message to its last, gaps too. False if its runs are too short or too far
        apart, or if a put cannot move one of them."""
        options, body = self._layout.options, long.send.body
        if not options.strided or body.size < options.strided * body.runs:
            return False
        runs = list(body.segments())
        begin, end = min(address for address, _ in runs), max(address + size for address, size in runs)
        if end - begin > SPARSE * body.size or any((address | size) % options.alignment for address, size in runs):
            return False
        try:
            long.pinned = self._pins.pin(begin, end - begin, writable=False)
        except BusError:  # in a gap
            return False
        return True

    def _advance_long(self, long: LongSend) -> None:
        assert long.pinned is not None
        if long.last:
            if self._puts.completed(long.last):
                self._long.remove(long)
                self._pins.release(long.pinned)
                self._end(long.send)
            return
        end = self._layout.reply(long.reply) + self._layout.reply_size - REPLY.size
        count, size, arrival, private, status = REPLY.unpack(self._heap.read(end, REPLY.size))
        if status != long.chunks + 1:
            return
        dest = long.send.dest
        try:
            self._validation.check(dest, private, size)  # T3-19
        except OperandRangeError as error:
            self._end_unfinished(long, str(error))
            return
        names = [self._heap.word(end - WORD.size * n) for n in range(count, 0, -1)]
        self._puts.put_runs(dest, names, long.pinned, list(long.body.segments(long.sent, long.sent + size)))
        long.sent += size
        long.chunks += 1
        if self._layout.options.fenced:
            self._puts.fence(dest, self._heap.memory.bus_address + self._layout.nothing)
        long.last = self._puts.put(Put(Remote(dest, arrival), WORD.pack(long.chunks), flag=True))
        if long.sent < long.send.body.size:
            long.last = 0
        else:
            self._free_replies.append(long.reply)

    def _end_unfinished(self, long: LongSend, text: str) -> None:
        """A long send that cannot put. Its receiver is left waiting, as on the T3D, where the sender's process ends."""
        assert long.pinned is not None
        self._long.remove(long)
        self._free_replies.append(long.reply)
        self._pins.release(long.pinned)
        fail(long.send, ErrorKind.BUS_ERROR, text)

    def _end(self, send: Send) -> None:
        """The send is done, unless its receiver must still answer, or its bytes must still
        leave."""
        if send.matched is None and not any(long.send is send for long in self._long):
            send.done = True
