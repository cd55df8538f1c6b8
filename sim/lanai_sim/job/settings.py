"""A job as a document: what a TOML file, `Job.to_json` and the command line's flags say, turned into a `Job`.

All are tables of plain values; the flags' are laid over the file's. Each table becomes the frozen
dataclass of the room that owns it (`NicConfig`, `HostConfig`, `McpConfig` ...), so a key is known
here exactly if that class has it.
"""

import argparse
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from lanai_host.config import CHOICES, DRIVER_ONLY, HostConfig
from lanai_host.errors import UserError
from lanai_host.stacks import stack, stacks
from lanai_host.stacks.base import NicStack, Stack

from ..engines import kinds
from ..kernel.kernel import FOREVER
from ..machine.blocks import blocks
from ..machine.machine import Machine
from ..machine.presets import PRESETS as NIC_PRESETS
from ..tables import Document, UnknownKey, from_preset, known, like, read_json, table, texts
from ..units import duration
from .data import SCALARS, JobData, Program, WaveConfig, refuse
from .restart.plan import is_kill, parse_checkpoint, parse_kill
from .systems import expanded

# The tables of a job's configuration that have a key, for a user who has written it into another one.


FLAGS = {"nic": "--nic-option", "host": "--host-option"}  # of tables; those of messaging systems have one flag
OPTION = "--option"


def owners(key: str) -> str:
    """Return a sentence that names the tables that have this key, to be put before a list; nothing if there is
    none."""
    tables = dict(_tables()).items()
    found = [_named(where, key) for where, table in tables if key in (field.name for field in fields(table))]
    return f"it is a key of {', '.join(found)}; here " if found else ""


def _named(where: str, key: str) -> str:
    """Return a table's name, and the flag that sets the key."""
    part, _, block = where.partition(".")
    member = f"{block}.{key}" if block else key
    return f"[{where}] ({FLAGS.get(part, OPTION)} {member}=...)"


def _tables() -> Iterator[tuple[str, Any]]:
    """Return all tables of parameters, by their names in files."""
    yield "nic", next(iter(NIC_PRESETS.values()))()
    for block in blocks():
        yield f"nic.{block.name}", block
    yield "host", HostConfig()
    yield "host.kernel", HostConfig().kernel
    for one in stacks():
        yield one.options_table, one.default_options()


MACHINE = ("fabric", "nic", "host")
JOB = TypeVar("JOB", bound=JobData)
LIMITS = ("sim_time", "wall")
WAVE = ("file", "nodes", "from", "to")
INPUTS = ("node", "file")
PROGRAM = ("command", "ranks", "environment", "directory")
KEYS = (
    *SCALARS, *MACHINE, "faults", "checkpoint", "limits", "wave", "program", "trace", "inputs", "environment",
    "programs", "rank_variables",
)  # fmt: skip


def option_tables(device: str, document: Iterable[str]) -> Mapping[str, Mapping[str, Callable[[], Any]]]:
    """The tables that hold options of messaging systems, and their presets: those of `device` where
    several share a table. The other systems are loaded only if the document has a table of theirs:
    a second of processor time for all."""
    chosen = stack(device)
    others = () if {*document} <= {*KEYS, chosen.options_table} else stacks()
    systems = [*others, chosen]
    return {system.options_table: system.presets for system in systems}


def read(path: Path) -> Document:
    """A file's document, checked by itself. UserError names the file, quotes what is wrong and says
    what would be right."""
    try:
        text = path.read_text()
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot read the configuration {str(path)!r}: {why}") from error
    fabric = document.get("fabric")
    if isinstance(fabric, str) and fabric.endswith(".toml"):
        document["fabric"] = str(path.parent / fabric)  # beside the file that names it
    try:
        job_from(document, JobData)
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


