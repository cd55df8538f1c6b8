"""Messages that a NIC keeps and no receive has taken, read from its memory: for the report of a run that has ended.

Nobody asks the firmware, which may have stopped. A channel that shares its room may have left its messages in host memory
(`homes`), where each lies at the same place in the table as on the NIC.
"""

from collections.abc import Mapping, Sequence

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.mpi_np.codec import unpack
from lanai_firmware.programs.mpi_np.plan import Layout
from lanai_firmware.programs.mpi_np.state import Channel, Message, Room

from ...device import Envelope
from ..base import Memory

CHANNEL = int(sizeof(Channel))
MESSAGE = int(sizeof(Message))
WAITING, ROOM, AWAY, AWAY_UNCLAIMED = (
    int(offset_of(Channel, name)) for name in ("waiting", "room", "away", "away_unclaimed")
)
UNCLAIMED = int(offset_of(Channel, "unclaimed"))
NEXT = int(offset_of(Message, "next"))
ROOM_NUMBER = int(offset_of(Room, "number"))


def unexpected(layout: Layout, here: Sequence[int], memory: Memory, homes: int) -> Mapping[int, list[Envelope]]:
    """By rank of those `here`: its messages, by source and in order of arrival.

    Args:
        layout: of this NIC's SRAM.
        here: ranks on it, in the order of their endpoints.
        homes: bus address of what channels left in host memory.
    """
    plan = layout.plan
    world = plan["ranks"]
    channels = range(len(here) * world)
    waiting = memory.words([plan["channel_table"] + number * CHANNEL + WAITING for number in channels])
    found: dict[int, list[Envelope]] = {rank: [] for rank in here}
    for number, count in zip(channels, waiting, strict=False):
        if count:
            rank, source = here[number // world], number % world
            found[rank] += _Lists(layout, memory, homes).messages(number, source, count)
    return found


class _Lists:
    def __init__(self, layout: Layout, memory: Memory, homes: int) -> None:
        self._plan, self._memory, self._homes = layout.plan, memory, homes

    def messages(self, number: int, source: int, count: int) -> list[Envelope]:
        """Of one channel. The processor may have been stopped amid a change: nothing is believed that cannot be."""
        plan = self._plan
        channel = plan["channel_table"] + number * CHANNEL
        first, room, away, away_first = self._words(
            [channel + UNCLAIMED + NEXT, channel + ROOM, channel + AWAY, channel + AWAY_UNCLAIMED]
        )
        share = self._words([room + ROOM_NUMBER])[0] if room else number
        slots = plan["messages_per_channel"]
        table = plan["message_table"] + share * slots * MESSAGE
        place = away_first if away else first
        found = []
        for _ in range(min(count, slots)):
            index, rest = divmod(place - table, MESSAGE)
            if rest or not 0 <= index < slots:
                break
            message = unpack(Message, self._message(number, index, place, bool(away)))
            found.append(Envelope(source, message["tag"], message["key"] >> 16, message["length"]))
            place = message["next"]
        return found

    def _message(self, number: int, index: int, place: int, away: bool) -> bytes:
        if away:
            return self._memory.host(self._homes + number * self._plan["home_bytes"] + index * MESSAGE, MESSAGE)
        words = self._words([place + offset for offset in range(0, MESSAGE, 4)])
        return b"".join(word.to_bytes(4, "big") for word in words)

    def _words(self, addresses: Sequence[int]) -> list[int]:
        words = self._memory.words(addresses)
        return [*words, *[0] * (len(addresses) - len(words))]
