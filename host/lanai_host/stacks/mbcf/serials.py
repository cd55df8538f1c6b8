"""Serial numbers of messages and requests between two ranks (MB-18 to MB-25): plain state, nothing
is sent here.

The sender answers a request by a remote write only if it is fresh and successive:

- freshness: the receiver had taken the latest message by FIFO when it made the request;
- succession: it is the request that follows the one answered last. None before it has vanished or
    been thrown away.
"""

from dataclasses import dataclass

MASK = (1 << 32) - 1


@dataclass
class SenderSerials:
    """A sender's record of one receiver.

    Attributes:
        sent: serial of the message that was sent by FIFO last (MB-18).
        next_request: one more than that of the request that was answered last (MB-20), or kept.
    """

    sent: int = 0
    next_request: int = 1

    def accepts(self, serial: int, accepted: int) -> bool:
        """Return whether a request may be answered by a remote write (MB-22)."""
        return accepted == self.sent and serial == self.next_request

    def answered(self) -> None:
        """The request that was accepted is answered by a remote write, now or later."""
        self.next_request = (self.next_request + 1) & MASK

    def message(self) -> int:
        """The serial of a message that goes by FIFO."""
        self.sent = (self.sent + 1) & MASK
        return self.sent


@dataclass
class ReceiverSerials:
    """A receiver's record of one sender.

    Attributes:
        accepted: serial of the message that was taken from the FIFO last (MB-21).
        next: serial of the next request (MB-19).
    """

    accepted: int = 0
    next: int = 1

    def request(self) -> int:
        """The serial of a new request."""
        serial = self.next
        self.next = (serial + 1) & MASK
        return serial

    def message(self, serial: int, next_request: int) -> None:
        """A message has been taken from the FIFO. Requests made before are of no use any more
        (MB-23)."""
        self.accepted = serial
        self.next = next_request
