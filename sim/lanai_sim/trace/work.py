"""Messages that a NIC worked for: of transfers, of stretches of processor time, of host bus
transactions.

The processor works on a message from the moment at which it first reads one of the message's things
(a request slot, a received packet, a posted receive, a staged packet, an answer under way) until it
reads another message's, or comes back to the scheduler. A host DMA descriptor belongs to the
message that was worked on when it was posted; a send descriptor and a received packet to their
packet's."""

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lanai_firmware.vocabulary import Channels, Commands, Fragments, Puts, Table, Touch, Vocabulary
from lanai_hdl.machine import SRAM_HOST

from .schema import BY_HOST, DMA, HOSTBUS, PROCESSOR, Engine, HostKind, RequestKind, State
from .stored import StoredTrace

# The causes of the transactions on a node's host bus: the host's accesses belong to calls, the NIC's to
# messages. `hostbus` is the table `Trace.hostbus`, in which rows are filled in.

RequestAt = Callable[[int, int, int], int]  # node, slot, time: the message of the request that lay there


def attribute(
    trace: StoredTrace,
    messages: Any,
    node: int,
    hostbus: Any,
    rows: Any,
    dma: Any,
    request_at: RequestAt,
    tables: Sequence[Table],
) -> None:
    """Attribute the NIC's transactions to the messages of the descriptors that run, the host's to the calls in
    which it makes them."""
    by_host = hostbus["master"][rows] == BY_HOST
    ours = rows[by_host]
    if by_call(trace, node, hostbus, ours):
        _slot_writes(trace, node, hostbus, ours, request_at, tables)
    theirs = rows[~by_host]
    if len(dma) and len(theirs):
        order = dma[np.argsort(dma["begin"], kind="stable")]
        index = np.searchsorted(order["begin"], hostbus["begin"][theirs], side="right") - 1
        one = order[np.maximum(index, 0)]
        inside = (index >= 0) & (hostbus["begin"][theirs] < one["end"])
        hostbus["message"][theirs] = np.where(inside, one["message"], -1)
        # A message's transfers were caused by its send on the sender's NIC, by its receive on the
        # other.
        named = hostbus["message"][theirs]
        if len(messages):
            message = messages[np.maximum(named, 0)]
            sender = np.array([trace.node_of(int(rank)) == node for rank in message["source"]])
            call = np.where(sender, message["send_call"], message["receive_call"])
            hostbus["call"][theirs] = np.where(named >= 0, call, -1)


def by_call(trace: StoredTrace, node: int, hostbus: Any, rows: Any) -> bool:
    """The calls of the host's accesses, which are `rows`. Whether there are any."""
    host = trace.host
    pio = (host["kind"] == HostKind.PIO_WRITE) | (host["kind"] == HostKind.PIO_READ)
    mine = host[pio & np.isin(host["rank"], trace.nodes[node])]
    mine = mine[np.argsort(mine["end"], kind="stable")]
    if not len(mine) or not len(rows):
        return False
    ends = trace.picoseconds(hostbus["end"][rows])
    index = np.searchsorted(mine["end"], ends)
    inside = index < len(mine)
    near = mine[np.minimum(index, len(mine) - 1)]
    inside &= near["begin"] <= ends
    hostbus["call"][rows] = np.where(inside, near["call"], -1)
    return True


def _slot_writes(
    trace: StoredTrace, node: int, hostbus: Any, rows: Any, request_at: RequestAt, tables: Sequence[Table]
) -> None:
    """A write to a request slot belongs to the request's message."""
    for local_rank, table in enumerate(table for table in tables if table.kind == Touch.SLOT):
        first = SRAM_HOST + table.begin
        last = hostbus["address"][rows].astype(np.int64) + hostbus["bytes"][rows] - 1
        number = (last - first) // table.stride
        inside = (last >= first) & (number < table.count) & (hostbus["write"][rows] == 1)
        for row, slot in zip(rows[inside].tolist(), number[inside].tolist(), strict=True):
            time = int(trace.picoseconds(hostbus["end"][row]))
            hostbus["message"][row] = request_at(node, local_rank * table.count + slot, time)


