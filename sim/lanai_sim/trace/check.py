"""Checks of the content of a trace. A file may be damaged or made by hand; what is read from it is
checked here, once.

Each function says what is wrong, or returns "".
"""

from collections.abc import Callable, Mapping
from typing import Any

from lanai_firmware.vocabulary import Touch

from .schema import BY_HOST, HOST_KINDS, Engine, RequestKind, State

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
    """Check the first chunk."""
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
    """Check one chunk's rows, after so many calls and requests."""
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
