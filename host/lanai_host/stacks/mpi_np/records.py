"""Records from the NIC, and waits for them."""

from collections.abc import Callable

from lanai_firmware.programs.mpi_np.layout import Kind, Op

from ...operation import Operation, Wait
from .endpoint import Notice
from .operations import NO_ERROR, HostQueues, Receive, Send, failure, finish
from .sending import Losing, Sending
from .share import NicShare


class Records:
    """Acts on records, one by one.

    Members:
        news: counts what may concern the program, which knows of the first `seen`.
        short_of_slots: sources whose message slots on the NIC are running out.
        watching: all messages are off the NIC, and it will announce the next.
    """

    def __init__(self, share: NicShare, losing: Losing, pressure: int) -> None:
        self.share = share
        self.losing = losing
        self.pressure = pressure  # unclaimed messages of one source at which they are taken off the NIC
        self.news = self.seen = 0
        self.short_of_slots: set[int] = set()
        self.watching = False
        self._answers: dict[int, Notice | None] = {}  # to probes and cancels, by number

    def step(self, why: Wait) -> None:
        """Wait for one record and act on it, and on nothing else: used inside an action."""
        endpoint = self.share.endpoint
        if (notice := endpoint.look()) is None:
            self.sleep(why)
            notice = endpoint.look()
        if notice is not None:
            self.handle(notice)

    def sleep(self, why: Wait) -> None:
        """Wait for a record; when it does not come for long, ask whether ranks were lost."""
        if not self.share.endpoint.sleep(why):
            self.hear()

    def hear(self) -> None:
        """The simulator may know of lost ranks."""
        if self.losing.hear(self.recall):
            self.news += 1

    def until(self, attempt: Callable[[], bool]) -> None:
        """Repeat an attempt until it succeeds, sleeping between."""
        while not attempt():
            self.share.endpoint.alarm()
            if attempt():
                return
            self.step(Wait("waiting for room on the NIC"))

    def ask(self, op: Op, fields: dict[str, int]) -> Notice:
        """Place a request that the NIC answers at once, and wait for the answer."""
        endpoint = self.share.endpoint
        self.until(endpoint.can_post)
        number = self.question()
        endpoint.post(op, number, fields)
        return self.answer(number, op)

    def question(self) -> int:
        """A number under which the NIC may answer. There must be one free."""
        number = self.share.numbers.popleft()
        self._answers[number] = None
        return number

    def answer(self, number: int, op: Op) -> Notice:
        """Wait for the answer; the number is free again."""
        while (notice := self._answers[number]) is None:
            self.step(Wait(f"asking the NIC: {op.name}"))
        del self._answers[number]
        self.share.numbers.append(number)
        return notice

    def recall(self, receive: Receive) -> bool:
        """Take a receive back that is on the NIC. False if it has met a message."""
        notice = self.ask(Op.CANCEL, {"token": receive.index})
        if notice.kind is not Kind.CANCELLED or receive.done:
            return False
        self.share.retire_receive(receive, 0)
        return True

    def handle(self, notice: Notice) -> None:
        """Act on one record."""
        if notice.kind is Kind.ROOM:
            return
        if notice.operation in self._answers and notice.kind is not Kind.ARRIVED:
            self._answers[notice.operation] = notice
            return
        self.news += 1
        if notice.kind is Kind.LOST:
            self.losing.lose(notice.source)
        elif notice.kind is Kind.ARRIVED:
            self.watching = False
            if notice.length >= self.pressure:
                self.short_of_slots.add(notice.source)
        elif notice.kind is Kind.RECEIVED_OWN:  # both ends of a message to oneself
            self._end(notice._replace(kind=Kind.RECEIVED))
            self._end(notice._replace(kind=Kind.SENT, operation=notice.token, error=notice.context))
        else:
            self._end(notice)

    def _end(self, notice: Notice) -> None:
        """The end of an operation."""
        operation = self.share.active.get(notice.operation)
        if operation is None or not self._is_about(notice, operation):
            return
        failed = operation.done  # while it was on the NIC, which only now gives back what it held
        if not failed:
            operation.error = failure(notice.error, operation, notice.total)
            if isinstance(operation, Receive) and notice.kind is Kind.RECEIVED:
                self.check(notice, operation)
                operation.source, operation.tag, operation.length = notice.source, notice.tag, notice.length
        if isinstance(operation, Receive):
            self.share.retire_receive(operation, 0 if failed else operation.length)
        elif isinstance(operation, Send):
            self.share.retire_send(notice.operation, operation)
        if not failed:
            finish(operation)

    @staticmethod
    def _is_about(notice: Notice, operation: Operation) -> bool:
        """Is the record about this operation? That a message has left is said of a send to the rank that took
        it: a rank that asks twice for one message may end no send that has got the number since."""
        if notice.kind is Kind.SENT:
            return isinstance(operation, Send) and operation.dest == notice.source
        return notice.kind is not Kind.RECEIVED or isinstance(operation, Receive)

    def check(self, notice: Notice, receive: Receive) -> None:
        """Believe of a received message only what can be: a source in the world, no more bytes than
        were asked for."""
        endpoint, size = self.share.endpoint, self.share.size
        total = receive.hold.body.size if receive.hold is not None else 0
        if notice.length > total:
            raise endpoint.lost_by_damaged_record(f"tells of {notice.length} bytes in a buffer of {total}")
        if notice.error == NO_ERROR and notice.source >= size:
            raise endpoint.lost_by_damaged_record(f"tells of source {notice.source} in a world of {size} ranks")


# Operations undone. A send can be taken back while it waits on the host, a receive as long as it has met no message.


class Cancelling:
    """`Device.cancel`."""

    def __init__(self, share: NicShare, records: Records, sending: Sending, host_queues: HostQueues) -> None:
        self.share = share
        self.records = records
        self.sending = sending
        self.host_queues = host_queues

    def cancel(self, operation: Operation) -> bool:
        if operation.done:
            return False
        if isinstance(operation, Send):
            undone = self.sending.withdraw(operation)
        else:
            assert isinstance(operation, Receive)
            undone = self.records.recall(operation) if operation.placed else self._withdraw(operation)
        if undone:
            operation.cancelled = True
            finish(operation)
        return undone

    def _withdraw(self, receive: Receive) -> bool:
        """A receive that waits here."""
        if not receive.posted:
            return False
        self.host_queues.withdraw(receive)
        if receive.hold is not None:
            self.share.memory.take_back(receive.hold, 0)
        return True