FIRST = 1  # DMA.flags of a send descriptor
FAILED = 0x80


class Links(NamedTuple):
    """Tables whose rows name each other. `arrived`: for each row of PRX the row of `packets`."""

    requests: Any
    messages: Any
    lines: Any
    packets: Any
    arrived: Any


def link(trace: StoredTrace, links: Links) -> tuple[Any, Any, Any]:
    """`dma`, `processor` and `hostbus` of a trace."""
    dma = _transfers(trace, links)
    processor = _stretches(trace)
    stored = trace.stored(b"HBUS")
    stored = stored[np.lexsort((stored["begin"], stored["node"]))]
    hostbus = np.zeros(len(stored), HOSTBUS)
    for name in stored.dtype.names:
        hostbus[name] = stored[name]
    hostbus["call"] = hostbus["message"] = -1
    vocabulary = trace.vocabulary
    if vocabulary is None:
        processor["message"] = -1
        return dma, processor, hostbus
    if isinstance(vocabulary, Commands | Fragments):  # no firmware runs, or nothing tells what it works on
        for node in range(len(trace.nodes)):
            here = (hostbus["node"] == node) & (hostbus["master"] == BY_HOST)
            by_call(trace, node, hostbus, np.flatnonzero(here))
        if isinstance(vocabulary, Fragments):
            _passed_on(trace, dma, vocabulary)
        return dma, processor, hostbus
    slots = _Slots(trace, links, vocabulary)
    for node in range(len(trace.nodes)):
        mine = np.flatnonzero(dma["node"] == node)
        rows = np.flatnonzero(processor["node"] == node)
        tables = vocabulary.tables(trace.meta["plans"][node])
        work = _Work(trace, node, processor[rows], dma[mine], slots, tables)
        processor["message"][rows] = work.of_processor(processor[rows])
        host = mine[(dma["engine"][mine] == Engine.HOST_READ) | (dma["engine"][mine] == Engine.HOST_WRITE)]
        dma["message"][host] = work.at(dma["posted"][host])
        here = np.flatnonzero(hostbus["node"] == node)
        attribute(trace, links.messages, node, hostbus, here, dma[host], slots.at, tables)
    return dma, processor, hostbus


def _passed_on(trace: StoredTrace, dma: Any, vocabulary: Fragments) -> None:
    """Attribute transfers to host memory to the message of the packet that came last to where they lie."""
    for node in range(len(trace.nodes)):
        [table] = vocabulary.tables(trace.meta["plans"][node])
        mine = np.flatnonzero((dma["node"] == node) & np.isin(dma["engine"], (Engine.RECEIVE, Engine.HOST_WRITE)))
        came: dict[int, int] = {}
        when = np.where(dma["engine"][mine] == Engine.RECEIVE, dma["end"][mine], dma["posted"][mine])
        for row in mine[np.argsort(when, kind="stable")].tolist():
            place = (int(dma["local"][row]) - table.begin) // table.stride
            if not 0 <= place < table.count:
                continue
            if dma["engine"][row] == Engine.RECEIVE:
                came[place] = int(dma["message"][row])
            else:
                dma["message"][row] = came.get(place, -1)


