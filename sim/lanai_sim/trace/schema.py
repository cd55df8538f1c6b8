"""The content of a trace file: kinds of members, and the columns of each table.

A file is a zip, which `numpy.load` opens. Its members are numbered as the run wrote them: JSON texts, and rows
of one table. These are an .npy with one record, whose fields are the columns; `_diff` at the end of a name says
that the column has the differences from row to row, which `numpy.cumsum` adds up. All numbers are little-endian.

Host times are picoseconds; a NIC's times are slots. -1 says "none" or "not known".
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from lanai_firmware.vocabulary import Touch
from lanai_host.config import HostCost

from ..engines.declared import ROWS

VERSION = 9
BEGIN = b"PK\3\4"  # of a zip

META, BOOT, NAMES, END = (
    b"META",
    b"BOOT",
    b"NAME",
    b"END ",
)  # JSON: how it began, ... when the ranks did, [new names], how it ended
TEXTS = (META, BOOT, NAMES, END)


class HostKind(IntEnum):
    """An activity of a host's processor, apart from host work that has a price: that is numbered behind
    these, see `kind_of_work`."""

    OTHER = 0  # charged without a name: time between two samples of the CPU clock, say
    PIO_WRITE = 1  # until the bus has taken the last word
    PIO_READ = 2  # until the NIC has answered
    WAIT = 3  # for the NIC, or for a datagram
    SERVICE = 4  # a request to the simulator that took time and is none of these


# The names of all kinds by number. They are part of the format: a change of them, even by
# a new `HostCost`, changes VERSION.
HOST_KINDS = (*(kind.name for kind in HostKind), *(cost.name for cost in HostCost))


def kind_of_work(number: int) -> int:
    """Return the kind of the `HostCost` with this place among them."""
    return len(HostKind) + number


class RequestKind(IntEnum):
    """The kind of a request from the MPI library to its device."""

    SEND = 1
    RECEIVE = 2
    RECEIVE_TAKEN = 3  # of a message that a matched probe took


class Protocol(IntEnum):
    """The protocol of a message (NP-20, NP-21, NP-24; T3-09, T3-10, T3-12; MB-12, MB-13)."""

    UNKNOWN = 0  # its envelope has not left, or there is no NIC
    EAGER = 1  # on full credit
    UNPAID = 2  # without credit
    RENDEZVOUS = 3  # announced; the receiver asked for its body
    SHORT = 4  # in the slot of its pair
    LONG = 5  # its header in the slot; the receiver told where its bytes shall go
    SHORT_SYNCHRONOUS = 6  # these two, and the receiver told when the message had met a receive
    LONG_SYNCHRONOUS = 7
    FIFO = 8  # appended to the receiver's FIFO
    REMOTE_WRITE = 9  # written to the memory of a receive that the sender knew
    INLINE = 10  # in a control packet
    SLOT = 11  # in a slot of the receiver's segment
    CHUNKS = 12  # announced; the receiver asked for it, and it came in chunks
    DATAGRAM = 13  # without a NIC: on its sender's line
    TO_ITSELF = 14  # a rank's message to itself, which its device keeps in memory
    PACKETS = 15  # cut into packets, which the daemons of both nodes pass on
    WITHIN_NODE = 16  # from rank to rank of one node, without a packet
    MATCHED = 17  # in one packet, which the receiver's NIC matches


class Engine(IntEnum):
    """DMA engines of a NIC."""

    HOST_READ = 0  # host memory to SRAM
    HOST_WRITE = 1  # SRAM to host memory
    SEND = 2  # SRAM to link: one descriptor, that is one piece of a packet
    RECEIVE = 3  # link to SRAM: one packet


class State(IntEnum):
    """The state of a NIC's processor."""

    RUN = 0
    WAIT = 1  # in the wait register
    HELD = 2  # not running: before boot, in reset, or trapped


class Fault(IntEnum):
    """Packet.fault, as seen from both ends of the fabric."""

    NONE = 0
    LOST = 1  # never arrived
    DAMAGED = 2  # arrived, and its verdict is not sound
    EXTRA = 3  # arrived and was never sent: a copy, or damaged beyond recognition


T, N = "<i8", "<i4"  # a time, a number

# Tables as they are in the file, by tag.
STORED: dict[bytes, Any] = {
    b"CALL": [("id", N), ("rank", N), ("parent", N), ("name", "<u2"), ("peer", N), ("tag", N), ("context", N),
              ("bytes", T), ("begin", T)],
    b"CEND": [("id", N), ("end", T)],
    b"SITE": [("call", N), ("site", N)],
    b"HOST": [("rank", N), ("call", N), ("kind", "u1"), ("reason", "<u2"), ("peer", N), ("tag", N), ("count", N),
              ("offset", T), ("bytes", N), ("begin", T), ("end", T)],
    b"RQST": [("id", N), ("rank", N), ("call", N), ("kind", "u1"), ("mode", "u1"), ("peer", N), ("tag", N),
              ("context", N), ("bytes", T), ("posted", T)],
    b"RDON": [("id", N), ("source", N), ("tag", N), ("length", T), ("error", "u1"), ("completed", T)],
    b"LINE": [("request", N), ("begin", T), ("end", T)],
    b"ROOM": [("rank", N), ("peer", N), ("name", "<u2"), ("change", N), ("time", T)],
    b"SLOT": [("node", "<u2"), ("local_rank", "u1"), ("slot", "u1"), ("op", "u1"), ("rank", N), ("call", N),
    ("operation", N),
              ("peer", N), ("tag", N), ("context", N), ("bytes", T), ("time", T)],
}  # fmt: skip
STORED |= {tag: [("node", "<u2"), *rows.columns] for tag, rows in ROWS.items()}
STORED = {tag: np.dtype(columns) for tag, columns in STORED.items()}

