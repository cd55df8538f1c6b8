"""A run's settings as a document: what a TOML file and the command line's flags say, turned into a
`RunConfig`.

Both are tables of plain values; the flags' are laid over the file's. Each table becomes the frozen
dataclass of the room that owns it (`NicConfig`, `HostConfig`, `McpConfig` ...), so a key is known
here exactly if that class has it.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from lanai_hdl.config import NicConfig
from lanai_host.clocks.library import Clock
from lanai_host.config import PRESETS as HOST_PRESETS
from lanai_host.errors import UserError, did_you_mean, unknown
from lanai_host.stacks import names, stack
from lanai_host.stacks.base import NicStack, Stack

from ..engines import kinds
from ..kernel.kernel import FOREVER
from ..machine import faults
from ..machine.blocks import block
from ..machine.fabrics.cables import parse_cables
from ..machine.presets import PRESETS as NIC_PRESETS
from ..units import duration
from .buffers import Buffers
from .config import RunConfig, WaveConfig
from .restart.plan import is_kill, parse_checkpoint, parse_kill

Document = dict[str, Any]
CONFIG = TypeVar("CONFIG")

SCALARS: Mapping[str, Any] = {  # each with a value of its type
    "ranks": 1,
    "ranks_per_node": 1,
    "universe": 0,
    "device": "ideal",
    "engine": kinds.DEFAULT,
    "threads": 1,
    "skip": True,
    "snapshot": True,
    "fork": True,
    "survive": False,
    "prefix": False,
    "buffers": Buffers.ANY,
    "clock": Clock.REAL,
}
LIMITS = ("sim_time", "wall")
WAVE = ("file", "nodes", "from", "to")
KEYS = (*SCALARS, "fabric", "faults", "checkpoint", "limits", "wave", "nic", "host")


def option_tables(device: str, document: Iterable[str]) -> Mapping[str, Mapping[str, Callable[[], Any]]]:
    """The tables that hold options of messaging systems, and their presets: those of `device` where
    several share a table. The other systems are loaded only if the document has a table of theirs:
    a second of processor time for all."""
    chosen = stack(device)
    others = [] if {*document} <= {*KEYS, chosen.options_table} else names()
    systems = [*map(stack, others), chosen]
    return {system.options_table: system.presets for system in systems}


def read(path: Path) -> Document:
    """A file's document, checked by itself. UserError names the file, quotes what is wrong and says
    what would be right."""
    try:
        document = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        text = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot read the configuration {str(path)!r}: {text}") from error
    fabric = document.get("fabric")
    if isinstance(fabric, str) and fabric.endswith(".toml"):
        document["fabric"] = str(path.parent / fabric)  # beside the file that names it
    try:
        run_config(document, ())
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return document


def overlay(document: Mapping[str, Any], over: Mapping[str, Any]) -> Document:
    """`document` with another laid over it: tables key by key, faults one after the other, the rest
    replaced."""
    result = dict(document)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            # Another preset is another thing: what the file changed in its own goes with that.
            result[key] = value if "preset" in value else overlay(below, value)
        elif isinstance(below, list) and isinstance(value, list):
            result[key] = below + value
        else:
            result[key] = value
    return result


def run_config(document: Mapping[str, Any], command: tuple[str, ...], **others: Any) -> RunConfig:
    """The run that a document describes. `others` are members of `RunConfig` that no document can
    have."""
    device = document.get("device", "ideal")
    chosen = stack(device) if isinstance(device, str) else stack("ideal")
    tables = option_tables(chosen.name, document)
    _known("the configuration", document, (*KEYS, *tables))
    found: dict[str, Any] = {name: _scalar(name, document[name]) for name in SCALARS if name in document}
    for name in ("ranks", "ranks_per_node", "threads"):
        if found.get(name, 1) < 1:
            raise UserError(f"{name} = {found[name]} is not a count; write a whole number from 1")
    _check_universe(found.get("universe", 0), {**found, **others}.get("ranks", 1))
    if "engine" in found:
        kinds.kind(found["engine"])
    if "nic" in document:
        found["nic"] = _nic(document["nic"], chosen)
    if "host" in document:
        found["host"] = _preset("host", document["host"], HOST_PRESETS)
    for table, presets in tables.items():
        if table in document:
            # Checked even if it is another system's: a file may describe several.
            options = _preset(table, document[table], presets)
            if table == chosen.options_table:
                found["options"] = options
    if "fabric" in document:
        found["fabric"] = _fabric(document["fabric"])
    if "faults" in document:
        texts = document["faults"]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise UserError(f"faults = {texts!r} is not understood; write a list such as ['drop nic0 packet=3']")
        found["faults"] = tuple(faults.parse(text) for text in texts if not is_kill(text))
        found["kills"] = tuple(parse_kill(text) for text in texts if is_kill(text))
    if "checkpoint" in document:
        found["checkpoint"] = parse_checkpoint(_like("checkpoint", "", document["checkpoint"]))
    if "limits" in document:
        found |= _limits(document["limits"])
    if "wave" in document:
        found["wave"] = _wave(document["wave"])
    return RunConfig(**{"command": command, "ranks": 1, **found, **others})


def _check_universe(universe: int, ranks: int) -> None:
    if universe and universe < ranks:
        raise UserError(
            f"universe = {universe} is less than the {ranks} ranks that begin; it counts them and the spares"
        )


def from_table(where: str, base: CONFIG, values: Mapping[str, Any]) -> CONFIG:
    """`base`, a dataclass, with some members changed; each value must be of the type that `base`
    has there. A member that is a dataclass is changed by a table."""
    members = {field.name: getattr(base, field.name) for field in fields(base)}  # type: ignore[arg-type]
    _known(where, values, members)
    changes = {
        name: from_table(f"{where}.{name}", members[name], _table(f"{where}.{name}", value))
        if is_dataclass(members[name])
        else _like(f"{where}: {name}", members[name], value)
        for name, value in values.items()
    }
    try:
        return replace(base, **changes)  # type: ignore[type-var]
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def _preset(name: str, values: Any, presets: Mapping[str, Callable[[], Any]]) -> Any:
    rest = dict(_table(name, values))
    preset = rest.pop("preset", next(iter(presets)))
    if preset not in presets:
        raise unknown(f"[{name}]: preset =", preset, presets)
    return from_table(f"[{name}]", presets[preset](), rest)


def _nic(values: Any, chosen: Stack) -> NicConfig:
    """A NIC with the optional blocks that are named in a list, and the parameters of all its blocks,
    which are tables by the blocks' names."""
    blocks = {name: value for name, value in _table("nic", values).items() if isinstance(value, dict)}
    rest = {name: value for name, value in values.items() if name not in (*blocks, "blocks")}
    nic: NicConfig = _preset("nic", rest, NIC_PRESETS)
    if "blocks" in values:
        nic = _with_blocks(nic, values["blocks"])
    if not blocks or not isinstance(chosen, NicStack):
        return nic
    nic = chosen.equip(nic)
    _known("[nic] of these NICs", blocks, [block.name for block in nic.blocks])
    return nic.but(
        blocks=tuple(from_table(f"[nic.{block.name}]", block, blocks.get(block.name, {})) for block in nic.blocks)
    )


