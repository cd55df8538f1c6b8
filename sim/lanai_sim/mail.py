"""Mail between ranks: letters that arrive a constant latency after they were posted, in the order (arrival, source, posting)."""

import heapq

from lanai_host.protocol import LETTER

from .kernel import Kernel, Suspension


class Mailbox:
    """What is on its way to one rank, and whether its task waits for it."""

    __slots__ = ("clock", "letters", "waiting", "wake")

    def __init__(self) -> None:
        self.letters: list[tuple[int, int, int, bytes]] = []
        self.waiting: Suspension[int] | None = None
        self.clock = 0  # of the waiting rank
        self.wake = 0  # moment at which it will be woken


class PostOffice:
    """Mailboxes of all ranks. `latency` in picoseconds, and `byte_time` more for each byte of a letter."""

    def __init__(self, kernel: Kernel, ranks: int, latency: int, byte_time: int = 0) -> None:
        self.kernel = kernel
        self.latency = latency
        self.byte_time = byte_time
        self._boxes = [Mailbox() for _ in range(ranks)]
        self._sent = 0

    def post(self, time: int, source: int, dest: int, letter: bytes) -> None:
        """`source` posts a letter at its `time`."""
        if not 0 <= dest < len(self._boxes):
            raise ValueError(
                f"rank {source} posted a letter to rank {dest}; there are ranks 0 to {len(self._boxes) - 1}"
            )
        box = self._boxes[dest]
        self._sent += 1
        arrival = time + self.latency + self.byte_time * len(letter)
        heapq.heappush(box.letters, (arrival, source, self._sent, letter))
        if box.waiting is not None and max(arrival, box.clock) < box.wake:
            self._arrange(dest, box)

    def arrival(self, rank: int, time: int) -> Suspension[int]:
        """Suspend the rank's task, whose clock is `time`, until it has a letter; gives the time of that."""
        box = self._boxes[rank]
        box.waiting = self.kernel.suspension()
        box.clock = time
        if box.letters:
            self._arrange(rank, box)
        else:
            box.wake = 2**63 - 1
        return box.waiting

    def collect(self, rank: int, time: int) -> bytes:
        """All letters that have arrived at `time`, as the portal carries them."""
        letters = self._boxes[rank].letters
        parts = []
        while letters and letters[0][0] <= time:
            arrival, source, _, letter = heapq.heappop(letters)
            parts.append(LETTER.pack(arrival, source, len(letter)))
            parts.append(letter)
        return b"".join(parts)

    def _arrange(self, rank: int, box: Mailbox) -> None:
        box.wake = max(box.letters[0][0], box.clock)
        self.kernel.at(box.wake, rank, self._wake, (box, box.waiting, box.wake))

    def _wake(self, due: tuple[Mailbox, Suspension[int], int]) -> None:
        box, waiting, time = due
        if box.waiting is waiting and box.wake == time:
            box.waiting = None
            waiting.resume(time)
