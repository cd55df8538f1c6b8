"""Transport between ranks without a NIC whose datagrams all pass through the simulator: where ranks
are killed or restarted.

A rank that shares memory with others may not end in the midst of a change to it, and what it has
received must be kept by a process that lives on. The simulator serves the same hub (`transport`) for
each rank, so times are the same.
"""

from collections.abc import Sequence
from typing import Protocol

from ..body import NOTHING, Body
from ..operation import Wait
from ..source_lines import located
from .protocol import Op, pack_wait
from .requests import COLLECT, DATAGRAM, RELAYED, Collect, Datagram, Relayed
from .transport import LOOK_TIME, Awaited, PostSink, WaitSink


class Line(Protocol):
    """The part of its rank's connection to the simulator (`client.SimulatorClient`) that `RelayedTransport` uses."""

    clock: int

    def charge(self, picoseconds: int) -> None: ...

    def post(self, op: Op, payload: bytes = b"") -> None: ...

    def call(self, op: Op, payload: bytes = b"") -> bytes: ...

    def finalize(self) -> None: ...


class RelayedTransport:
    """A rank's end, the `Transport` of `stacks.ideal.datagrams`. Its time is the client's `clock`."""

    def __init__(self, client: Line) -> None:
        self._client = client
        self.wait_sink: WaitSink | None = None  # told of each `collect`
        self.post_sink: PostSink | None = None  # not told: a run whose ranks are kept is not traced

    @property
    def now(self) -> int:
        return self._client.clock

    def elapse(self, picoseconds: int) -> None:
        self._client.charge(picoseconds)

    def post(self, dest: int, head: bytes, body: Body = NOTHING) -> None:
        """Only the body takes time on the link. Raises BusError if it cannot be read."""
        self._client.post(Op.DATAGRAM, DATAGRAM.pack(Datagram(dest, body.size), head + body.read()))

    def collect(self, why: Wait | None) -> list[tuple[int, bytes | memoryview]]:
        before = self._client.clock
        if why is None:
            self._client.charge(LOOK_TIME)
            collected = self._collect(Awaited.LOOK, b"")
        else:
            collected = self._collect(Awaited.DATAGRAM, pack_wait(located(why)))
        if self.wait_sink is not None:
            self.wait_sink(why, before)
        return unpack_relayed(collected)

    def take_turn(self, why: Wait) -> None:
        """Wait for this rank's turn, as `RankTransport.take_turn` does."""
        self._collect(Awaited.TURN, pack_wait(located(why)))

    def stand_aside(self) -> None:
        """Nothing to do: an abort is served when all other ranks wait."""

    def close(self) -> None:
        self._client.post(Op.LEAVE)
        self._client.finalize()

    def _collect(self, awaited: Awaited, why: bytes) -> bytes:
        return self._client.call(Op.COLLECT, COLLECT.pack(Collect(awaited), why))


def pack_relayed(datagrams: Sequence[tuple[int, bytes | memoryview]]) -> bytes:
    """The answer to COLLECT."""
    parts = [(RELAYED.pack(Relayed(source, len(text))), text) for source, text in datagrams]
    return b"".join(part for pair in parts for part in pair)


def unpack_relayed(payload: bytes) -> list[tuple[int, bytes | memoryview]]:
    """(source, datagram) of each."""
    datagrams: list[tuple[int, bytes | memoryview]] = []
    place = 0
    while place < len(payload):
        source, size = RELAYED.struct.unpack_from(payload, place)
        place += RELAYED.size
        datagrams.append((source, payload[place : place + size]))
        place += size
    return datagrams