DIFF = "_diff"


def member(number: int, tag: bytes) -> str:
    """Return the name of a member."""
    return f"{number:05}.{tag.decode().strip()}.{'json' if tag in TEXTS else 'npy'}"


def record(tag: bytes, rows: int) -> Any:
    """Return the type of a member's record: a field for each column of so many rows. Those of signed numbers grow,
    most of them; they are stored as differences, and their names end in DIFF."""
    kinds = [(name, STORED[tag][name]) for name in STORED[tag].names]
    return np.dtype([(f"{name}{DIFF * (kind.kind == 'i')}", kind.base, (rows, *kind.shape)) for name, kind in kinds])


# Tables as `Trace` gives them, with what follows from others filled in.
CALLS = np.dtype([*STORED[b"CALL"].descr, ("end", T), ("site", N)])
HOST = STORED[b"HOST"]
REQUESTS = np.dtype([*STORED[b"RQST"].descr, ("completed", T), ("source", N), ("matched_tag", N), ("length", T),
                     ("error", "u1"), ("message", N)])  # fmt: skip
MESSAGES = np.dtype([("id", N), ("source", N), ("target", N), ("tag", N), ("context", N), ("sequence", N),
                     ("bytes", T), ("protocol", "u1"), ("send_request", N), ("receive_request", N), ("send_call", N),
                     ("receive_call", N), ("posted", T), ("received", T), ("left", T), ("arrived", T), ("sent", T),
                     ("completed", T)])  # fmt: skip
ROOM = np.dtype([("room", N), ("rank", N), ("peer", N), ("node", N), ("change", N), ("time", T)])
LINES = np.dtype([("message", N), ("begin", T), ("end", T)])
PACKETS = np.dtype([("id", N), ("source", N), ("target", N), ("from_rank", N), ("to_rank", N), ("kind", "u1"),
                    ("channel", N), ("bytes", N), ("message", N), ("fault", "u1"), ("verdict", "u1"), ("head", T),
                    ("tail", T), ("arrival_head", T), ("arrival_tail", T), ("paid", N), ("given", N)])  # fmt: skip
DMA = np.dtype([("node", N), ("engine", "u1"), ("error", "u1"), ("local", "<u4"), ("host", "<u4"), ("bytes", N),
                ("posted", T), ("begin", T), ("end", T), ("message", N), ("packet", N)])  # fmt: skip
PROCESSOR = np.dtype([("node", N), ("begin", T), ("end", T), ("pc", "<u4"), ("count", N), ("stalled", N), ("state",
"u1"),
                      ("message", N)])  # fmt: skip
LBUS = np.dtype([("node", N), ("begin", T), ("slots", N), ("used", N, (5,)), ("waited", N, (5,))])
HOSTBUS = np.dtype([("node", N), ("master", "u1"), ("write", "u1"), ("address", "<u4"), ("bytes", N), ("begin", T),
                    ("end", T), ("call", N), ("message", N)])  # fmt: skip
BLOCKS = np.dtype([("node", N), ("signal", N), ("slot", T)])

LBUS_USERS = (
    "host DMA",
    "PIO",
    "receive DMA",
    "send DMA",
    "processor",
)  # of LBUS.used and .waited, in the order of the gateware's probe
BY_NIC, BY_HOST = 0, 1  # HOSTBUS.master


# Checks of the content of a trace. A file may be damaged or made by hand; what is read from it is
# checked here, once.
#
# Each function says what is wrong, or returns "".

MOST_RANKS = 1 << 20
MOST_TIME = 1 << 60
MOST_ROWS = (1 << 31) - 1
MOST_WORDS = 1 << 24  # of a packet

NUMBERS = {"ranks": (1, MOST_RANKS), "ranks_per_node": (1, MOST_RANKS), "slot_khz": (1, 1 << 40)}
LAST = {  # of numbers that stand for something: by table and column
    (b"HOST", "kind"): len(HOST_KINDS) - 1,
    (b"RQST", "kind"): max(RequestKind),
    (b"DMA ", "engine"): max(Engine),
    (b"PROC", "state"): max(State),
    (b"TUCH", "kind"): max(Touch),
    (b"HBUS", "master"): BY_HOST,
    (b"PTX ", "words"): MOST_WORDS,
    (b"PRX ", "words"): MOST_WORDS,
}
TIMES = ("begin", "end", "posted", "completed", "time", "head", "tail", "slot")