def without_machine(document: Mapping[str, Any]) -> Document:
    """Return a document without what a system stands for, so that another one can be laid over it."""
    tables = {one.options_table for one in stacks()}
    return {name: value for name, value in document.items() if name not in {"system", "device", *MACHINE, *tables}}


def whole(document: Mapping[str, Any]) -> Document:
    """Return a document with what its `system` stands for instead of that name. What else it says has
    priority."""
    return overlay(*expanded(document))


def job_from(document: Mapping[str, Any], kind: type[JOB], **others: Any) -> JOB:
    """Return the job that a document describes. `others`: members of it, instead of the document's."""
    try:
        return _job_from(document, kind, others)
    except UnknownKey as error:
        raise UserError(str(error.with_hint(owners))) from error


def _job_from(document: Mapping[str, Any], kind: type[JOB], others: Mapping[str, Any]) -> JOB:
    document = whole(document)
    device = document.get("device", "ideal")
    chosen = stack(device) if isinstance(device, str) else stack("ideal")
    tables = option_tables(chosen.name, document)
    known("the configuration", document, (*KEYS, "system", *tables))
    found: dict[str, Any] = {name: like(name, SCALARS[name], document[name]) for name in SCALARS if name in document}
    faults = texts("faults", document.get("faults", []), "['drop nic0 packet=3']")
    machine = {name: document[name] for name in MACHINE if name in document}
    machine["faults"] = [text for text in faults if not is_kill(text)]
    found["machine"] = Machine.from_document(machine, chosen.equip if isinstance(chosen, NicStack) else None)
    found["kills"] = tuple(parse_kill(text) for text in faults if is_kill(text))
    for name, presets in tables.items():
        if name in document:
            # Checked even if it is another system's: a file may describe several.
            options = from_preset(name, document[name], presets)
            if name == chosen.options_table:
                found["options"] = options
    if "checkpoint" in document:
        found["checkpoint"] = parse_checkpoint(like("checkpoint", "", document["checkpoint"]))
    if "limits" in document:
        found |= _limits(document["limits"])
    if "wave" in document:
        found["wave"] = _wave(document["wave"])
    found |= _processes(document)
    return kind(**{**found, **others})


def from_json(text: str, kind: type[JOB]) -> JOB:
    """Return the job that `Job.to_json` wrote."""
    return job_from(read_json("the job", text), kind)


