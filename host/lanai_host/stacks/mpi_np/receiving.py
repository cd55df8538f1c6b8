"""Receives: met by what the host has already, else put on the NIC, else kept until it has room."""

from collections import deque
from dataclasses import dataclass

from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, PACKET_BODY, Kind, Op

from ...body import NOTHING, Run
from ...bus.base import BusError
from ...config import HostCost
from ...device import Arrived
from ...operation import ANY_SOURCE, ANY_TAG, DeviceError, ErrorKind, Wait
from ...scratch_pool import POOL, Bytes
from .endpoint import Notice
from .operations import HeldMessage, HostQueues, Receive, fail, finish
from .records import Records
from .sending import Losing
from .share import NicShare, inline

# One receive request: for a message to come, for one that was taken off the NIC's lists, for a promise of one.


FOR_LATER = (Op.RECEIVE, Op.RECEIVE_ASK)  # may wait for ever; what fetches a message that is here always ends
RESERVED = 4  # receive entries kept for messages taken off the NIC: those always finish


class Posting:
    """Puts receives on the NIC."""

    def __init__(self, share: NicShare, records: Records) -> None:
        self.share = share
        self.records = records
        self.op = Op.RECEIVE_ASK if share.config.ask_first else Op.RECEIVE  # for a message to come

    def place(self, receive: Receive) -> bool:
        """Post a receive for a message to come. False if there is no room."""
        share = self.share
        anyone = receive.wanted_source == ANY_SOURCE
        if share.config.host_matching or len(share.entries) <= RESERVED or (anyone and share.wildcards == 0):
            return False
        peer = int(ANY) if anyone else receive.wanted_source
        tag = int(NO_TAG) if receive.wanted_tag == ANY_TAG else receive.wanted_tag
        if not self._post(self.op, receive, {"peer": peer, "tag": tag}):
            return False
        if anyone and not receive.done:
            share.wildcards -= 1
        return True

    def fetch(self, notice: Notice, receive: Receive) -> None:
        """Let the NIC bring the body that a matched probe left there."""
        fields = {"peer": notice.source, "spare": notice.token}
        self.records.until(lambda: self._post(Op.RECEIVE_TAKEN, receive, fields))

    def drain(self, peer: int, question: int, receive: Receive) -> None:
        """Ask for the oldest message of a rank, or of anyone: the NIC answers, and if it has the
        body, brings it at once."""
        fields = {"peer": peer, "spare": question}
        self.records.until(lambda: self._post(Op.DRAIN, receive, fields))

    def open(self, held_message: HeldMessage, receive: Receive) -> None:
        """Receive a message that is off the NIC."""
        receive.source, receive.tag = held_message.source, held_message.tag
        receive.wanted_source = held_message.source
        if held_message.data is not None:
            try:
                receive.length = receive.body.write(held_message.data)
            except BusError as error:
                fail(receive, ErrorKind.BUS_ERROR, str(error))
                return
            self.share.meter.charge(HostCost.COPY, receive.length)
            if receive.length < held_message.length:
                receive.error = DeviceError(ErrorKind.TRUNCATED, f"(it has {held_message.length} bytes)")
            finish(receive)
            return
        fields = {
            "peer": held_message.source,
            "tag": held_message.tag,
            "length": held_message.length,
            "spare": held_message.handle,
        }
        self.records.until(lambda: self._post(Op.RECEIVE_PULL, receive, fields))

    def _post(self, op: Op, receive: Receive, fields: dict[str, int]) -> bool:
        share = self.share
        if not share.entries or not share.numbers:
            return False
        share.endpoint.await_slot()  # sends leave some slots to others
        if receive.hold is None:
            body = receive.body.part(0, share.memory.most)  # no message is longer
            if op in FOR_LATER and not share.memory.fits(body, False):
                return False
            try:
                receive.hold = share.memory.lend(body, False)
            except BusError as error:
                fail(receive, ErrorKind.BUS_ERROR, str(error))
                return True
            share.account()
        hold = receive.hold
        rest = hold.pieces[2:]
        if rest and share.table.needed(len(rest)) >= len(share.table.free):
            return False
        share.place(receive)
        if rest:
            hold.entries = share.table.write(rest, hold.body.size, receive.number)
            fields["table"] = hold.entries[0]
        fields |= {"token": receive.index, "limit": hold.body.size, "context": receive.context, **inline(hold)}
        share.endpoint.post(op, receive.number, fields)
        return True


# Messages taken off the NIC, where slots are scarce: for receives that wait on the host, for matched probes (NP-50).


BURST = RESERVED  # questions on the NIC at once: each needs a receive entry
MOST_EAGER = int(PACKET_BODY)  # no body that the NIC keeps is longer


@dataclass
class Question:
    """A request for whatever message is the oldest, and where its body is to go."""

    number: int
    receive: Receive
    buffer: Bytes