def meta(values: Any) -> str:
    """Check the first member."""
    if not isinstance(values, dict):
        return "it is not a table of values"
    for name, (first, last) in NUMBERS.items():
        if not is_number(values.get(name), first, last):
            return f"{name} is {values.get(name)!r:.40}"
    ranks: int = values["ranks"]
    nodes: Any = values.get("nodes")
    if not _lists(nodes, lambda rank: is_number(rank, 0, ranks - 1)):
        return f"nodes is {nodes!r:.40}"
    routes = values.get("routes", [])
    if not _lists(routes, lambda route: is_number(route, 0, (1 << 32) - 1)) or len(routes) > len(nodes):
        return f"routes is {routes!r:.40}"
    if any(len(row) > len(nodes) for row in routes):
        return f"routes is {routes!r:.40}"
    plans = values.get("plans", [])
    if not isinstance(plans, list) or len(plans) != len(nodes) or not all(isinstance(plan, dict) for plan in plans):
        return f"plans is {plans!r:.40}"
    if not isinstance(values.get("device", ""), str):
        return f"device is {values['device']!r:.40}"
    command = values.get("command", [])
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return f"command is {command!r:.40}"
    blocks = values.get("blocks", [])
    if not isinstance(blocks, list) or not all(_like(row, (str, str, str)) for row in blocks):
        return f"blocks is {blocks!r:.40}"
    if not isinstance(values.get("config", {}), dict):
        return f"config is {values['config']!r:.40}"
    return _firmware(values.get("firmware", {}))


def _firmware(values: Any) -> str:
    """Check the description of an image that `firmware.describe` makes, or an empty table."""
    if not isinstance(values, dict):
        return f"firmware is {values!r:.40}"
    files = values.get("files", {})
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        return "firmware's files are not texts"
    for name, kinds in (("places", (int, str, str, int, str)), ("functions", (str, int, int))):
        table = values.get(name, [])
        if not isinstance(table, list) or not all(_like(row, kinds) for row in table):
            return f"firmware's {name} are not rows of {len(kinds)}"
    return ""


def _like(row: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(row, list) and len(row) == len(kinds) and all(map(isinstance, row, kinds))


def boot(values: Any) -> str:
    if not isinstance(values, dict) or set(values) != {"started"} or not is_number(values["started"], 0, MOST_TIME):
        return f"it is {values!r:.40}"
    return ""


def names(values: Any) -> str:
    return "" if isinstance(values, list) and all(isinstance(one, str) for one in values) else f"it is {values!r:.40}"


def end(values: Any, ranks: int) -> str:
    if not isinstance(values, dict):
        return f"it is {values!r:.40}"
    clocks, lost = values.get("clocks"), values.get("lost", [])
    if not isinstance(values.get("report", ""), str):
        return f"report is {values['report']!r:.40}"
    if not isinstance(clocks, list) or len(clocks) != ranks or not all(is_number(one, 0, MOST_TIME) for one in clocks):
        return f"clocks is {clocks!r:.40}"
    return names(lost) and f"lost is {lost!r:.40}"


def rows(tag: bytes, table: Any, about: Mapping[str, Any], calls: int, requests: int) -> str:
    """Check one member's rows, after so many calls and requests."""
    if not len(table):
        return ""
    bounds = {"rank": (0, about["ranks"] - 1), "node": (0, len(about["nodes"]) - 1)}
    if tag == b"BLCK":
        bounds["signal"] = (0, len(about.get("blocks", [])) - 1)
    if tag != b"CALL":
        bounds["call"] = (-1, calls - 1)
    if tag == b"SITE":
        bounds |= {"call": (0, calls - 1), "site": (0, MOST_ROWS)}
    if tag == b"CEND":
        bounds["id"] = (0, calls - 1)
    elif tag == b"RDON":
        bounds["id"] = (0, MOST_ROWS)  # a request and its end are written together, the end first
    elif tag == b"LINE":
        bounds["request"] = (0, MOST_ROWS)  # likewise
    elif tag == b"ROOM":
        bounds["peer"] = bounds["rank"]
    for name in table.dtype.names:
        first, last = bounds.get(name, (-1, MOST_TIME) if name in TIMES else (None, LAST.get((tag, name))))
        column = table[name]
        if (first is not None and int(column.min()) < first) or (last is not None and int(column.max()) > last):
            return f"{name} is {column.min()} to {column.max()}"
    if tag in (b"CALL", b"RQST"):
        return _numbered(tag, table, calls if tag == b"CALL" else requests)
    return ""


def _numbered(tag: bytes, table: Any, known: int) -> str:
    """Calls and requests are numbered as they come. A call's parent came before it."""
    if table["id"][0] != known or (table["id"][1:] != table["id"][:-1] + 1).any():
        return f"its numbers do not begin with {known}, or not follow each other"
    if tag == b"CALL" and ((table["parent"] >= table["id"]) | (table["parent"] < -1)).any():
        return "a call is within one that came later"
    return ""


def is_number(value: Any, first: int, last: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and first <= value <= last


def _lists(value: Any, good: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(isinstance(row, list) and all(map(good, row)) for row in value)
