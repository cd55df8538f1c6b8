"""A trace: `Trace.open(path)` gives numpy structured arrays, each row of which names the rows of
others that it belongs to."""

from collections import defaultdict, deque
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from lanai_firmware.vocabulary import Channels, Commands, Fragments, Puts, Room, Vocabulary
from lanai_hdl.machine import Verdict

from ..tables import Library, frame
from . import channels, commands, requests, tidy, work
from . import channels as fragments
from . import tidy as rooms
from .schema import LINES, MESSAGES, PACKETS, REQUESTS, Engine, Fault, Protocol, RequestKind
from .stored import StoredTrace
from .work import Links

if TYPE_CHECKING:
    import pandas
    import polars

# Pairs of a send and the receive that it met.
#
# A message is a send: the n-th from one rank to another has sequence n, and so has its envelope on
# the wire (Header.sequence), for envelopes of a channel leave in the order of the sends. Messages of
# the same source, tag and context cannot overtake each other, and receives take them in the order in
# which they were posted, whatever wildcards they had; so the n-th of them went to the n-th receive at
# that rank that got such a message. Sends to be cancelled and receives that got nothing do not count.

CANCELLED = 255  # REQUESTS.error; other errors are `lanai_host.device.ErrorKind`'s values


def link_messages(trace: StoredTrace) -> tuple[Any, Any]:
    """Return requests and messages, each of which names the other. The columns that come from packets are not
    filled in yet."""
    requests = _requests(trace)
    sends = np.flatnonzero((requests["kind"] == RequestKind.SEND) & (requests["error"] != CANCELLED))
    messages = np.zeros(len(sends), MESSAGES)
    messages["id"] = np.arange(len(sends))
    messages["send_request"] = sends
    requests["message"][sends] = messages["id"]
    for column, source in (("source", "rank"), ("target", "peer"), ("tag", "tag"), ("context", "context"),
                           ("bytes", "bytes"), ("send_call", "call"), ("posted", "posted"),
                           ("sent", "completed")):  # fmt: skip
        messages[column] = requests[source][sends]
    messages["sequence"] = _count(zip(messages["source"].tolist(), messages["target"].tolist(), strict=True))
    messages["protocol"][messages["source"] == messages["target"]] = Protocol.TO_ITSELF
    for column in ("receive_request", "receive_call", "received", "left", "arrived", "completed"):
        messages[column] = -1
    _match(requests, messages)
    return requests, messages


def _requests(trace: StoredTrace) -> Any:
    stored, ends = trace.stored(b"RQST"), trace.stored(b"RDON")
    requests = np.zeros(len(stored), REQUESTS)
    for name in stored.dtype.names:
        requests[name] = stored[name]
    for column in ("completed", "source", "matched_tag", "length", "message"):
        requests[column] = -1
    ends = ends[ends["id"] < len(requests)]
    for column, source in (("completed", "completed"), ("source", "source"), ("matched_tag", "tag"),
                           ("length", "length"), ("error", "error")):  # fmt: skip
        requests[column][ends["id"]] = ends[source]
    return requests


def _count(keys: Iterable[Any]) -> list[int]:
    """Return for each key the number of equal keys before it."""
    seen: dict[Any, int] = {}
    counts = []
    for key in keys:
        counts.append(seen.get(key, 0))
        seen[key] = counts[-1] + 1
    return counts


def link_lines(trace: StoredTrace, requests: Any, messages: Any) -> Any:
    """Datagrams of messages that no NIC carried. Fills in the protocol of `messages`."""
    stored = trace.stored(b"LINE")
    stored = stored[stored["request"] < len(requests)]
    lines = np.zeros(len(stored), LINES)
    lines["message"] = requests["message"][stored["request"]]
    lines["begin"], lines["end"] = stored["begin"], stored["end"]
    lines = lines[lines["message"] >= 0]
    messages["protocol"][lines["message"]] = Protocol.DATAGRAM
    return lines


def _match(requests: Any, messages: Any) -> None:
    done = (requests["kind"] != RequestKind.SEND) & (requests["completed"] >= 0) & (requests["error"] != CANCELLED)
    receives = np.flatnonzero(done & (requests["source"] >= 0))
    got = requests[receives]
    columns = (got["source"], got["rank"], got["context"], got["matched_tag"])
    keys = list(zip(*(column.tolist() for column in columns), strict=True))
    waiting = {
        (*key, number): int(receive) for key, number, receive in zip(keys, _count(keys), receives.tolist(), strict=True)
    }
    columns = (messages["source"], messages["target"], messages["context"], messages["tag"])
    keys = list(zip(*(column.tolist() for column in columns), strict=True))
    for message, (key, number) in enumerate(zip(keys, _count(keys), strict=True)):
        receive = waiting.get((*key, number))
        if receive is None:
            continue
        requests["message"][receive] = message
        request, row = requests[receive], messages[message]
        row["receive_request"], row["receive_call"] = receive, request["call"]
        row["received"], row["completed"] = request["posted"], request["completed"]