def _transfers(trace: StoredTrace, links: Links) -> Any:
    """Transfers with their beginnings, packets and, where a packet names them, messages."""
    stored = trace.stored(b"DMA ")
    stored = stored[np.lexsort((stored["end"], stored["engine"], stored["node"]))]
    dma = np.zeros(len(stored), DMA)
    for name in ("node", "engine", "local", "host", "bytes", "posted", "end"):
        dma[name] = stored[name]
    dma["error"] = np.where(stored["engine"] == Engine.RECEIVE, stored["flags"] & 0xE, stored["flags"] >> 7)
    dma["begin"] = dma["posted"]
    host = (dma["engine"] == Engine.HOST_READ) | (dma["engine"] == Engine.HOST_WRITE)
    for node in range(len(trace.nodes)):
        for mine in (host, dma["engine"] == Engine.SEND):
            rows = np.flatnonzero((dma["node"] == node) & mine)
            rows = rows[np.argsort(dma["end"][rows], kind="stable")]
            dma["begin"][rows[1:]] = np.maximum(dma["posted"][rows[1:]], dma["end"][rows[:-1]])
    dma["message"] = dma["packet"] = -1
    packets, arrived = links.packets, links.arrived
    arrivals = trace.stored(b"PRX ")
    for node in range(len(trace.nodes)):
        sent = np.flatnonzero(packets["source"] == node)
        rows = np.flatnonzero((dma["node"] == node) & (dma["engine"] == Engine.SEND))
        number = np.cumsum(stored["flags"][rows] & FIRST) - 1
        known = (number >= 0) & (number < len(sent))
        dma["packet"][rows[known]] = sent[number[known]]
        took = np.flatnonzero((dma["node"] == node) & (dma["engine"] == Engine.RECEIVE))
        came = arrived[np.flatnonzero(arrivals["node"] == node)]
        taken = came[packets["verdict"][came] != 0][: len(took)]
        dma["packet"][took[: len(taken)]] = taken
    with_packet = dma["packet"] >= 0
    dma["message"][with_packet] = packets["message"][dma["packet"][with_packet]]
    return dma


def _stretches(trace: StoredTrace) -> Any:
    stored = trace.stored(b"PROC")
    stored = stored[np.argsort(stored["node"], kind="stable")]
    processor = np.zeros(len(stored), PROCESSOR)
    for name in ("node", "pc", "count", "stalled", "state"):
        processor[name] = stored[name]
    lengths = stored["slots"].astype(np.int64)
    ends = np.cumsum(lengths)
    for node in range(len(trace.nodes)):
        rows = np.flatnonzero(stored["node"] == node)
        if len(rows):
            ends[rows] -= ends[rows[0]] - lengths[rows[0]]
    processor["begin"], processor["end"] = ends - lengths, ends
    processor["message"] = -1
    return processor


