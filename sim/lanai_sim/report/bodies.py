"""The place of each message's body in host memory, and those of its packets that were cut through at the
receiver.

All of it is read off the host DMA's transfers. A transfer moves (part of) a body if its SRAM side
is a packet buffer, a send buffer or the heap, and its host side is memory of a rank. A body that
the sender's library wrote to the NIC with the request has no transfer there.

The receiving firmware can pass a packet on to the host while it is still arriving (cut-through,
docs/design/mpi-np.md) if its body is long enough. A packet that it did not pass on was stored first.
What stored it is known for one cause only: with cut-through on, the receive posted before the
packet came, and the host DMA idle when the firmware looked, what is left is that the body lay in
too many pieces.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanai_firmware.vocabulary import CutThrough
from lanai_hdl.machine import PAGE_SIZE

from ..trace import Trace
from ..trace.schema import Engine


@dataclass(frozen=True)
class Place:
    """A body in one rank's memory: pages touched, and runs of consecutive bytes within one page."""

    pages: int = 0
    pieces: int = 0

    @classmethod
    def of(cls, addresses: list[int], lengths: list[int]) -> "Place":
        """Made of transfers; some may have moved the same bytes."""
        page, pages, pieces, end = -1, 0, 0, -1
        for address, length in sorted(zip(addresses, lengths, strict=True)):
            if address // PAGE_SIZE != page:
                page, pages, pieces = address // PAGE_SIZE, pages + 1, pieces + 1
            elif address > end:
                pieces += 1
            end = max(end, address + length)
        return cls(pages, pieces)


@dataclass(frozen=True)
class Body:
    """One message's body.

    Attributes:
        sent: in the sender's memory; without pages if the library wrote it to the NIC with the
            request.
        received: in the receiver's.
        long: packets that are long enough to be cut through.
        through: of these, those that were.
        stored_for_pieces: of these, those that were stored because their body lay in too many
            pieces at the receiver.
    """

    sent: Place = Place()
    received: Place = Place()
    long: int = 0
    through: int = 0
    stored_for_pieces: int = 0


class BodyBook:
    """Bodies of a trace's messages; what they share is made once."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        vocabulary = trace.vocabulary
        self._cut_through = None if vocabulary is None else vocabulary.cut_through
        self._moves = _by_message(trace.dma[_moves_body(trace)])
        self._arrivals = _by_message(trace.dma[trace.dma["engine"] == Engine.RECEIVE])

    def of(self, message: Any) -> Body:
        """The body of a row of `Trace.messages`."""
        number = int(message["id"])
        moves = _rows(self._moves, number)
        read = moves[(moves["engine"] == Engine.HOST_READ) & (moves["node"] == self._node(message["source"]))]
        written = moves[(moves["engine"] == Engine.HOST_WRITE) & (moves["node"] == self._node(message["target"]))]
        long = through = stored = 0
        if (cut := self._cut_through) is not None:
            for packet, moments in self._long_packets(number, written, cut):
                long += 1
                if len(moments) and moments[0] < packet["arrival_tail"]:
                    through += 1
                elif len(moments) > 1 and self._could_pass(packet, message, cut):
                    stored += 1
        return Body(_place(read), _place(written), long, through, stored)

    def _node(self, rank: int) -> int:
        return self.trace.node_of(int(rank))

    def _long_packets(self, number: int, written: Any, cut: CutThrough) -> Iterator[tuple[Any, Any]]:
        """Packets that may be passed on, each with the slots at which its uploads were queued."""
        arrivals = _rows(self._arrivals, number)
        arrivals = arrivals[np.argsort(arrivals["begin"], kind="stable")]
        owner = _owners(arrivals, written)
        for index, arrival in enumerate(arrivals):
            packet = self.trace.packets[arrival["packet"]]
            if int(packet["kind"]) in cut.types and packet["bytes"] > cut.first_look:
                yield packet, np.sort(written["posted"][owner == index])

    def _could_pass(self, packet: Any, message: Any, cut: CutThrough) -> bool:
        """Cut-through was on, the receive there in time, and the host DMA idle when the firmware
        looked at the packet."""
        node = int(packet["target"])
        head, tail = int(packet["arrival_head"]), int(packet["arrival_tail"])
        look = head + (tail - head) * cut.first_look // int(packet["bytes"])
        if not cut.enabled(self.trace.meta["plans"][node]) or int(message["received"]) > self.trace.picoseconds(head):
            return False
        dma = self._host_dma(node)
        return not ((dma["posted"] <= look) & (dma["end"] > look)).any()

    def _host_dma(self, node: int) -> Any:
        dma = self.trace.dma
        host = (dma["engine"] == Engine.HOST_READ) | (dma["engine"] == Engine.HOST_WRITE)
        return dma[host & (dma["node"] == node)]


def _moves_body(trace: Trace) -> Any:
    """Return which rows of `Trace.dma` move a body between host and SRAM."""
    dma, vocabulary = trace.dma, trace.vocabulary
    chosen = np.zeros(len(dma), bool)
    if vocabulary is None:
        return chosen
    for node, plan in enumerate(trace.meta.get("plans", [])):
        spilled = _within(dma["host"], vocabulary.spilled(plan))
        chosen |= (dma["node"] == node) & _within(dma["local"], vocabulary.bodies(plan)) & ~spilled
    return chosen & ((dma["engine"] == Engine.HOST_READ) | (dma["engine"] == Engine.HOST_WRITE))


def _within(addresses: Any, part: range) -> Any:
    return (addresses >= part.start) & (addresses < part.stop)


def _by_message(rows: Any) -> Any:
    return rows[np.argsort(rows["message"], kind="stable")]


def _rows(rows: Any, message: int) -> Any:
    first, last = np.searchsorted(rows["message"], [message, message + 1])
    return rows[first:last]


def _place(moves: Any) -> Place:
    return Place.of(moves["host"].astype(np.int64).tolist(), moves["bytes"].tolist())


def _owners(arrivals: Any, written: Any) -> Any:
    """For each upload which arrival lay in its part of SRAM last; -1 if it came from elsewhere, the
    heap say."""
    owner = np.full(len(written), -1)
    local = written["local"].astype(np.int64)
    for index, arrival in enumerate(arrivals):
        begin = int(arrival["local"])
        inside = (local >= begin) & (local < begin + int(arrival["bytes"])) & (written["posted"] >= arrival["begin"])
        owner[inside] = index
    return owner
