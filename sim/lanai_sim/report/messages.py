"""The time of each message, from the call that sent it to the data in the receiver's buffer:
exact sums too.

A moment of a message is booked in this order: host work in the two calls that sent and received it;
a NIC's processor, a DMA engine, the wire at work on it; a NIC's processor at work on something
else; host work in other calls of the two ranks. Else it waited: before its receive was posted for
that, afterwards for its turn.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..trace import Trace
from ..trace.schema import Protocol
from .activity import HOST, PEER, PROCESSOR, Activity, Layer, Part, Parts, Stretches, partition
from .bodies import Body, BodyBook
from .ranks import Split, add

OTHER_WORK = Part(PROCESSOR, "on other messages")
OTHER_CALLS = Part(HOST, "in other calls")
NO_RECEIVE = Part(PEER, "no receive posted")
ITS_TURN = Part(PEER, "for its turn")


@dataclass
class MessageSum:
    """One message. `pieces` has the times of `split` in order: (part, begin, end). `body`: where its data
    lay."""

    row: Any
    begin: int
    end: int
    split: Split
    pieces: list[tuple[Part, int, int]] = field(repr=False)
    body: Body

    @property
    def total(self) -> int:
        return self.end - self.begin


class MessageBook:
    """Books messages one by one; what they share is made once."""

    def __init__(self, activity: Activity) -> None:
        self.activity = activity
        self.trace = activity.trace
        self._kinds = [(_by_message(kind), kind) for kind in activity.kinds]
        self._bodies = BodyBook(self.trace)
        self._all_work = activity.processors.layer()
        self._hosts = [activity.host(rank) for rank in range(self.trace.ranks)]
        self._host_layers = [stretches.layer() for stretches in self._hosts]

    def all(self) -> Iterator[MessageSum]:
        """Every message whose way is known from end to end."""
        for row in self.trace.messages:
            if (begin := self._begin(row)) >= 0 and (end := int(row["completed"])) >= begin:
                yield self._book(row, begin, end)

    def one(self, number: int) -> MessageSum:
        """The message with that id. Raises IndexError if it is not known from end to end."""
        row = self.trace.messages[number]
        begin, end = self._begin(row), int(row["completed"])
        if number < 0 or begin < 0 or end < begin:
            raise IndexError(number)
        return self._book(row, begin, end)

    def _begin(self, row: Any) -> int:
        call = int(row["send_call"])
        return int(self.trace.calls["begin"][call]) if call >= 0 else int(row["posted"])

    def _book(self, row: Any, begin: int, end: int) -> MessageSum:
        layers = [self._own_calls(row), *(self._tagged(index, kind, int(row["id"])) for index, kind in self._kinds)]
        direct = len(layers)
        layers += [self._all_work, *(self._host_layers[int(row[side])] for side in ("source", "target"))]
        parts = partition(begin, end, layers)
        pieces = _pieces(parts, self.activity.labels.parts, direct, int(row["received"]))
        split: Split = {}
        for part, start, stop in pieces:
            add(split, part, stop - start)
        return MessageSum(row, begin, end, split, pieces, self._bodies.of(row))

    def _own_calls(self, row: Any) -> Layer:
        """Host work in the call that sent and the call that received."""
        picked = []
        for side, call in (("source", int(row["send_call"])), ("target", int(row["receive_call"]))):
            if call < 0:
                continue
            entry = self.trace.calls[call]
            stop = int(entry["end"]) if entry["end"] >= 0 else int(row["completed"])
            picked.append(self._host_layers[int(row[side])].within(int(entry["begin"]), stop))
        if not picked:
            return Layer.of([], [], [])
        return Layer.of(
            *(np.concatenate([getattr(layer, name) for layer in picked]) for name in ("begin", "end", "label"))
        )

    def _tagged(self, index: tuple[Any, Any], kind: Stretches, message: int) -> Layer:
        order, numbers = index
        first, last = np.searchsorted(numbers, [message, message + 1])
        return kind.where(order[first:last]).layer()


def _by_message(kind: Stretches) -> tuple[Any, Any]:
    """Rows in order of message, and the message of each."""
    order = np.argsort(kind.message, kind="stable")
    return order, kind.message[order]


def _pieces(parts: Parts, labels: list[Part], direct: int, received: int) -> list[tuple[Part, int, int]]:
    """Name each piece; neighbours of the same name become one."""
    pieces: list[tuple[Part, int, int]] = []
    edges = parts.edges.tolist()
    for index, (owner, label) in enumerate(zip(parts.layer.tolist(), parts.label.tolist(), strict=True)):
        begin, end = edges[index], edges[index + 1]
        for part, start, stop in _named(owner, labels[label] if owner >= 0 else None, direct, begin, end, received):
            if pieces and pieces[-1][0] == part:
                pieces[-1] = (part, pieces[-1][1], stop)
            else:
                pieces.append((part, start, stop))
    return pieces


def _named(
    owner: int, part: Part | None, direct: int, begin: int, end: int, received: int
) -> Iterator[tuple[Part, int, int]]:
    if part is not None and owner < direct:
        yield part, begin, end
    elif owner == direct:
        yield OTHER_WORK, begin, end
    elif owner > direct:
        yield OTHER_CALLS, begin, end
    else:  # no owner: cut where the receive was posted
        cut = min(max(received, begin), end)
        if cut > begin:
            yield NO_RECEIVE, begin, cut
        if end > cut:
            yield ITS_TURN, cut, end


def protocol_name(row: Any) -> str:
    return Protocol(int(row["protocol"])).name.lower().replace("_", " ")


# The communication matrix: messages and bytes from each rank to each, sizes, protocols.


@dataclass
class Matrix:
    """`messages[i, j]` and `bytes[i, j]` went from rank i to rank j. `sizes`: messages by power of
    two (0: empty, 1: one byte, 2: 2 to 3, ...)."""

    messages: Any
    bytes: Any
    protocols: dict[tuple[int, int], Counter[str]]
    sizes: Counter[int]

    @property
    def all_protocols(self) -> Counter[str]:
        """Messages by protocol, all pairs together."""
        total: Counter[str] = Counter()
        for counts in self.protocols.values():
            total += counts
        return total


def matrix(trace: Trace) -> Matrix:
    ranks = trace.ranks
    made = Matrix(np.zeros((ranks, ranks), np.int64), np.zeros((ranks, ranks), np.int64), {}, Counter())
    for row in trace.messages:
        pair = int(row["source"]), int(row["target"])
        made.messages[pair] += 1
        made.bytes[pair] += row["bytes"]
        made.protocols.setdefault(pair, Counter())[protocol_name(row)] += 1
        made.sizes[int(row["bytes"]).bit_length()] += 1
    return made


def size_class(bits: int) -> str:
    """The sizes that a key of `Matrix.sizes` stands for."""
    if bits < 2:
        return str(bits)
    return f"{1 << (bits - 1):,} to {(1 << bits) - 1:,}"