class _Slots:
    """Requests by the slot in which they were placed, with the messages that they were for."""

    def __init__(self, trace: StoredTrace, links: Links, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        stored = trace.stored(b"SLOT")
        stored = stored[np.argsort(stored["time"], kind="stable")]
        self.times: dict[Any, list[int]] = defaultdict(list)
        self.messages: dict[Any, list[int]] = defaultdict(list)
        if isinstance(vocabulary, Channels):
            found = _by_envelope(stored, links, vocabulary)
        else:
            assert isinstance(vocabulary, Puts)
            found = _by_packets(stored, links, vocabulary)
        for row, message in zip(stored, found, strict=True):
            key = int(row["node"]), int(row["local_rank"]) * vocabulary.slots + int(row["slot"])
            self.times[key].append(int(row["time"]))
            self.messages[key].append(message)

    def at(self, node: int, slot: int, time: int) -> int:
        """The message of the request that lay in a slot at a time."""
        index = bisect_right(self.times.get((node, slot), []), time) - 1
        return self.messages[node, slot][index] if index >= 0 else -1


def _by_envelope(stored: Any, links: Links, vocabulary: Channels) -> Iterator[int]:
    """The message of each request: the next that its rank sends to that peer, or that such a receive
    got."""
    requests, messages = links.requests, links.messages
    sent: dict[Any, deque[int]] = defaultdict(deque)
    for message in messages[["source", "target", "id"]].tolist():
        sent[message[0], message[1]].append(message[2])
    wanted: dict[Any, deque[int]] = defaultdict(deque)
    for one in requests[requests["kind"] == RequestKind.RECEIVE][
        ["rank", "peer", "tag", "context", "message"]
    ].tolist():
        wanted[one[:4]].append(one[4])
    for row in stored:
        peer = -1 if row["peer"] == 0xFFFF else int(row["peer"])
        found: deque[int] | None = None
        if row["op"] in vocabulary.sends:
            found = sent.get((int(row["rank"]), peer))
        elif row["op"] in vocabulary.receives:
            found = wanted.get((int(row["rank"]), peer, int(row["tag"]), int(row["context"])))
        yield found.popleft() if found else -1


def _by_packets(stored: Any, links: Links, vocabulary: Puts) -> Iterator[int]:
    """The message of each request: that of its packets, which leave in the order of the requests."""
    packets = links.packets[(links.packets["head"] >= 0) & ~np.isin(links.packets["kind"], sorted(vocabulary.answers))]
    left = {
        int(node): deque(packets["message"][packets["source"] == node].tolist()) for node in np.unique(stored["node"])
    }
    for row in stored:
        mine = left[int(row["node"])]
        taken = [mine.popleft() for _ in range(min(vocabulary.packets(int(row["op"]), int(row["bytes"])), len(mine)))]
        yield taken[0] if taken else -1


class _Work:
    """The work of one NIC's processor over time: `slots` where its message changed, `found` the message
    from there on."""

    def __init__(
        self, trace: StoredTrace, node: int, processor: Any, dma: Any, slots: _Slots, tables: Sequence[Table]
    ) -> None:
        touches = trace.stored(b"TUCH")
        touches = touches[touches["node"] == node]
        packets = dma[dma["engine"] == Engine.RECEIVE]
        self.resets = self._scheduler(trace, processor, slots.vocabulary.scheduler)
        self.slots: list[int] = []
        self.found: list[int] = []
        buffers = next(table for table in tables if table.kind == Touch.BUFFER)
        self._follow(trace, node, touches, packets, slots, buffers)

    def _scheduler(self, trace: StoredTrace, processor: Any, name: str) -> Any:
        """Return when the processor began or came back to code of the scheduler itself, or waited."""
        pcs, inverse = np.unique(processor["pc"], return_inverse=True)
        functions = [trace.firmware.where(int(pc)).function for pc in pcs]
        scheduler = np.array([one == name or one.startswith(f"{name}.") for one in functions], bool)
        idle = processor["state"] != State.RUN
        return processor["begin"][scheduler[inverse] | idle] if len(pcs) else processor["begin"]

    def _follow(self, trace: StoredTrace, node: int, touches: Any, packets: Any, slots: _Slots, buffers: Table) -> None:
        begins = packets["begin"].tolist()
        numbers = ((packets["local"].astype(np.int64) - buffers.begin) // buffers.stride).tolist()
        times = trace.picoseconds(touches["slot"]).tolist() if len(touches) else []
        reset = np.searchsorted(self.resets, touches["slot"], side="right").tolist()
        held: dict[tuple[int, int], int] = {}  # (kind, index) -> message of a receive, a stage, an answer
        in_buffer: dict[int, int] = {}
        arrived = passed = 0
        current = -1
        for (kind, index, slot), time, resets in zip(
            touches[["kind", "index", "slot"]].tolist(), times, reset, strict=True
        ):
            if resets != passed:
                current, passed = -1, resets
            while arrived < len(begins) and begins[arrived] <= slot:
                in_buffer[numbers[arrived]] = int(packets["message"][arrived])
                arrived += 1
            if kind == Touch.SLOT:
                current = slots.at(node, index, time)
            elif kind == Touch.BUFFER:
                current = in_buffer.get(index, -1)
            elif current >= 0:
                held[kind, index] = current
            else:
                current = held.get((kind, index), -1)
            self.slots.append(slot)
            self.found.append(current)

    def at(self, slots: Any) -> Any:
        """The message that was worked on in each of these slots."""
        if not len(slots) or not self.slots:
            return np.full(len(slots), -1)
        index = np.searchsorted(self.slots, slots, side="right") - 1
        found = np.where(index >= 0, np.array(self.found)[np.maximum(index, 0)], -1)
        since = np.array(self.slots)[np.maximum(index, 0)]
        left = np.searchsorted(self.resets, slots, side="right") != np.searchsorted(self.resets, since, side="right")
        return np.where(left, -1, found)

    def of_processor(self, rows: Any) -> Any:
        """The message of each stretch: that at its last slot."""
        found = self.at(rows["end"] - 1)
        return np.where(rows["state"] == State.RUN, found, -1)
