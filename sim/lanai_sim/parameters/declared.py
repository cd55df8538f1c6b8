"""Declarations of a configuration's members, read from its class: their range, its choices, its meaning."""

import inspect
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cache
from io import StringIO
from typing import Any

from lanai_hdl.errors import UserError
from lanai_host.config import HostCost

from ..units import format_time

# Units of parameters, and the meanings of those whose class says nothing beside their declaration.
#
# Names are as `listing` has them; a name without a dot in front of it counts in every table.

PS, US, BYTES, SLOTS, CLOCKS, PAGES = "ps", "us", "bytes", "slots", "bus clocks", "pages"

UNITS: Mapping[str, str] = {
    **{f"nic.{name}": "kHz" for name in ("slot_khz", "host_bus_khz")},
    "nic.link_kbytes": "kB/s",
    **{f"nic.{name}": BYTES for name in ("sram_size", "max_burst", "pio_line")},
    **{f"nic.{name}": SLOTS for name in ("link_latency", "blocked_slots", "remote.stream_slots")},
    "nic.rx_fifo": "flits",
    "nic.host_bus_bits": "bits",
    **{
        f"nic.{name}": CLOCKS
        for name in ("read_setup", "write_setup", "pio_read_setup", "pio_write_setup", "latency_timer", "pio_turn")
    },
    **{f"nic.remote.{name}": BYTES for name in ("payload", "stream_bytes")},
    **{f"ideal.{name}": PS for name in ("latency", "byte_time")},
    **{f"firmware.{name}": BYTES for name in ("inline_bytes", "eager_limit", "unpaid_limit")},
    "firmware.retry_cycles": "cycles",
    **{f"ccu.{name}": BYTES for name in ("packet", "datagram", "system_buffer")},
    **{f"ccu.{name}": US for name in ("ack_timer", "timeout", "work", "present", "away")},
    **{f"mbcf.{name}": BYTES for name in ("ask_from", "alltoall", "direct", "first", "inline", "record")},
    **{f"mbcf.{name}": PAGES for name in ("fifo_pages", "request_pages")},
    "mbcf.timeout": US,
    **{f"sci.{name}": BYTES for name in ("eager", "chunk", "min_block", "longest_get")},
    **{f"t3d.{name}": BYTES for name in ("short", "private", "alignment")},
    "t3d.reply_pages": PAGES,
    "host.pio_threshold": BYTES,
    "host.pinned_cache_pages": PAGES,
    "host.pages_per_entry": PAGES,
}

WITHOUT_UNIT = ("cpu_scale", "ask_first", "host_matching", "pio_when_empty", "semaphore", "queue")
NO_UNIT = frozenset(f"host.{name}" for name in WITHOUT_UNIT)  # others: ps

MEANINGS: Mapping[str, str] = {
    "nic.sram_size": "the NIC's memory",
    "nic.link_kbytes": "one direction of a link",
    "nic.rx_fifo": "the link receiver's FIFO",
    "nic.hdma_queue": "starts that the host DMA engine holds",
    "nic.send_queue": "starts that the send DMA engine holds",
    "nic.recv_queue": "packets that the receive DMA engine holds",
    "nic.completions": "ends that each engine holds until firmware has read them",
    "nic.host_bus_khz": "the host bus",
    "nic.host_bus_bits": "width of the host bus",
    "nic.pio_read_setup": "until a PIO read's data, beyond the NIC's own time",
    "nic.pio_write_setup": "before a PIO write's first word of each line",
    "nic.write_setup": "before a write burst's first word: arbitration, address",
    "host.unpin_page": "one page unlocked",
    "nic.blocked_action": "the fate of a packet that has waited too long",
    "firmware.any_receives": "receives from any source that an endpoint may have posted",
    "firmware.buffers": "buffers for packets that come in",
    "firmware.stages": "buffers for packets that go out",
    "firmware.eager_limit": "longest message that is sent without being asked for",
    "firmware.unpaid_limit": "longest message that is sent without credit",
    "firmware.ack_slots": "slots of acknowledgements that the NIC writes for the host",
}


WHOLE_RANGE = re.compile(r"must be a(?: whole)? number from ([\d,.]+) to ([\d,.]+)")
ONE_OF = re.compile(r"must be one of (.*)$")
NOT_POWER = "must be a power of two"


