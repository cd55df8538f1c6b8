"""The device as the MPI library sees it.

Ready sends are standard sends (T3-13). Collectives are those of the library, over messages (T3-23).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.put.layout import KIND_AT, KIND_MASK, LENGTH, RING, Border, Counter, Request
from lanai_hdl.barrier.csr import BITS
from lanai_hdl.machine import SRAM_HOST

from ...body import Body
from ...bus.base import Bus, Watched
from ...config import HostConfig, HostCost
from ...device import MAX_TAG, Arrived, Pending, SendMode
from ...host_model.meter import Meter
from ...host_model.operations import Receive, read_all
from ...operation import DeviceError, ErrorKind, Operation
from ...wait import Wait
from ..base import PlacedRequest
from ..host_matching import HostMatchingDevice, is_over
from ..pinning import Pins
from .barriers import Barriers
from .heap import WORD, Heap, HeapLayout
from .matched_flags import MatchedFlags
from .operations import Message, Send
from .options import T3dOptions
from .puts import FIELDS, Puts
from .receiving import Receiving
from .sending import Sending
from .validation import Validation

CONTEXT_AT = MAX_TAG.bit_length()  # in the number of a barrier


@dataclass(frozen=True)
class Attachment:
    """The facts of its NIC that a rank needs: how many ranks there are, where in SRAM it writes requests, and the
    options.
    """

    rank: int
    ranks: int
    border: int
    options: T3dOptions
    tree: bool = False  # the NICs have the barrier tree, and the firmware for it

    @property
    def reach(self) -> Sequence[range]:
        return (range(SRAM_HOST + self.border, SRAM_HOST + self.border + int(sizeof(Border))),)

    @property
    def doorbell_bits(self) -> int:
        return 1

    def request_in(self, offset: int, data: bytes) -> PlacedRequest | None:
        """The request that this write to PIO `offset` completes, if it does: it ends where a place of
        the ring does."""
        end = offset + len(data) - SRAM_HOST - self.border - int(offset_of(Border, "requests"))
        place, rest = divmod(end, int(sizeof(Request)))
        if rest or not 0 < place <= int(RING) or len(data) < FIELDS.size:
            return None
        node, _, length, _, number = FIELDS.unpack(data[-FIELDS.size :])
        kind = length >> int(KIND_AT) & int(KIND_MASK)
        return PlacedRequest(0, place - 1, kind, number & 0xFFFF, node, tag=-1, context=-1, length=length & int(LENGTH))


class T3d(HostMatchingDevice[Receive, Message]):
    """Messages by put. Nothing moves on while the program is outside the library: who receives
    asks, and who sends answers.
    """

    def __init__(self, bus: Bus, attachment: Attachment, costs: HostConfig) -> None:
        self.rank = attachment.rank
        self.size = attachment.ranks
        layout = HeapLayout(self.size, attachment.options)
        self._unfinished = attachment.options.unfinished
        self._heap = heap = Heap(layout, bus.allocate(layout.size))
        meter = Meter(costs, bus.elapse)
        self._puts = puts = Puts(bus, heap, layout.staging, attachment.border, meter)
        self._pins = Pins(bus, costs)
        validation = Validation(meter, attachment.options, self.rank)
        self._sending = Sending(meter, heap, puts, self._pins, validation, self.rank, MatchedFlags(bus))
        self._receiving = Receiving(meter, heap, puts, self._pins, validation, self.rank)
        super().__init__(bus, meter, self._receiving.matcher, costs.watchdog)
        self._barriers = Barriers(bus, puts, self.rank) if attachment.tree else None
        self._receives: set[Receive] = set()  # not done
        self._seen = 0  # the counters' sum at the last look
        puts.open()

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        return self._send(Send(self.rank, dest, tag, context, body, mode is SendMode.SYNCHRONOUS))

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        receive = Receive(source, tag, context, body)
        return self._receive(receive, lambda: self._receiving.receive(receive))

    def barrier(self, members: Sequence[int], number: int) -> Operation | None:
        """One of all ranks, by the barrier tree. A context has a bit of its own, because those of two
        contexts need not begin in the same order everywhere; contexts beyond the bits have none."""
        context = number >> CONTEXT_AT
        if self._barriers is None or len(members) != self.size or context >= BITS:
            return None
        return self._barrier(self._barriers, context)

    def _barrier(self, barriers: Barriers, bit: int) -> Operation:
        operation = barriers.begin(bit)
        if self._failure is not None:
            barriers.fail_all(self._failure.kind, self._failure.text)
        else:
            self._puts.push()
        return operation

    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        message = arrived.handle
        assert isinstance(message, Message)
        receive = Receive(arrived.source, arrived.tag, arrived.context, body)
        return self._receive(receive, lambda: self._receiving.take(message, receive))

    def _pending_sends(self) -> list[Pending]:
        return [Pending(True, one.dest, one.tag, one.context, one.length) for one in self._sending.pending()]

    def _send(self, send: Send) -> Send:
        if self._failure is not None:
            send.error, send.done = self._failure, True
        elif send.dest == self.rank:
            self._send_to_self(send)
        else:
            self._sending.queue(send)
            self._sending.advance(() if self._unfinished == "late" else None)
            if self._unfinished == "spin" and not send.synchronous:
                self._wait(
                    [send], Wait("MPI_Send", send.dest, send.tag, note="the send spins until its bytes have left")
                )
        return send

    def _send_to_self(self, send: Send) -> None:
        """A match on this host (T3-G4)."""
        data = read_all(send)
        if data is None:
            return
        message = Message(self.rank, send.tag, send.context, len(data), data)
        message.own_send = send if send.synchronous else None
        self._receiving.arrive(message)
        self._puts.push()

    def _receive(self, receive: Receive, begin: Callable[[], None]) -> Receive:
        if self._failure is not None:
            receive.error, receive.done = self._failure, True
            return receive
        begin()
        self._puts.push()
        if not receive.done:
            self._receives.add(receive)
        return receive

    def _wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        self._bus.catch_up()
        while True:
            before = self._seen
            self._look(operations if self._unfinished == "late" else None)
            if self._failure is not None or is_over(operations, self._seen != before):
                return
            self._sleep_on([self._counted(self._seen)], why)

    def _look(self, moving: Sequence[Operation] | None = None) -> None:
        """Once over all that peers may have written. Long sends move on; with `moving`, only those (T3-15)."""
        self._seen = self._heap.counter(Counter.SUM)
        faults = self._heap.counter(Counter.FAULTS)
        if faults and self._failure is None and self._barriers is not None and self._barriers.lost:
            self._fail(
                ErrorKind.NIC_LOST,
                f"the NIC of rank {self.rank} has lost the barrier tree: a NIC or a switch does not answer",
            )
        elif faults and self._failure is None:
            self._fail(
                ErrorKind.NIC_LOST,
                f"the NIC of rank {self.rank} met {faults} packets or accesses that failed; t3d has no recovery",
            )
        if self._failure is not None:
            return
        if self._barriers is not None and not self._barriers.idle:
            self._barriers.look()
            self._puts.push()
        self._receiving.scan()
        self._sending.advance(moving)
        self._pay()
        self._receives = {receive for receive in self._receives if not receive.done}

    def _pay(self) -> None:
        """For pinning, and for lines of the cache that were invalidated one by one."""
        if self._heap.invalidated:
            self._meter.spend(HostCost.POLL, self._heap.invalidated)
            self._heap.invalidated = 0
        for what, count in self._pins.work:
            self._meter.spend(what, count)
        self._pins.work.clear()

    def _counted(self, seen: int) -> Watched:
        return Watched(self._heap.memory, WORD.size * Counter.SUM, WORD.pack(seen))

    def _lose(self, rank: int, text: str) -> None:
        self._fail(ErrorKind.PEER_FAILED, text)

    def _fail(self, kind: ErrorKind, text: str) -> None:
        """Nothing can be trusted any more: what is under way ends with an error, and so does what
        begins.

        The NIC lets go of this process's memory first, because peers may still put to buffers that
        the program gets back now.
        """
        self._puts.close()
        self._failure = DeviceError(kind, text)
        self.impaired = True
        self._sending.fail_all(kind, text)
        self._receiving.fail_all(list(self._receives), kind, text)
        self._receives.clear()
        if self._barriers is not None:
            self._barriers.fail_all(kind, text)

    def _finish(self) -> None:
        why = Wait("MPI_Finalize", note="the last messages leave")
        while self._failure is None and not (self._sending.idle and self._puts.completed(self._puts.asked)):
            seen = self._heap.counter(Counter.SUM)
            self._look()
            if not (self._sending.idle and self._puts.completed(self._puts.asked)):
                self._sleep_on([self._counted(seen)], why)
        if self._failure is None:
            self._puts.close()
        self._pins.close()
