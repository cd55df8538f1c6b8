"""Sends that the program wants back, also while their receiver computes (MB-34).

A signal interrupts the receiver, which looks into its FIFOs. A synchronous message that has met no
receive goes back. Any other send is done once its bytes have left, for which the receiver makes
room. Where the answer finds no room at the sender, a further signal says that there is some.
"""

from collections.abc import Callable

from lanai_hdl.remote.packets import Op, Status

from ...adapter.jobs import Job, Jobs
from ...adapter.operation import REASONS
from .layout import SIGNAL, Head, Kind
from .operations import Matcher, Send
from .outbox import Outbox
from .peers import NO_MESSAGE, Queues
from .receiving import Receiving
from .sending import Sending


class Cancelling:
    """Both sides: this rank's sends, and peers' messages here. `hear_of` is told which peer has signalled.

    Attributes:
        returned: messages that have gone back to peers.
    """

    def __init__(
        self,
        queues: Queues,
        jobs: Jobs,
        matcher: Matcher,
        sending: Sending,
        receiving: Receiving,
        hear_of: Callable[[int], None],
    ) -> None:
        self._queues = queues
        self._jobs = jobs
        self._matcher = matcher
        self._sending = sending
        self._receiving = receiving
        self._hear_of = hear_of
        self.returned = 0
        self._owing: set[int] = set()  # peers to which an answer may be on its way
        sending.here = self._ask
        receiving.room_made = self._call_again

    def cancel(self, send: Send) -> bool:
        """Cancel a send. Return whether it is cancelled at once; if not, it may end so later."""
        if send.dest == self._queues.rank:
            message = self._matcher.own(send)
            if message is not None:
                self._matcher.remove(message)
            return message is not None
        if self._sending.cancel(send):
            return True
        if not send.recalled:
            send.recalled = True
            self._ask(send)
        return False

    def urge(self, box: Outbox) -> None:
        """A message that the program wants back finds no room: its receiver is to make some."""
        if not box.stream.stuck or box.urged == box.stream.emptied:
            return
        if any(send.recalled and not send.here for send in box.sends):
            box.urged = box.stream.emptied
            self._signal(box.peer, NO_MESSAGE)

    @property
    def owes(self) -> bool:
        """An answer has not left, or may yet be refused."""
        boxes = self._sending.boxes
        self._owing = {peer for peer in self._owing if boxes[peer].notes or not boxes[peer].stream.idle}
        return bool(self._owing)

    @property
    def answers_move(self) -> bool:
        """An answer has not left, and needs nothing of its peer for that but what is on its way."""
        waiting = [self._sending.boxes[peer] for peer in self._owing] if self.owes else []
        return any((box.notes or box.stream.refused) and not (box.lost or box.stream.stuck) for box in waiting)

    def serve(self) -> None:
        """Serve the signals of peers. A signal comes behind the message that it is about."""
        signals = self._queues.signals
        while signals.look():
            peer = self._queues.signaller()
            (serial,) = SIGNAL.unpack(signals.record())
            signals.drop()
            self._hear_of(peer)
            self._receiving.look()
            if serial != NO_MESSAGE:
                self._give_back(peer, serial)

    def _give_back(self, peer: int, serial: int) -> None:
        """A message goes back, unless it has met a receive, or a probe has told of it."""
        message = self._matcher.synchronous(peer, serial)
        if message is not None and not message.probed:
            self._matcher.remove(message)
            self.returned += 1
            self._owing.add(peer)
            self._sending.tell(peer, Head(Kind.RETURNED, 0, message.context, message.tag, serial, 0, 0))

    def _ask(self, send: Send) -> None:
        """Ask for a synchronous message that is at its receiver."""
        if send.recalled and send.here and send.synchronous and not send.done:
            assert send.serial is not None
            self._signal(send.dest, send.serial)

    def _call_again(self, peer: int) -> None:
        """A peer has been told of room. The answer that this rank waits for may stand behind what was refused."""
        if any(send.recalled and send.here for send in self._sending.boxes[peer].sends):
            self._signal(peer, NO_MESSAGE)

    def _signal(self, peer: int, serial: int) -> None:
        token, offset = self._queues.signals_at(peer)

        def ended(status: Status) -> None:
            if status is not Status.OK:
                self._sending.lose(peer, f"rank {peer} cannot be signalled: {REASONS[status]}")

        self._jobs.add(Job(Op.APPEND, token, offset, f"a signal to rank {peer}", ended, SIGNAL.pack(serial)))