class Taking:
    """Brings messages from the NIC's lists to the host's."""

    def __init__(self, share: NicShare, records: Records, host_queues: HostQueues, posting: Posting) -> None:
        self.share = share
        self.records = records
        self.host_queues = host_queues
        self.posting = posting

    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        """`Device.probe`. While receives wait on the host the NIC is not asked: a message that came
        after the drain may be for one of them, and the next drain will tell."""
        self.records.seen = self.records.news
        if self.host_queues.waiting:
            self.drain(int(ANY))
        held_message = self.host_queues.find(source, tag, context)
        if held_message is not None:
            if take:
                self.host_queues.remove(held_message)
            return Arrived(held_message.source, held_message.tag, held_message.length, context, held_message)
        if self.host_queues.waiting:
            return None
        peer = int(ANY) if source == ANY_SOURCE else source
        fields = {"peer": peer, "tag": int(NO_TAG) if tag == ANY_TAG else tag, "context": context}
        notice = self.records.ask(Op.PROBE_TAKE if take else Op.PROBE, fields)
        if notice.kind is Kind.MISSING:
            return None
        handle = self._held_message(notice) if take else None
        return Arrived(notice.source, notice.tag, notice.length, context, handle)

    def take_off_nic(self) -> bool:
        """Take messages off the NIC where its slots run out, while the program waits. False if
        there was nothing to take."""
        short_of_slots = self.records.short_of_slots
        if not short_of_slots:
            return False
        while short_of_slots:
            self.drain(short_of_slots.pop())
        return True

    def drain(self, peer: int) -> None:
        """Take all messages of one source, or of all, off the NIC, and give them to waiting
        receives.

        Several questions are on the NIC at once, as many more as the first ones find messages.
        """
        self.records.watching = peer == int(ANY) or self.records.watching  # an arrival from now on turns it off again
        asked: deque[Question] = deque()
        most = 1
        while most or asked:
            while len(asked) < most:
                asked.append(self._question(peer))
            question = asked.popleft()
            notice = self.records.answer(question.number, Op.DRAIN)
            most = 0 if notice.kind is Kind.MISSING else min(2 * most, BURST)
            self._handle(question, notice)

    def _question(self, peer: int) -> "Question":
        buffer, address = POOL.take(MOST_EAGER)
        receive = Receive(self.share.rank, ANY_TAG, 0, Run(address, MOST_EAGER))
        receive.hold = self.share.memory.lend(receive.body, False, bounce=True)
        question = Question(self.records.question(), receive, buffer)
        self.posting.drain(peer, question.number, receive)
        return question

    def _handle(self, question: "Question", notice: Notice) -> None:
        """The answer: no message, one whose body is still at its sender, or one whose body is on
        its way here."""
        receive = question.receive
        held_message = HeldMessage(notice.source, notice.tag, notice.context, notice.length, None, notice.token)
        if notice.kind is not Kind.FOUND:
            self.share.retire_receive(receive, 0)
            if notice.kind is Kind.MISSING:
                return
        else:
            self._arrival(receive, notice)
            held_message.data = question.buffer[: notice.length].tobytes()
        waiting = self.host_queues.arrive(held_message)
        if waiting is not None:
            self.posting.open(held_message, waiting)

    def _held_message(self, notice: Notice) -> HeldMessage:
        """The message that a matched probe took. A body in the NIC's heap is brought to the host:
        heap and slot are scarce."""
        held_message = HeldMessage(notice.source, notice.tag, notice.context, notice.length, None, notice.token)
        if notice.kind is Kind.FOUND_PULL:
            return held_message
        buffer, address = POOL.take(notice.length)
        body = Run(address, notice.length) if notice.length else NOTHING
        self._bring(notice, Receive(notice.source, notice.tag, notice.context, body))
        held_message.data = buffer.tobytes()
        return held_message

    def _bring(self, notice: Notice, receive: Receive) -> None:
        receive.hold = self.share.memory.lend(receive.body, False, bounce=True)
        self.posting.fetch(notice, receive)
        self._arrival(receive, notice)

    def _arrival(self, receive: Receive, notice: Notice) -> None:
        why = Wait("bringing in an unexpected message", notice.source, notice.tag, notice.context)
        while not receive.done:
            self.records.step(why)


class Receiving:
    """Starts receives, and moves those that wait here on to the NIC."""

    def __init__(
        self,
        share: NicShare,
        records: Records,
        host_queues: HostQueues,
        posting: Posting,
        taking: Taking,
        losing: Losing,
    ) -> None:
        self.share = share
        self.records = records
        self.host_queues = host_queues
        self.posting = posting
        self.taking = taking
        self.losing = losing

    def begin(self, receive: Receive) -> None:
        host_queues = self.host_queues
        held_message = host_queues.find(receive.wanted_source, receive.wanted_tag, receive.context)
        if held_message is not None:
            host_queues.remove(held_message)
            self.posting.open(held_message, receive)
        elif host_queues.waiting or not self.posting.place(receive):
            host_queues.post(receive)
            self.sort()
        if self.share.lost and not receive.done:
            self.records.hear()
            for rank in self.share.lost:
                self.losing.fail_waiting(rank, anyone=self.losing.all_lost)

    def sort(self) -> None:
        """Move receives on to the NIC; where some must wait here, the messages that they might take
        must come here too."""
        queues = self.host_queues
        while queues.waiting:
            receive = queues.oldest()
            if not self.posting.place(receive):
                break
            queues.withdraw(receive)
        if queues.waiting and not self.records.watching:
            self.taking.drain(int(ANY))
