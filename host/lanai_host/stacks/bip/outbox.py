"""Short packets on their way out, and the credit that they need.

A rank may have `credits` packets at another that it has not read. Their reader gives them back with its own
packets or, when half of them wait for that, with a packet of CREDIT. Those need no credit. There are at most
two of them in a ring, because who reads none of them cannot send more than `credits` packets.
"""

from collections import deque
from collections.abc import Callable

from lanai_firmware.programs.bip.layout import Type

from .link import Link
from .packets import HEADER, Head

Letter = Callable[[], tuple[Head, bytes] | None]  # makes a packet when its turn has come; None: there is none


class Outbox:
    """Packets to one rank leave in the order in which they were put in."""

    def __init__(self, link: Link, rank: int, ranks: int, credits: int) -> None:
        self._link = link
        self._rank = rank
        self._most = credits
        self._credits = [credits] * ranks  # packets that each rank still takes
        self._owed = [0] * ranks  # packets of each rank that were read, and that it does not know of
        self._waiting: dict[int, deque[Letter]] = {}

    @property
    def is_idle(self) -> bool:
        """Every packet has left."""
        return not self._waiting and not self._link.unsent

    @property
    def is_settled(self) -> bool:
        """Return whether nothing waits to leave."""
        return not (self._waiting or self._must_tell(max(self._owed)))

    def put(self, dest: int, letter: Letter) -> None:
        """Queue a packet. `push` sends it."""
        self._waiting.setdefault(dest, deque()).append(letter)

    def put_head(self, dest: int, head: Head) -> None:
        """Queue a packet that is a header alone."""
        self.put(dest, lambda: (head, b""))

    def read(self, source: int, credit: int) -> None:
        """A packet of a rank was read, which brings credit."""
        self._credits[source] += credit

    def owe(self, source: int) -> None:
        """The place of a packet is free. That will be told."""
        self._owed[source] += 1

    def push(self) -> None:
        """Send what credit and the NIC's room let leave."""
        for dest in list(self._waiting):
            waiting = self._waiting[dest]
            while waiting and self._credits[dest] and self._link.has_room:
                made = waiting.popleft()()
                if made is not None:
                    self._credits[dest] -= 1
                    self._send(dest, *made)
            if not waiting:
                del self._waiting[dest]
        if not self._must_tell(max(self._owed)):
            return
        for dest, owed in enumerate(self._owed):
            if self._must_tell(owed) and self._link.has_room:
                self._send(dest, Head(Type.CREDIT), b"")

    def _must_tell(self, owed: int) -> bool:
        """Return whether a rank waits to be told that so many of its packets were read."""
        return 2 * owed >= self._most and owed > 0

    def clear(self) -> None:
        self._waiting.clear()

    def _send(self, dest: int, head: Head, data: bytes) -> None:
        owed, self._owed[dest] = self._owed[dest], 0
        self._link.send(dest, HEADER.pack(*head._replace(credit=owed, channel=self._rank)) + data)
