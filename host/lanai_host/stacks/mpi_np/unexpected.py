"""Messages that a NIC keeps and no receive has taken, read from its memory: for MPI_Comm_free, and for the
report of a run that has ended.

The firmware is not asked: it may have stopped. A channel that shares its pool may have left its
messages in host memory (`spill_memory`), where each lies at the same place in the table as on the
NIC.
"""

from collections.abc import Mapping, Sequence

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.mpi_np.codec import unpack
from lanai_firmware.programs.mpi_np.rows import Channel, Message, Pool
from lanai_firmware.programs.mpi_np.sram import Layout

from ...device import Envelope
from ..base import Memory

CHANNEL = int(sizeof(Channel))
MESSAGE = int(sizeof(Message))
WAITING, POOL, EVICTED, EVICTED_UNCLAIMED = (
    int(offset_of(Channel, name)) for name in ("waiting", "pool", "evicted", "evicted_unclaimed")
)
UNCLAIMED = int(offset_of(Channel, "unclaimed"))
NEXT = int(offset_of(Message, "next"))
POOL_NUMBER = int(offset_of(Pool, "number"))


def unexpected(layout: Layout, here: Sequence[int], memory: Memory, spill_memory: int) -> Mapping[int, list[Envelope]]:
    """By rank of those `here`: its messages, by source and in order of arrival.

    Args:
        layout: of this NIC's SRAM.
        here: ranks on it, in the order of their endpoints.
        spill_memory: bus address of what channels left in host memory.
    """
    plan = layout.plan
    world = plan["ranks"]
    channels = range(len(here) * world)
    waiting = memory.words([plan["channel_table"] + number * CHANNEL + WAITING for number in channels])
    found: dict[int, list[Envelope]] = {rank: [] for rank in here}
    for number, count in zip(channels, waiting, strict=False):
        if count:
            rank, source = here[number // world], number % world
            found[rank] += _Lists(layout, memory, spill_memory).messages(number, source, count)
    return found


class _Lists:
    def __init__(self, layout: Layout, memory: Memory, spill_memory: int) -> None:
        self._plan, self._memory, self._spill_memory = layout.plan, memory, spill_memory

    def messages(self, number: int, source: int, count: int) -> list[Envelope]:
        """Return the envelopes of the messages in one channel.

        The processor may have been stopped amid a change. The list ends at the first impossible entry.
        """
        plan = self._plan
        channel = plan["channel_table"] + number * CHANNEL
        first, pool, evicted, evicted_first = self._words(
            [channel + UNCLAIMED + NEXT, channel + POOL, channel + EVICTED, channel + EVICTED_UNCLAIMED]
        )
        share = self._words([pool + POOL_NUMBER])[0] if pool else number
        slots = plan["messages_per_channel"]
        table = plan["message_table"] + share * slots * MESSAGE
        place = evicted_first if evicted else first
        found = []
        for _ in range(min(count, slots)):
            index, rest = divmod(place - table, MESSAGE)
            if rest or not 0 <= index < slots:
                break
            message = unpack(Message, self._message(number, index, place, bool(evicted)))
            found.append(Envelope(source, message["tag"], message["key"] >> 16, message["length"]))
            place = message["next"]
        return found

    def _message(self, number: int, index: int, place: int, evicted: bool) -> bytes:
        if evicted:
            return self._memory.host(self._spill_memory + number * self._plan["spill_bytes"] + index * MESSAGE, MESSAGE)
        words = self._words([place + offset for offset in range(0, MESSAGE, 4)])
        return b"".join(word.to_bytes(4, "big") for word in words)

    def _words(self, addresses: Sequence[int]) -> Sequence[int]:
        return self._memory.words(addresses)
