"""The device as the MPI library sees it.

Ready sends are standard sends (T3-13). Collectives are those of the library, over messages (T3-23).
"""

from collections.abc import Iterable, Sequence

from lanai_hdl.barrier.csr import BITS

from ...body import Body
from ...bus.base import Bus, KnownPoll, Slept, Watched
from ...config import HostConfig, HostCost
from ...device import MAX_TAG, SendMode
from ...host_model.meter import Meter
from ...operation import DeviceError, ErrorKind, Operation, Wait
from ..no_recovery import NoRecovery
from ..pinning import Pins
from .attachments import AnyAttachment
from .by_firmware import Barriers, FirmwarePuts
from .heap import Heap, HeapLayout
from .operations import Message, Send, Validation
from .puts import MatchedFlags
from .receiving import Receiving
from .sending import Sending

CONTEXT_AT = MAX_TAG.bit_length()  # in the number of a barrier


class T3d(NoRecovery[Message]):
    """Messages by put. Nothing moves on while the program is outside the library: who receives
    asks, and who sends answers.
    """

    def __init__(self, bus: Bus, attachment: AnyAttachment, costs: HostConfig) -> None:
        self.rank = attachment.rank
        self.size = attachment.ranks
        options = attachment.chosen
        layout = HeapLayout(self.size, options)
        self._unfinished = options.unfinished
        meter = Meter(costs, bus.elapse)
        self._puts = puts = attachment.puts(bus, meter, layout.size, layout.staging)
        self._heap = heap = Heap(layout, puts.memory)
        self._pins = Pins(bus, costs)
        validation = Validation(meter, options, self.rank)
        self._sending = Sending(meter, heap, puts, self._pins, validation, self.rank, MatchedFlags(bus, puts))
        self._receiving = Receiving(meter, heap, puts, self._pins, validation, self.rank)
        super().__init__(bus, meter, self._receiving, costs.watchdog)
        self._barriers: Barriers | None = None
        if isinstance(puts, FirmwarePuts) and attachment.tree:
            self._barriers = Barriers(bus, puts, self.rank)
        puts.open()

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        send = Send(self.rank, dest, tag, context, body, mode is SendMode.SYNCHRONOUS)
        return self._start(send, self._send, self._to_self)

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

    def _sends(self) -> Iterable[Send]:
        return self._sending.pending()

    def _send(self, send: Send) -> None:
        self._sending.queue(send)
        self._sending.advance(() if self._unfinished == "late" else None)
        if self._sending.waits(send):
            self._bus.catch_up()  # the flag may have been cleared while the program computed
            self._await_slot(send)
        if self._unfinished == "spin" and not send.synchronous:
            self._wait([send], Wait("MPI_Send", send.dest, send.tag, note="the send spins until its bytes have left"))

    def _await_slot(self, send: Send) -> None:
        """Stay in the call until the slot at the receiver is free, and serve the slots here meanwhile (T3-06)."""
        why = Wait("MPI_Isend", send.dest, send.tag, note="the slot at its receiver is taken")
        self._awaited = ()
        self._look()
        while self._failure is None and self._sending.waits(send):
            self._rest(why)
            self._look()
        self._awaited = None

    def _to_self(self, send: Send, data: bytes) -> None:
        """A match on this host (T3-G4)."""
        own = send if send.synchronous else None
        self._receiving.arrive(Message(self.rank, send.tag, send.context, len(data), data, own_send=own))
        self._push()

    def _push(self) -> None:
        self._puts.push()

    @property
    def _settled(self) -> bool:
        """A poll does nothing unless a word that peers write has changed, or the puts fail."""
        return (
            self._failure is None
            and self._receiving.settled
            and self._sending.settled
            and self._heap.plain
            and (self._barriers is None or self._barriers.idle)
            and not (self._pins.work or self._meter.owed or self._meter.sink)
        )

    @property
    def _moving(self) -> Sequence[Operation] | None:
        """The long sends that move on now; None: all (T3-15)."""
        return self._awaited if self._unfinished == "late" else None

    def _watched(self) -> list[Watched]:
        return self._puts.watched(self._words)

    def _known_poll(self, watched: Sequence[Watched], first: bool) -> KnownPoll | None:
        price = self._meter.costs.price(HostCost.POLL, self.size)
        look = self._puts.known_poll(watched, self._words(), price)
        return look if look is None or look.first == first else look._replace(first=first)

    def _after(self, slept: Slept) -> None:
        if slept.noted:
            self._puts.note()

    def _look(self) -> None:
        """Once over all that peers may have written."""
        self._puts.look(self._words)
        failure = self._puts.failure
        if self._fails(failure and DeviceError(failure.kind, self._what_failed(failure.text))):
            return
        if self._barriers is not None and not self._barriers.idle:
            self._barriers.look()
            self._puts.push()
        self._receiving.scan()
        self._sending.advance(self._moving)
        self._pay()
        self._forget_done()

    def _pay(self) -> None:
        """For pinning, and for lines of the cache that were invalidated one by one."""
        if self._heap.invalidated:
            self._meter.spend(HostCost.POLL, self._heap.invalidated)
            self._heap.invalidated = 0
        self._pins.pay(self._meter)

    def _words(self) -> list[Watched]:
        """The words that peers write, as they are while nothing has come."""
        words = self._receiving.watched() + self._sending.watched(self._moving)
        if self._heap.layout.options.cache == "off":  # what has come may be hidden for ever
            return [one._replace(seen=bytes(one.now)) for one in words]
        return words

    def _what_failed(self, text: str) -> str:
        if self._barriers is not None and self._barriers.lost:
            return f"the NIC of rank {self.rank} has lost the barrier tree: a NIC or a switch does not answer"
        return f"the NIC of rank {self.rank} met {text}; t3d has no recovery"

    def _lose(self, rank: int, text: str) -> None:
        self._check_nic()  # the other may be lost because it met no answer from here
        if self._failure is None:
            super()._lose(rank, text)

    def _let_go(self) -> None:
        self._puts.close(orderly=False, lost=self._nic_watch())

    def _lose_nic(self, text: str) -> None:
        self._puts.abandon()
        super()._lose_nic(text)

    def _drop(self, kind: ErrorKind, text: str) -> None:
        self._sending.fail_all(kind, text)
        self._receiving.clear()
        if self._barriers is not None:
            self._barriers.fail_all(kind, text)

    @property
    def _found(self) -> int:
        return self._puts.news

    def close(self) -> None:
        why = Wait("MPI_Finalize", note="the last messages leave")
        while self._failure is None and not (self._sending.idle and self._puts.completed(self._puts.asked)):
            self._look()
            if not (self._sending.idle and self._puts.completed(self._puts.asked)):
                self._sleep(why)
        if self._failure is None:
            self._puts.close(lost=self._nic_watch())
        self._pins.close()
