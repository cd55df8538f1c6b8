"""Receives: slots are scanned in turn (T3-07), short messages copied out (T3-09), long ones
asked for at once (T3-10, T3-11). Matching is that of all devices whose host matches (T3-03, T3-14,
T3-16)."""

from ...body import Body
from ...bus.base import PAGE_SIZE, BusError, Watched
from ...config import HostCost
from ...host_model.matcher import Matcher
from ...host_model.meter import Meter, Receive, fail
from ...operation import ErrorKind
from ...scratch_pool import POOL
from ..pinning import Pins
from .heap import HEADER, LONG, NONE, REPLY, WORD, Heap, unpack_header
from .operations import BASE, Landing, Message, Validation
from .puts import Put, Puts, Remote

CLEAR = EMPTY = WORD.pack(0)
SET = WORD.pack(1)


class Receiving:
    """Messages to this rank."""

    def __init__(self, meter: Meter, heap: Heap, puts: Puts, pins: Pins, validation: Validation, rank: int) -> None:
        self._meter = meter
        self._heap = heap
        self._puts = puts
        self._pins = pins
        self._validation = validation
        self._rank = rank
        self._layout = heap.layout
        self.matcher: Matcher[Receive, Message] = Matcher(meter)
        self._statuses = [self._layout.header(peer) + self._layout.status for peer in range(self._layout.ranks)]
        self._empty = [Watched(heap.memory, status, EMPTY) for status in self._statuses]
        self._served = 0  # the peer whose slot was served last
        self._landings: list[Landing] = []
        self._free_arrivals = list(range(self._layout.arrivals))

    def scan(self) -> None:
        """See which long messages are there; then serve the slots that hold a message, the one
        after the last served first."""
        for landing in list(self._landings):
            if landing.window is None:
                self._ask(landing)
            elif self._heap.word(self._layout.arrival(landing.arrival)) == landing.chunks:
                self._puts.close_window(landing.window)
                self._ask_on(landing)
        ranks = self._layout.ranks
        # T3-G5: each slot costs a look, also of ranks that never send.
        self._meter.spend(HostCost.POLL, ranks)
        first = self._served + 1
        statuses, plain, view = self._statuses, self._heap.plain, self._heap.view
        for number in range(first, first + ranks):
            peer = number % ranks
            status = statuses[peer]
            if view[status : status + WORD.size] != EMPTY if plain else self._heap.word(status):
                self._served = peer
                self._serve(peer)

    def watched(self) -> list[Watched]:
        """Return the words that peers write when a message or the bytes of one come, as they are until then."""
        if not self._landings:
            return self._empty
        memory, layout = self._heap.memory, self._layout
        return self._empty + [
            Watched(memory, layout.arrival(landing.arrival), WORD.pack(landing.chunks - 1))
            for landing in self._landings
            if landing.window is not None
        ]

    @property
    def settled(self) -> bool:
        """A scan does nothing unless one of `watched` has changed."""
        return all(landing.window is not None for landing in self._landings)

    def receive(self, receive: Receive) -> None:
        """Take a message that waits, or wait for one."""
        message = self.matcher.begin(receive)
        if message is not None:
            self.take(message, receive)

    def take(self, message: Message, receive: Receive) -> None:
        """A receive takes a message that came unexpected. It has it when all bytes are there."""
        self._tell_matched(message)
        message.receive = receive
        if message.whole:
            self._deliver(receive, message, message.data)

    def arrive(self, message: Message) -> None:
        """A message whose bytes are all there meets its receive, or is kept."""
        receive = self.matcher.arrive(message)
        if receive is not None:
            self.take(message, receive)

    def clear(self) -> None:
        """Nothing lands any more."""
        self._landings.clear()

    def _serve(self, peer: int) -> None:
        end = self._layout.header(peer)
        header = unpack_header(self._layout, self._heap.read(end, HEADER.size))
        mode, context, tag, length, reply, matched, _, _ = header
        message = Message(peer, tag, context, length, matched=matched)
        if mode == LONG:
            self._land(message, reply)
        else:
            start = end - (length + -length % WORD.size)
            message.data = self._heap.read(start, length)
            self._meter.spend(HostCost.COPY, length)
            self.arrive(message)
        self._heap.set_word(end + self._layout.status, 0)
        self._puts.put(Put(Remote(peer, self._layout.flag(self._rank)), CLEAR))

    def _land(self, message: Message, reply: int) -> None:
        """Ask for a long message: into the receive's memory, or into memory allocated for it
        (T3-11), without a limit (T3-G3)."""
        receive = self.matcher.arrive(message)
        message.whole = False
        pinned, buffer = None, None
        if receive is not None:
            self._tell_matched(message)
            message.receive = receive
            if self._fits(receive.body, message.length):
                address = receive.body.address
                try:
                    pinned = self._pins.pin(address, message.length, writable=True)
                except BusError as error:
                    fail(receive, ErrorKind.BUS_ERROR, str(error))  # its bytes still come, to memory of ours
        if pinned is None:
            own, address = POOL.take(message.length)
            buffer = own.data
            pinned = self._pins.pin(address, message.length, writable=True)
        number = self._free_arrivals.pop()
        self._heap.set_word(self._layout.arrival(number), 0)
        private = self._validation.space.lend(message.length)
        landing = Landing(message, reply, number, address, pinned, private, buffer=buffer)
        self._landings.append(landing)
        self._ask(landing)

    def _fits(self, body: Body, length: int) -> bool:
        """Return whether a message can be put where its receive wants it (T3-21)."""
        grain = self._layout.options.alignment
        return body.runs == 1 and body.size >= length and body.address % grain == length % grain == 0

    def _ask(self, landing: Landing) -> None:
        """Tell the sender where the next bytes shall go (T3-10), once the NIC has room for a window."""
        address = landing.address + landing.asked
        most = self._puts.most_pages * PAGE_SIZE - address % PAGE_SIZE
        size = min(landing.message.length - landing.asked, most)
        landing.window = self._puts.window(landing.pinned, address, size)
        if landing.window is None:
            return
        names = landing.window.names
        private = landing.private + landing.asked
        landing.asked += size
        landing.chunks += 1
        arrival = self._layout.arrival(landing.arrival)
        data = b"".join(map(WORD.pack, names))
        fixed = REPLY.pack(len(names), size, arrival, private, landing.chunks)
        end = Remote(landing.message.source, landing.reply + self._layout.reply_size - len(fixed))
        self._validation.check(end.rank, BASE, len(fixed))  # T3-19
        self._puts.put_last(end, data, fixed, self._layout)

    def _ask_on(self, landing: Landing) -> None:
        """Continue a transfer whose requested bytes are there: ask for more, or complete the message."""
        message = landing.message
        if landing.asked < message.length:
            self._ask(landing)
            return
        self._landings.remove(landing)
        self._validation.space.give_back(landing.private)
        self._free_arrivals.append(landing.arrival)
        self._pins.release(landing.pinned)
        message.whole = True
        if landing.buffer is not None:
            message.data = landing.buffer
        receive = message.receive
        if receive is not None and not receive.done:  # else its memory could not be written
            self._deliver(receive, message, landing.buffer)

    def _deliver(self, receive: Receive, message: Message, data: bytes | bytearray | memoryview | None) -> None:
        """End a receive. `data` None: its memory has the bytes already."""
        if data is not None:
            receive.put(self._meter, 0, memoryview(data)[: message.length])
        receive.finish(message.source, message.tag, message.length)

    def _tell_matched(self, message: Message) -> None:
        """Tell a synchronous sender that its message has met a receive (T3-12)."""
        if message.matched != NONE:
            self._validation.check(message.source, BASE, WORD.size)
            self._puts.put(Put(Remote(message.source, message.matched, named=True), SET))
            message.matched = NONE
        if message.own_send is not None:
            message.own_send.done = True
