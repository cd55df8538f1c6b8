"""`NAME=VALUE,VALUE` as values of a parameter, and a point of such values as a configuration."""

from collections.abc import Mapping
from typing import Any

from lanai_hdl.errors import UserError, did_you_mean, unknown

from ..job.settings import overlay
from ..tables import Document
from .declared import Parameter
from .listing import option_tables, parameters

MOST = 10_000  # values of a range


def parse(text: str) -> tuple[str, list[Any]]:
    """Return the parameter that a word of `--vary` names, and its values. Raises UserError."""
    name, equals, words = text.partition("=")
    values = [word for word in words.split(",") if word]
    if not name or not equals or not values:
        raise UserError(
            f"--vary {text!r} is not understood; write NAME=VALUE,VALUE such as nic.link_kbytes=20000,40000"
        )
    known = parameters()
    if name not in known:
        raise _no_parameter(name, known)
    found = [value for word in values for value in _values(known[name], word)]
    return name, list(dict.fromkeys(found))


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