@dataclass(frozen=True)
class Parameter:
    """One member of a configuration.

    Attributes:
        name: with its table, such as "nic.link_kbytes".
        default: of the common testbed, or of a table's first preset.
        low, high: of a number, if others have their defaults.
        choices: of a text.
        powers: it must be a power of two.
    """

    name: str
    unit: str
    default: Any
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    powers: bool = False

    @property
    def range(self) -> str:
        """The values that it may have, in words."""
        if self.choices:
            return ", ".join(self.choices)
        if self.low is None or self.high is None:
            return ""
        return f"{self.low:,} to {self.high:,}" + (", a power of 2" if self.powers else "")

    @property
    def shown(self) -> str:
        """The default as a table shows it."""
        if self.unit == PS and self.default:
            return f"{self.default} ({format_time(self.default)})"
        return str(self.default.value if isinstance(self.default, Enum) else self.default)


def members(table: str, config: Any) -> list[Parameter]:
    """Return the members of a dataclass whose values are plain. `table`: its name."""
    found = []
    meanings = _meanings(type(config))
    for field in fields(config):
        default, name = getattr(config, field.name), f"{table}.{field.name}"
        if isinstance(default, int | float | str | Enum):
            meaning = MEANINGS.get(name) or meanings.get(field.name) or _cost(field.name)
            found.append(Parameter(name, _unit(name), default, meaning, **_values(config, field.name, default)))
    return found


def _unit(name: str) -> str:
    return UNITS.get(name) or (PS if name.startswith("host.") and name not in NO_UNIT else "")


def _values(config: Any, name: str, default: Any) -> dict[str, Any]:
    """Return the range of a member, as its class tells it when it refuses a value that cannot be."""
    if isinstance(default, Enum) and not isinstance(default, int):
        return {"choices": tuple(str(one.value) for one in type(default))}
    if isinstance(default, str):
        said = ONE_OF.search(_refusal(config, name, "?"))
        return {"choices": tuple(said[1].split(", "))} if said else {}
    said = WHOLE_RANGE.search(_refusal(config, name, -1))
    if said is None:
        return {"low": default, "high": default}
    low, high = (float(word.replace(",", "")) for word in said.groups())
    if not isinstance(default, float):
        low, high = int(low), int(high)
    return {"low": low, "high": high, "powers": high >= 4 and NOT_POWER in _refusal(config, name, 3 * max(1, int(low)))}


def _refusal(config: Any, name: str, value: Any) -> str:
    try:
        replace(config, **{name: value})
    except UserError as error:
        return str(error)
    return ""


@cache
def _costs() -> dict[str, str]:
    return _comments(HostCost)


def _cost(name: str) -> str:
    """Return the meaning of a price, which stands beside its kind of work."""
    return _costs().get(name.upper(), "")


def _meanings(kind: type) -> dict[str, str]:
    """Return what a class and those above it say of their members, in a docstring's list or in comments."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__[:-1]):
        found |= _comments(one) | _attributes(inspect.getdoc(one) or "")
    return found


def _attributes(text: str) -> dict[str, str]:
    """Return the members that a docstring lists, with the first sentence on each."""
    _, _, listed = text.partition("Attributes:\n")
    found: dict[str, str] = {}
    for part in re.split(r"\n(?=\s{0,4}[a-z_]+(?:, [a-z_]+)*: )", "\n" + listed.split("\n\n")[0]):
        names, colon, meaning = part.strip().partition(": ")
        if colon and re.fullmatch(r"[a-z_, ]+", names):
            found |= dict.fromkeys(names.split(", "), _brief(meaning))
    return found


def _comments(kind: type) -> dict[str, str]:
    """Return the comment beside each member of a class, or above it."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        return {}
    found: dict[str, str] = {}
    name, above = "", ""
    for token in tokenize.generate_tokens(StringIO(inspect.cleandoc("\n" + source)).readline):
        if token.type == tokenize.NAME and token.line.strip().startswith(token.string) and token.start[1] == 4:
            name, waiting = token.string, above
            above = ""
            if waiting:
                found[name] = _brief(waiting)
        elif token.type == tokenize.COMMENT:
            text = token.string.lstrip("# ")
            if token.line.strip().startswith("#"):
                above = f"{above} {text}".strip()
            elif name:
                found.setdefault(name, _brief(text))
                above = ""
    return found


def _brief(text: str) -> str:
    """Return a text in one line, without what only readers of the source need."""
    line = " ".join(text.split())
    return re.sub(r"\s*\((?:[A-Z0-9]+-[\w, -]+|docs/[^)]*)\)", "", line).removeprefix("... ").rstrip(".")