def _with_blocks(nic: NicConfig, added: Any) -> NicConfig:
    if not isinstance(added, list) or not all(isinstance(name, str) for name in added):
        raise UserError(f"[nic]: blocks = {added!r} is not understood; write a list such as ['remote']")
    return nic.but(blocks=(*nic.blocks, *map(block, added)))


def _limits(values: Any) -> dict[str, Any]:
    _known("[limits]", _table("limits", values), LIMITS)
    found: dict[str, Any] = {}
    if "sim_time" in values:
        found["max_sim_time"] = _time("[limits]: sim_time", values["sim_time"])
    if "wall" in values:
        wall = _like("[limits]: wall", 0.0, values["wall"])
        if not wall > 0:
            raise UserError(f"[limits]: wall = {values['wall']!r} must be a positive number of seconds")
        found["max_wall"] = wall
    return found


def _wave(values: Any) -> WaveConfig:
    _known("[wave]", _table("wave", values), WAVE)
    if "file" not in values:
        raise UserError("[wave] names no file; write, for example: file = 'run.vcd'")
    nodes = values.get("nodes", [0])
    if not isinstance(nodes, list) or not all(type(node) is int and node >= 0 for node in nodes) or not nodes:
        raise UserError(f"[wave]: nodes = {nodes!r} is not understood; write a list of node numbers, such as [0, 1]")
    begin = _time("[wave]: from", values.get("from", "0ps"))
    end = _time("[wave]: to", values["to"]) if "to" in values else FOREVER
    if end <= begin:
        raise UserError(f"[wave]: to = {values['to']!r} is not after from = {values.get('from', '0ps')!r}")
    return WaveConfig(_like("[wave]: file", "", values["file"]), tuple(nodes), begin, end)


def _fabric(value: Any) -> Any:
    if isinstance(value, str):
        return value
    table = _table("fabric", value)
    _known("[fabric]", table, ("cables",))
    return parse_cables("[fabric]", table.get("cables", []))


def _scalar(name: str, value: Any) -> Any:
    return _like(name, SCALARS[name], value)


def _like(where: str, pattern: Any, value: Any) -> Any:
    """`value`, if it is of the type of `pattern`. Enums are written as their values."""
    kind = type(pattern)
    if issubclass(kind, Enum) and not isinstance(pattern, int):
        try:
            return kind(value)
        except ValueError:
            raise UserError(
                f"{where} = {value!r} must be one of {', '.join(repr(one.value) for one in kind)}"
            ) from None
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}.get(
            kind, kind.__name__
        )
        raise UserError(f"{where} = {value!r} must be {wanted}")
    return value


def _time(where: str, value: Any) -> int:
    if not isinstance(value, str):
        raise UserError(f"{where} = {value!r} is not a time; write a text with a unit, such as '20ms'")
    try:
        return duration(value)
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def _table(name: str, values: Any) -> Mapping[str, Any]:
    if not isinstance(values, dict):
        raise UserError(f"{name} = {values!r} must be a table; write [{name}] and its keys below")
    return values


def _known(where: str, values: Mapping[str, Any], keys: Any) -> None:
    for key in values:
        if key not in keys:
            raise UserError(f"{where} has no key {key!r}; {did_you_mean(key, keys)}it may have: {', '.join(keys)}")
