"""Barriers of all ranks by the barrier tree: a bit of the NIC is inverted, and the switch's follows
when those of all NICs are."""

from collections import deque

from lanai_firmware.programs.put_barrier.layout import LOST
from lanai_hdl.barrier.csr import BITS

from ...bus.base import Bus
from ...host_model.operations import fail
from ...operation import ErrorKind, Operation
from .by_firmware import FirmwarePuts
from .heap import WORD


class Barriers:
    """This rank's barriers. Those of one `bit` are begun in the same order at all ranks; a bit has
    one under way at a time, and the others wait here."""

    def __init__(self, bus: Bus, puts: FirmwarePuts, rank: int) -> None:
        self._memory = bus.allocate(WORD.size)  # what the switch said last, written by the NIC
        self._puts = puts
        self._rank = rank
        self._bits = 0  # this NIC's
        self._queues: dict[int, deque[Operation]] = {bit: deque() for bit in range(BITS)}

    def begin(self, bit: int) -> Operation:
        """Queue a barrier. `Puts.push` sends it on."""
        operation = Operation()
        queue = self._queues[bit]
        queue.append(operation)
        if len(queue) == 1:
            self._ask(bit)
        return operation

    def look(self) -> None:
        """End the barriers that are passed, and begin the next ones. `Puts.push` sends them on."""
        seen = self._seen
        for bit, queue in self._queues.items():
            if queue and not (seen ^ self._bits) >> bit & 1:
                queue.popleft().done = True
                if queue:
                    self._ask(bit)

    @property
    def lost(self) -> bool:
        """The tree is lost. Nothing is passed any more."""
        return bool(self._seen & int(LOST))

    @property
    def idle(self) -> bool:
        return not any(self._queues.values())

    def fail_all(self, kind: ErrorKind, text: str) -> None:
        for queue in self._queues.values():
            for operation in queue:
                fail(operation, kind, text)
            queue.clear()

    @property
    def _seen(self) -> int:
        found: int = WORD.unpack_from(self._memory.view)[0]
        return found

    def _ask(self, bit: int) -> None:
        self._bits ^= 1 << bit
        self._puts.barrier(self._rank, 1 << bit, self._memory.bus_address)
