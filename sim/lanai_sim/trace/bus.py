"""The causes of the transactions on a node's host bus: the host's accesses belong to calls, the NIC's to
messages. `hostbus` is the table `Trace.hostbus`, in which rows are filled in."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanai_firmware.vocabulary import Table, Touch
from lanai_hdl.machine import SRAM_HOST

from .schema import BY_HOST, HostKind
from .stored import StoredTrace

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
