"""Both ends of each packet, and the message that it belongs to.

The vocabulary says which role each packet type has, or that packets are puts (see `puts`), an
adapter's commands (see `commands`) or parts of messages (see `fragments`). Envelopes carry their message's
sequence in the channel. A PROMISE names a handle. The ASK for the body returns it and names a
receive entry, as an ACCEPT does, and the BODY comes to that entry. TAKEN and DROPPED answer the
channel's last UNPAID. Packets without a role belong to no message."""

from collections import defaultdict, deque
from typing import Any

import numpy as np

from lanai_firmware.lang import sizeof
from lanai_firmware.lang.types import layout
from lanai_firmware.programs.vocabulary import ENVELOPES, Channels, Commands, Credit, Fragments, Puts, Role
from lanai_hdl.machine import Verdict

from . import commands, fragments, puts
from .schema import PACKETS, Engine, Fault, Protocol
from .stored import StoredTrace

PROTOCOLS = {
    Role.EAGER: Protocol.EAGER,
    Role.UNPAID: Protocol.UNPAID,
    Role.PROMISE: Protocol.RENDEZVOUS,
    Role.ACCEPT: Protocol.RENDEZVOUS,
}
SOUND = int(Verdict.VALID)


def link(trace: StoredTrace, messages: Any) -> tuple[Any, Any]:
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


def field(headers: Any, struct: type, name: str) -> Any:
    """A member of the struct at the beginning of each packet, of many packets."""
    member = layout(struct).fields[name]
    at, size = member.offset, int(sizeof(member.kind))
    words = headers[:, at // 4].astype(np.int64)
    return words >> (32 - 8 * (at % 4 + size)) & ((1 << 8 * size) - 1)


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
        _attribute_channels(trace, vocabulary, messages, packets, headers)
    elif isinstance(vocabulary, Puts):
        puts.attribute(trace, vocabulary, messages, packets, headers)
    elif isinstance(vocabulary, Commands):
        commands.attribute(trace, vocabulary, messages, packets, headers)
    elif isinstance(vocabulary, Fragments):
        fragments.attribute(trace, vocabulary, messages, packets, headers)


def _attribute_channels(trace: StoredTrace, vocabulary: Channels, messages: Any, packets: Any, headers: Any) -> None:
    header = vocabulary.header
    packets["kind"], packets["channel"] = field(headers, header, "type"), field(headers, header, "channel")
    packets["kind"][packets["bytes"] < (vocabulary.shortest or int(sizeof(header)))] = 0
    packets["from_rank"] = packets["channel"] % max(trace.ranks, 1)
    known = {
        (int(m["source"]), int(m["target"]), int(m["sequence"])): int(m["id"])
        for m in messages[["source", "target", "sequence", "id"]]
    }
    rows = zip(*(field(headers, header, name).tolist() for name in ("tag", "sequence", "handle")), strict=True)
    follow = _Follow(trace, messages, known)
    for packet, (tag, sequence, handle) in zip(packets, rows, strict=True):
        target = int(packet["target"])
        ranks = trace.nodes[target] if 0 <= target < len(trace.nodes) else []
        local_rank = int(packet["channel"]) // max(trace.ranks, 1)
        if local_rank >= len(ranks) or (packet["fault"] == Fault.EXTRA and not packet["kind"]):
            continue
        packet["to_rank"] = ranks[local_rank]
        role = vocabulary.roles.get(int(packet["kind"]))
        if role is not None:
            packet["message"] = follow.message(packet, role, tag, sequence, handle)
    if vocabulary.credit is not None and all(map(vocabulary.credit.counted, trace.meta["plans"])):
        _credit(vocabulary.credit, packets, field(headers, header, vocabulary.credit.member))


def _credit(credit: Credit, packets: Any, words: Any) -> None:
    """Fill in the message slots that each packet takes and gives back at its arrival."""
    known = (packets["to_rank"] >= 0) & (packets["fault"] != Fault.DAMAGED) & (packets["fault"] != Fault.EXTRA)
    packets["paid"] = known & np.isin(packets["kind"], sorted(credit.pays)) & (packets["head"] >= 0)
    came = np.flatnonzero(known & (packets["arrival_head"] >= 0))
    told: dict[tuple[int, int], int] = {}
    for row in came[np.argsort(packets["arrival_head"][came], kind="stable")].tolist():
        packet, count = packets[row], int(words[row]) >> 16
        pair = int(packet["from_rank"]), int(packet["to_rank"])
        packet["given"] = ((count - told.get(pair, 0)) & 0xFFFF) + (int(packet["kind"]) in credit.returns)
        told[pair] = count


class _Follow:
    """The state of the protocol so far."""

    def __init__(self, trace: StoredTrace, messages: Any, known: dict[tuple[int, int, int], int]) -> None:
        self.node_of = trace.node_of
        self.messages = messages
        self.known = known
        self.last: dict[tuple[int, int], int] = {}  # sequence of a pair's last envelope
        self.promised: dict[tuple[int, int, int], int] = {}  # (sender, receiver, handle)
        self.asked: dict[tuple[int, int], int] = {}  # (receiver's node, its receive entry)
        self.unpaid: dict[tuple[int, int], int] = {}

    def message(self, packet: Any, role: Role, tag: int, sequence: int, handle: int) -> int:
        pair = (int(packet["from_rank"]), int(packet["to_rank"]))
        back = pair[1], pair[0]
        found = -1
        if role in ENVELOPES:
            found = self._envelope(packet, role, pair, sequence, handle)
        elif role == Role.ASK:
            found = self.promised.get((*back, handle), -1)
            self.asked[self.node_of(pair[0]), tag] = found
        elif role == Role.BODY:
            found = self.asked.get((int(packet["target"]), tag), -1)
        else:
            found = self.unpaid.get(back, -1)
            if role == Role.DROPPED and back in self.last:
                self.last[back] -= 1
        if found >= 0 and (role in ENVELOPES or role == Role.BODY):
            self.messages["arrived"][found] = max(self.messages["arrived"][found], packet["arrival_tail"])
        return found

    def _envelope(self, packet: Any, role: Role, pair: tuple[int, int], sequence: int, handle: int) -> int:
        last = self.last.get(pair, -1)
        full = last + 1 + ((sequence - last - 1 + 0x8000) & 0xFFFF) - 0x8000  # the nearest to the one expected
        self.last[pair] = max(last, full)
        found = self.known.get((*pair, full), -1)
        if found < 0:
            return -1
        message = self.messages[found]
        if message["left"] < 0 and packet["head"] >= 0:
            message["left"] = packet["head"]
        message["protocol"] = PROTOCOLS[role]
        if role == Role.PROMISE:
            self.promised[(*pair, handle)] = found
        elif role == Role.ACCEPT:
            self.asked[self.node_of(pair[1]), handle] = found
        elif role == Role.UNPAID:
            self.unpaid[pair] = found
        return found
