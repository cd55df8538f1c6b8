"""All parameters of a configuration by name."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from lanai_hdl.errors import UserError, did_you_mean, unknown
from lanai_host.config import PRESETS as HOST_PRESETS
from lanai_host.stacks import names, stacks

from ..job.settings import overlay
from ..job.systems import SYSTEMS
from ..machine.blocks import blocks
from ..machine.presets import PRESETS as NIC_PRESETS
from ..tables import Document
from .declared import Parameter, members

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
            f"see `lanai config --list {table}`"
        )
    return UserError(f"--vary: no parameter is called {name!r}; {did_you_mean(name, known)}see `lanai config --list`")


def _values(parameter: Parameter, word: str) -> list[Any]:
    """Return the values of a word: one, or of a range of whole numbers all."""
    if isinstance(parameter.default, int) and not isinstance(parameter.default, bool):
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