# Both ends of each packet, and the message that it belongs to.
#
# The vocabulary says how messages are known: packets have roles in channels (see `channels`), are puts (see `puts`), an
# adapter's commands (see `commands`) or parts of messages (see `fragments`).

SOUND = int(Verdict.VALID)


def link_packets(trace: StoredTrace, messages: Any) -> tuple[Any, Any]:
    """Packets, and for each row of PRX the row of `Trace.packets`. Fills in the columns of
    `messages` that come from packets."""
    out, arrivals = trace.stored(b"PTX "), trace.stored(b"PRX ")
    out = out[np.argsort(out["head"], kind="stable")]
    packets, arrived = _join(trace, out, arrivals)
    _verdicts(trace, packets, arrivals, arrived)
    order = np.argsort(
        packets["head"].clip(min=0) + np.where(packets["head"] < 0, packets["arrival_head"], 0), kind="stable"
    )
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    headers = np.concatenate([out["header"], arrivals["header"][_extra(arrived, len(out))]])[order]
    packets, arrived = packets[order], place[arrived] if len(arrived) else arrived
    packets["id"] = np.arange(len(packets))
    _attribute(trace, messages, packets, headers)
    return packets, arrived


def _extra(arrived: Any, sent: int) -> Any:
    return np.flatnonzero(arrived >= sent)


def _join(trace: StoredTrace, out: Any, arrivals: Any) -> tuple[Any, Any]:
    """Packets leave and arrive unchanged and, on one path, in order. `arrived`: which packet each
    arrival is."""
    routes = {(a, route): b for a, row in enumerate(trace.meta["routes"]) for b, route in enumerate(row)}
    packets = np.zeros(len(out), PACKETS)
    packets["source"], packets["bytes"] = out["node"], out["words"] * 4
    targets = [routes.get((int(a), int(route)), -1) for a, route in zip(out["node"], out["route"], strict=True)]
    packets["target"] = targets
    packets["head"], packets["tail"] = out["head"], out["tail"]
    packets["arrival_head"] = packets["arrival_tail"] = -1
    packets["fault"] = Fault.LOST
    waiting: dict[Any, deque[int]] = defaultdict(deque)
    for row, (target, words, header) in enumerate(zip(targets, out["words"], out["header"], strict=True)):
        waiting[target, int(words), header.tobytes()].append(row)
    arrived = np.empty(len(arrivals), np.int64)
    extra = []
    for row in np.argsort(arrivals["head"], kind="stable").tolist():
        one = arrivals[row]
        queue = waiting.get((int(one["node"]), int(one["words"]), one["header"].tobytes()))
        while queue and out["head"][queue[0]] + 2 * LOST_AFTER < one["head"]:
            queue.popleft()
        if queue and out["head"][queue[0]] <= one["head"]:
            packet = queue.popleft()
            packets["arrival_head"][packet], packets["arrival_tail"][packet] = one["head"], one["tail"]
            packets["fault"][packet] = Fault.NONE
            arrived[row] = packet
        else:
            extra.append(row)
    strays = np.zeros(len(extra), PACKETS)
    for number, row in enumerate(sorted(extra)):
        one = arrivals[row]
        arrived[row] = len(out) + number
        stray = strays[number]
        stray["source"], stray["target"], stray["bytes"] = -1, one["node"], one["words"] * 4
        stray["head"] = stray["tail"] = -1
        stray["arrival_head"], stray["arrival_tail"], stray["fault"] = one["head"], one["tail"], Fault.EXTRA
    return np.concatenate([packets, strays]), arrived


LOST_AFTER = 1 << 40  # slots


