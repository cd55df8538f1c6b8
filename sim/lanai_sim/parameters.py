"""Every parameter of a configuration, with its unit, range and meaning, and how one is varied.

- `words`: units, and meanings that stand beside no declaration.
- `declared`: range, choices and meaning, as the class of a configuration has them.
- `listing`: all parameters by name.
- `varied`: `NAME=VALUE,VALUE` as values of a parameter.
"""

import inspect
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cache
from io import StringIO
from typing import Any

from lanai_hdl.errors import UserError, did_you_mean, unknown
from lanai_host.config import PRESETS as HOST_PRESETS
from lanai_host.config import HostCost
from lanai_host.stacks import names, stacks

from .job.settings import overlay
from .job.systems import SYSTEMS
from .machine.blocks import blocks
from .machine.presets import PRESETS as NIC_PRESETS
from .tables import SWITCHES, Document
from .units import format_time

# Declarations of a configuration's members, read from its class: their range, its choices, its meaning.


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
    **{f"nic.remote.{name}": BYTES for name in ("payload", "read_bytes", "stream_bytes")},
    **{f"ideal.{name}": PS for name in ("latency", "byte_time")},
    **{f"firmware.{name}": BYTES for name in ("inline_bytes", "eager_limit", "unpaid_limit")},
    "firmware.retry_cycles": "cycles",
    **{f"ccu.{name}": BYTES for name in ("packet", "datagram", "system_buffer")},
    **{f"ccu.{name}": US for name in ("ack_timer", "timeout", "work", "present", "away")},
    **{f"mbcf.{name}": BYTES for name in ("ask_from", "alltoall", "direct", "first", "inline", "record")},
    **{f"mbcf.{name}": PAGES for name in ("fifo_pages", "request_pages")},
    "mbcf.timeout": US,
    "lanai2.fifo_pages": PAGES,
    "lanai2.place": BYTES,
    "lanai2.timeout": US,
    **{f"sci.{name}": BYTES for name in ("eager", "chunk", "min_block", "longest_get")},
    **{f"t3d.{name}": BYTES for name in ("short", "private", "alignment")},
    "t3d.reply_pages": PAGES,
    "host.pio_threshold": BYTES,
    "host.pinned_cache_pages": PAGES,
    "host.pages_per_entry": PAGES,
}

NO_UNIT = frozenset(f"host.{name}" for name in ("cpu_scale", "jitter", "jitter_seed", "queue"))

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
        if isinstance(self.default, bool):
            return "yes or no"
        if self.choices:
            return ", ".join(self.choices)
        if self.low is None or self.high is None:
            return ""
        return f"{self.low:,} to {self.high:,}" + (", a power of 2" if self.powers else "")

    @property
    def shown(self) -> str:
        """The default as a table shows it."""
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
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
            unit = "" if isinstance(default, bool) else _unit(name)
            found.append(Parameter(name, unit, default, meaning, **_facts(config, field.name, default)))
    return found


def _unit(name: str) -> str:
    return UNITS.get(name) or (PS if name.startswith("host.") and name not in NO_UNIT else "")


def _facts(config: Any, name: str, default: Any) -> dict[str, Any]:
    """Return the range of a member, as its class tells it when it refuses a value that cannot be."""
    if isinstance(default, bool):
        return {}
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


# All parameters of a configuration by name.


RANKS = "ranks"


@cache
def parameters() -> Mapping[str, Parameter]:
    """Return every parameter that a run may be given, by name: whole parts first, then their members."""
    found = [*_parts(), *_tables()]
    return {one.name: one for one in found}


def _parts() -> list[Parameter]:
    """The parts of a job that are chosen by a word, and its numbers of ranks."""
    words: dict[str, tuple[Any, str, tuple[str, ...]]] = {
        "system": ("", "device, NIC, host, fabric and options in one word", tuple(SYSTEMS)),
        "device": ("ideal", "messaging system below MPI", tuple(names())),
        "nic": (next(iter(NIC_PRESETS)), "what each NIC is built as", tuple(NIC_PRESETS)),
        "host": (next(iter(HOST_PRESETS)), "what the host's own work costs", tuple(HOST_PRESETS)),
        "fabric": ("switch", "what joins the NICs: a name, with sizes where it has some", ()),
    }
    for table, (device, presets) in option_tables().items():
        words[table] = (presets[0], f"named options of {device}", presets)
    counts = {RANKS: "processes to start", "ranks_per_node": "ranks that share a NIC"}
    return [
        *(Parameter(name, "", 1, meaning, 1, 1024) for name, meaning in counts.items()),
        *(
            Parameter(name, "", default, meaning, choices=choices)
            for name, (default, meaning, choices) in words.items()
        ),
    ]


