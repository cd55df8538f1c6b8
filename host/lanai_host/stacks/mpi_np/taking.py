"""Messages taken off the NIC, where slots are scarce: for receives that wait on the host, for
matched probes (NP-50)."""

from collections import deque
from dataclasses import dataclass

from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, PACKET_BODY, Kind, Op

from ...body import NOTHING, Run
from ...device import Arrived
from ...operation import ANY_SOURCE, ANY_TAG, Wait
from ...scratch_pool import POOL, Bytes
from .endpoint import Notice
from .host_queues import HeldMessage, HostQueues
from .operations import Receive
from .posting import RESERVED, Posting
from .records import Records
from .share import NicShare

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