def _verdicts(trace: StoredTrace, packets: Any, arrivals: Any, arrived: Any) -> None:
    """The receive DMA takes packets in the order in which they came; what it drops unread has no
    verdict."""
    stored = trace.stored(b"DMA ")
    taken = stored[stored["engine"] == Engine.RECEIVE]
    for node in range(len(trace.nodes)):
        mine = np.flatnonzero(arrivals["node"] == node)
        place = 0
        for one in taken[taken["node"] == node]:
            while (
                place < len(mine)
                and arrivals["tail"][mine[place]] < one["posted"]
                and _whole(one)
                and (arrivals["words"][mine[place]] * 4 != one["bytes"])
            ):
                place += 1
            if place == len(mine):
                break
            packet = arrived[mine[place]]
            packets["verdict"][packet] = one["flags"]
            if int(one["flags"]) & ~int(Verdict.CHECKED) != SOUND and packets["fault"][packet] == Fault.NONE:
                packets["fault"][packet] = Fault.DAMAGED
            place += 1


def _whole(one: Any) -> bool:
    return not int(one["flags"]) & int(Verdict.OVERRUN | Verdict.TRUNCATED)


def _attribute(trace: StoredTrace, messages: Any, packets: Any, headers: Any) -> None:
    """The ranks at both ends, and the message."""
    packets["to_rank"], packets["message"] = -1, -1
    vocabulary = trace.vocabulary
    if isinstance(vocabulary, Channels):
        channels.attribute_channels(trace, vocabulary, messages, packets, headers)
    elif isinstance(vocabulary, Puts):
        requests.attribute(trace, vocabulary, messages, packets, headers)
    elif isinstance(vocabulary, Commands):
        commands.attribute(trace, vocabulary, messages, packets, headers)
    elif isinstance(vocabulary, Fragments):
        fragments.attribute_fragments(trace, vocabulary, messages, packets, headers)
    if vocabulary is not None:
        _within_nodes(trace, vocabulary, messages)


def _within_nodes(trace: StoredTrace, vocabulary: Vocabulary, messages: Any) -> None:
    """Name the way of messages that leave their node in no packet."""
    local = [vocabulary.local(plan) for plan in trace.meta["plans"]]
    node = np.array(messages["source"]) // int(trace.meta["ranks_per_node"])
    here = node == messages["target"] // int(trace.meta["ranks_per_node"])
    here &= np.isin(node, np.flatnonzero(local)) & (messages["protocol"] == Protocol.UNKNOWN)
    messages["protocol"][here] = Protocol.WITHIN_NODE


class Trace(StoredTrace):
    """A trace: the content of its file, and what follows from it."""

    @cached_property
    def requests(self) -> Any:
        """Sends and receives as the MPI library asked its device for them; `id` is the row."""
        return self._links.requests

    @cached_property
    def messages(self) -> Any:
        """Messages; `id` is the row."""
        return self._links.messages

    @cached_property
    def lines(self) -> Any:
        """The way of each message that no NIC carried: from leaving to arrival."""
        return self._links.lines

    @cached_property
    def packets(self) -> Any:
        """Packets, both their ends; `id` is the row."""
        return self._links.packets

    @cached_property
    def rooms(self) -> list[Room]:
        """Return the kinds of room that `room` counts, by number: credit, places of a ring, and the like."""
        return rooms.known(self)

    @cached_property
    def room(self) -> Any:
        """Room at receivers that senders have taken (`change` > 0) or got back, by time."""
        return rooms.changes(self, self.rooms, self.packets)

    @cached_property
    def dma(self) -> Any:
        """Transfers of the DMA engines, by node, engine and time."""
        return self._nic[0]

    @cached_property
    def processor(self) -> Any:
        """The activity of each NIC's processor: stretches that follow each other without a gap, by node
        and time."""
        return self._nic[1]

    @cached_property
    def hostbus(self) -> Any:
        """Transactions on each node's host bus."""
        return self._nic[2]

    @overload
    def frame(self, table: str, library: Literal["pandas"]) -> "pandas.DataFrame": ...
    @overload
    def frame(self, table: str, library: Literal["polars"]) -> "polars.DataFrame": ...
    @overload
    def frame(self, table: str, library: Library | None = None) -> Any: ...
    def frame(self, table: str, library: Library | None = None) -> Any:
        """Return a table as a frame of pandas or polars, with times in microseconds since the ranks began and names in
        place of numbers.

        Args:
            table: its name, such as "messages".
            library: "pandas" or "polars"; None: pandas if it is installed, else polars.
        """
        return frame(tidy.tidy(self, table), library)

    @cached_property
    def _links(self) -> Links:
        found, rows = link_messages(self)
        # Both fill in more columns of the messages.
        return Links(found, rows, link_lines(self, found, rows), *link_packets(self, rows))

    @cached_property
    def _nic(self) -> tuple[Any, Any, Any]:
        return work.link(self, self._links)
