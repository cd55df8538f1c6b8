"""Pairs of a send and the receive that it met.

A message is a send: the n-th from one rank to another has sequence n, and so has its envelope on
the wire (Header.sequence), for envelopes of a channel leave in the order of the sends. Messages of
the same source, tag and context cannot overtake each other, and receives take them in the order in
which they were posted, whatever wildcards they had; so the n-th of them went to the n-th receive at
that rank that got such a message. Sends to be cancelled and receives that got nothing do not count.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .schema import LINES, MESSAGES, REQUESTS, Protocol, RequestKind
from .stored import StoredTrace

CANCELLED = 255  # REQUESTS.error; other errors are `lanai_host.device.ErrorKind`'s values


def link(trace: StoredTrace) -> tuple[Any, Any]:
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