def _tables() -> list[Parameter]:
    """The members of all tables."""
    nic, host = next(iter(NIC_PRESETS.values()))(), next(iter(HOST_PRESETS.values()))()
    found = members("nic", nic)
    for block in blocks():
        found += members(f"nic.{block.name}", block)
    found += [*members("host", host), *members("host.kernel", host.kernel)]
    for stack in stacks():
        found += members(stack.options_table, stack.default_options())
    return found


@cache
def option_tables() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return the device and the presets of each table of a messaging system's options."""
    return {stack.options_table: (stack.name, tuple(stack.presets)) for stack in stacks()}


# `NAME=VALUE,VALUE` as values of a parameter, and a point of such values as a configuration.

MOST = 10_000  # values of a range
ARGUMENT, VARIABLE = "arg.", "env."  # before the name of a place in the program's arguments, of a variable


def is_programs(name: str) -> bool:
    """Return whether this is varied in the program's arguments or environment, and not in the configuration."""
    return name.startswith((ARGUMENT, VARIABLE))


def parse(text: str) -> tuple[str, list[Any]]:
    """Return the parameter that a word of `--vary` names, and its values. Raises UserError."""
    name, equals, words = text.partition("=")
    values = [word for word in words.split(",") if word]
    if not name or not equals or not values:
        raise UserError(
            f"--vary {text!r} is not understood; write NAME=VALUE,VALUE such as nic.link_kbytes=20000,40000"
        )
    if is_programs(name):
        return name, list(dict.fromkeys(map(_number, values)))
    known = parameters()
    if name not in known:
        raise _no_parameter(name, known)
    found = [value for word in values for value in _values(known[name], word)]
    return name, list(dict.fromkeys(found))


def _number(word: str) -> Any:
    """Return the number that a word is, or the word where a number would be written in another way."""
    for kind in (int, float):
        try:
            if str(kind(word)) == word:
                return kind(word)
        except ValueError:
            pass
    return word


def _no_parameter(name: str, known: Mapping[str, Parameter]) -> UserError:
    """Return the error for a name that no parameter has."""
    table, _, member = name.rpartition(".")
    members = [one.removeprefix(f"{table}.") for one in known if table and one.startswith(f"{table}.")]
    if members:
        return UserError(
            f"--vary: {table!r} has no parameter {member!r}; {did_you_mean(member, members)}"
            f"see `lanai list parameters {table}`"
        )
    return UserError(f"--vary: no parameter is called {name!r}; {did_you_mean(name, known)}see `lanai list parameters`")


def _values(parameter: Parameter, word: str) -> list[Any]:
    """Return the values of a word: one, or of a range of whole numbers all."""
    if isinstance(parameter.default, bool):
        found = [switch for switch, words in SWITCHES.items() if word in map(str, words)]
        if not found:
            raise UserError(f"--vary {parameter.name}: {word!r} must be yes or no")
        return found
    if isinstance(parameter.default, int):
        first, dash, last = word.partition("-")
        if all(one.isdecimal() for one in ([first, last] if dash else [first])):
            return _whole(parameter, word, int(first), int(last) if dash else int(first))
        raise UserError(f"--vary {parameter.name}: {word!r} is not a whole number; it may be {parameter.range}")
    if isinstance(parameter.default, float):
        try:
            return [float(word)]
        except ValueError:
            raise UserError(f"--vary {parameter.name}: {word!r} is not a number; it may be {parameter.range}") from None
    if parameter.choices and word not in parameter.choices:
        raise unknown(f"--vary {parameter.name}:", word, parameter.choices)
    return [word]


def _whole(parameter: Parameter, word: str, first: int, last: int) -> list[Any]:
    """Return the whole numbers from the first to the last."""
    if last < first:
        raise UserError(f"--vary {parameter.name}: {word!r} has no values; write the smaller one first: {last}-{first}")
    if last - first >= MOST:
        raise UserError(f"--vary {parameter.name}: {word!r} has {last - first + 1:,} values; name at most {MOST:,}")
    return list(range(first, last + 1))


def document_of(base: Mapping[str, Any], point: Mapping[str, Any]) -> Document:
    """Return a configuration with the values of a point laid over it. A preset replaces what its table had, so presets
    come before members."""
    document = dict(base)
    for name in sorted(point, key=lambda name: name.count(".")):
        document = overlay(document, _nested(name, point[name]))
    return document


def _nested(name: str, value: Any) -> Document:
    """Return `nic.remote.peers` as a table in a table, and the name of a preset as what chooses it."""
    if name in ("nic", "host", *option_tables()):
        return {name: {"preset": value}}
    table, dot, member = name.partition(".")
    return {table: _nested_members(member, value)} if dot else {name: value}


def _nested_members(name: str, value: Any) -> Document:
    table, dot, member = name.partition(".")
    return {table: {member: value}} if dot else {name: value}
