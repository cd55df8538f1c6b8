"""Both ends of each packet, and the message that it belongs to.

The vocabulary says how messages are known: packets have roles in channels (see `channels`), are puts (see `puts`), an
adapter's commands (see `commands`) or parts of messages (see `fragments`)."""

from collections import defaultdict, deque
from typing import Any

import numpy as np

from lanai_firmware.vocabulary import Channels, Commands, Fragments, Puts, Vocabulary
from lanai_hdl.machine import Verdict

from . import channels, commands, fragments, puts
from .schema import PACKETS, Engine, Fault, Protocol
from .stored import StoredTrace

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
        channels.attribute(trace, vocabulary, messages, packets, headers)
    elif isinstance(vocabulary, Puts):
        puts.attribute(trace, vocabulary, messages, packets, headers)
    elif isinstance(vocabulary, Commands):
        commands.attribute(trace, vocabulary, messages, packets, headers)
    elif isinstance(vocabulary, Fragments):
        fragments.attribute(trace, vocabulary, messages, packets, headers)
    if vocabulary is not None:
        _within_nodes(trace, vocabulary, messages)


def _within_nodes(trace: StoredTrace, vocabulary: Vocabulary, messages: Any) -> None:
    """Name the way of messages that leave their node in no packet."""
    local = [vocabulary.local(plan) for plan in trace.meta["plans"]]
    node = np.array(messages["source"]) // int(trace.meta["ranks_per_node"])
    here = node == messages["target"] // int(trace.meta["ranks_per_node"])
    here &= np.isin(node, np.flatnonzero(local)) & (messages["protocol"] == Protocol.UNKNOWN)
    messages["protocol"][here] = Protocol.WITHIN_NODE