def _processes(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a document says of the ranks' processes and of files, which only `Job.to_json` writes."""
    found: dict[str, Any] = {}
    for name in ("program", "rank_variables"):
        if name in document:
            found[name] = tuple(texts(name, document[name], "['python', 'ring.py']"))
    if "environment" in document:
        found["environment"] = _variables("environment", document["environment"])
    if "trace" in document:
        found["trace"] = like("trace", "", document["trace"])
    if "inputs" in document:
        inputs = table("inputs", document["inputs"])
        known("[inputs]", inputs, INPUTS)
        found["inputs"] = (
            like("[inputs]: node", 0, inputs.get("node")),
            Path(like("[inputs]: file", "", inputs.get("file"))),
        )
    if "programs" in document:
        if not isinstance(document["programs"], list):
            raise UserError(f"programs = {document['programs']!r} is not understood; write a list of tables")
        found["programs"] = tuple(map(_program, document["programs"]))
    return found


def _program(values: Any) -> Program:
    known("[[programs]]", table("programs", values), PROGRAM)
    return Program(
        tuple(texts("[[programs]]: command", values.get("command"), "['python', 'ring.py']")),
        like("[[programs]]: ranks", 1, values.get("ranks")),
        _variables("[[programs]]: environment", values.get("environment", {})),
        like("[[programs]]: directory", "", values.get("directory", "")),
    )


def _variables(where: str, values: Any) -> dict[str, str]:
    return {name: like(f"{where}: {name}", "", value) for name, value in table(where, values).items()}


def _limits(values: Any) -> dict[str, Any]:
    known("[limits]", table("limits", values), LIMITS)
    found: dict[str, Any] = {}
    if "sim_time" in values:
        found["max_sim_time"] = _time("[limits]: sim_time", values["sim_time"])
    if "wall" in values:
        wall = like("[limits]: wall", 0.0, values["wall"])
        if not wall > 0:
            raise UserError(f"[limits]: wall = {values['wall']!r} must be a positive number of seconds")
        found["max_wall"] = wall
    return found


def _wave(values: Any) -> WaveConfig:
    known("[wave]", table("wave", values), WAVE)
    if "file" not in values:
        raise UserError("[wave] names no file; write, for example: file = 'run.vcd'")
    nodes = values.get("nodes", [0])
    if not isinstance(nodes, list) or not all(type(node) is int and node >= 0 for node in nodes) or not nodes:
        raise UserError(f"[wave]: nodes = {nodes!r} is not understood; write a list of node numbers, such as [0, 1]")
    begin = _time("[wave]: from", values.get("from", "0ps"))
    end = _time("[wave]: to", values["to"]) if "to" in values else FOREVER
    if end <= begin:
        raise UserError(f"[wave]: to = {values['to']!r} is not after from = {values.get('from', '0ps')!r}")
    return WaveConfig(like("[wave]: file", "", values["file"]), tuple(nodes), begin, end)


def _time(where: str, value: Any) -> int:
    if not isinstance(value, str):
        raise UserError(f"{where} = {value!r} is not a time; write a text with a unit, such as '20ms'")
    try:
        return duration(value)
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


# Refuses flags that cannot act on the chosen device, and so would change nothing.


# Flags that change what NICs do, or what joins them. Flags that say how NICs are evaluated change no
# result, and are accepted where there are none: one command line serves all devices. An engine that has NICs of its
# own, as the boards', is no such flag.
NIC_FLAGS = (
    "nic", "nic_option", "block", "fabric", "fault", "survive_death", "wave", "wave_nodes", "wave_from", "wave_to",
    "board",
)  # fmt: skip


ON_NICS = "lanai2"  # the device of who asks for NICs and names none


def nic_flags(args: argparse.Namespace) -> list[str]:
    """Return the flags that were given and act on NICs."""
    flags = {**vars(args), "fault": [text for text in args.fault if not is_kill(text)]}
    given = [f"--{flag.replace('_', '-')}" for flag in NIC_FLAGS if flags[flag] not in (None, [])]
    has_its_own = args.engine is not None and not args.board and kinds.kind(args.engine).nic("") is not None
    return [*given, f"--engine {args.engine}"] if has_its_own else given


def check_flags(args: argparse.Namespace, config: JobData) -> None:
    """Raise UserError for flags that cannot act. A file's tables may describe what another device
    would use."""
    check_given(nic_flags(args), {f"--host-option {word}": word.partition("=")[0] for word in args.host_option}, config)
    if config.stack.options_table != "firmware":
        given = [f"--firmware {word}" for word in args.firmware]
        refuse(
            given, config.device, "whose own options are set by --option", lambda one: one.options_table == "firmware"
        )


def check_given(nics: Sequence[str], host: Mapping[str, str], config: JobData) -> None:
    """Raise UserError for settings that cannot act.

    Args:
        nics: settings of NICs or of what joins them, as the user wrote them.
        host: those of hosts, each with its parameter's name.
        config: the job.
    """
    fields = {given: name.partition(".")[0] for given, name in host.items()}
    if not config.stack.nics:
        of_nics = [*nics, *(given for given, field in fields.items() if field in DRIVER_ONLY)]
        refuse(of_nics, config.device, "which has no NICs", lambda one: one.nics)
    for given, field in fields.items():
        if field in CHOICES - config.stack.host_choices:
            refuse([given], config.device, "whose driver has no such choice", _obeys(field))


def _obeys(choice: str) -> Callable[[Stack], bool]:
    return lambda one: choice in one.host_choices
