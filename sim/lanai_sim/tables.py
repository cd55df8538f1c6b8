"""Frozen dataclasses as tables of plain values, which a TOML or JSON file holds, and back: each key is a member
of the class, each value of the type that the member has."""

import csv
import io
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from lanai_firmware import output_file
from lanai_hdl.errors import UserError, did_you_mean, unknown

Document = dict[str, Any]
CONFIG = TypeVar("CONFIG")
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


class UnknownKey(UserError):
    """A key that a table does not have. `hint`: a sentence to put before the list of those that it has; without one,
    the nearest of these."""

    def __init__(self, where: str, key: str, keys: Iterable[str], hint: str = "") -> None:
        self.where, self.key, self.keys = where, key, list(keys)
        self.hint = hint or did_you_mean(key, self.keys)
        super().__init__(f"{where} has no key {key!r}; {self.hint}it may have: {', '.join(self.keys)}")

    def with_hint(self, hint: Callable[[str], str]) -> "UnknownKey":
        """Return the error with what `hint` says of the key, if it has no hint."""
        return self if self.hint else UnknownKey(self.where, self.key, self.keys, hint(self.key))


def from_table(where: str, base: CONFIG, values: Mapping[str, Any]) -> CONFIG:
    """Return `base`, a dataclass, with some members changed; each value must be of the type that `base`
    has there. A member that is a dataclass is changed by a table."""
    members = {field.name: getattr(base, field.name) for field in fields(base)}  # type: ignore[arg-type]
    known(where, values, members)
    changes = {
        name: from_table(f"{where}.{name}", members[name], table(f"{where}.{name}", value))
        if is_dataclass(members[name])
        else _member(f"{where}: {name}", members[name], value)
        for name, value in values.items()
    }
    try:
        return replace(base, **changes)  # type: ignore[type-var]
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


SWITCHES = {False: (0, "no", "false"), True: (1, "yes", "true")}  # as flags and older files write them


def _member(where: str, pattern: Any, value: Any) -> Any:
    """Return `value`, if a member like `pattern` may have it. A switch may be written as a number or a word."""
    if isinstance(pattern, bool) and not isinstance(value, bool):
        for switch, words in SWITCHES.items():
            if value in words:
                return switch
        raise UserError(f"{where} = {value!r} must be yes or no")
    return like(where, pattern, value)


def assignments(option: str, words: list[str]) -> dict[str, int | float | str]:
    """Return NAME=VALUE words of a flag as a table. A value that reads as a number is one."""
    found: dict[str, int | float | str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals or not value:
            raise UserError(f"{option} {word!r} is not understood; write NAME=VALUE")
        for kind in (int, float, str):
            try:
                found[name] = kind(value)
                break
            except ValueError:
                continue
    return found


def to_table(config: Any) -> Document:
    """Return all members of a dataclass of plain values, as `from_table` takes them."""
    return {field.name: plain(getattr(config, field.name)) for field in fields(config)}


def brief(config: Any) -> str:
    """Return the `repr` of a dataclass with the members alone that are not the default."""
    told = [f"{name}={value!r}" for name, value in changed(config).items()]
    return f"{type(config).__name__}({', '.join(told)})"


def changed(config: Any) -> dict[str, Any]:
    """Return the members of a dataclass that are not the default."""
    default = type(config)()
    values = {field.name: getattr(config, field.name) for field in fields(config)}
    return {name: value for name, value in values.items() if value != getattr(default, name)}


def html_table(title: str, values: Mapping[str, Any]) -> str:
    """Return named values as notebooks show them."""
    rows = (f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in values.items())
    return f"<table><caption>{escape(title)}</caption>{''.join(rows)}</table>"


def from_preset(name: str, values: Any, presets: Mapping[str, Callable[[], Any]]) -> Any:
    """Return what the table `name` describes: the preset that it names, or else the first, with members changed."""
    rest = dict(table(name, values))
    preset = rest.pop("preset", next(iter(presets)))
    return from_table(f"[{name}]", chosen(f"[{name}]: preset =", preset, presets), rest)


def chosen(what: str, name: str, presets: Mapping[str, Callable[[], Any]]) -> Any:
    """Return the preset of that name."""
    if name not in presets:
        raise unknown(what, name, presets)
    return presets[name]()


def plain(value: Any) -> Any:
    """Return a member's value as a file has it: an enum by its value, a dataclass as a table."""
    if is_dataclass(value):
        return to_table(value)
    return value.value if isinstance(value, Enum) else value


def like(where: str, pattern: Any, value: Any) -> Any:
    """Return `value`, if it is of the type of `pattern`. Enums are written as their values."""
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
        raise UserError(f"{where} = {value!r} must be {KINDS.get(kind, kind.__name__)}")
    return value


def texts(where: str, values: Any, example: str) -> list[str]:
    """Return `values`, if they are a list of texts."""
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise UserError(f"{where} = {values!r} is not understood; write a list such as {example}")
    return values


def table(name: str, values: Any) -> Mapping[str, Any]:
    """Return `values`, if they are a table."""
    if not isinstance(values, dict):
        raise UserError(f"{name} = {values!r} must be a table; write [{name}] and its keys below")
    return values


def flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Return the values of nested tables, with dotted names."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def read_toml(what: str, path: str, instead: str) -> Document:
    """Return the tables of a TOML file. `what`: what it was named as. `instead`: what to name, or to write."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot read {what} {path!r}: {why}; {instead}") from error


def read_json(what: str, text: str) -> Document:
    """Return the table of plain values in a JSON text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{what} cannot be read from JSON: {error}") from error
    return dict(table(what, found))


def known(where: str, values: Iterable[str], keys: Iterable[str]) -> None:
    """Refuse keys that are not among the known ones."""
    keys = list(keys)
    for key in values:
        if key not in keys:
            raise UnknownKey(where, key, keys)


# Rows as a file that other tools read: CSV, JSON or Parquet, one column a name.


CSV, JSON, PARQUET = "csv", "json", "parquet"
FORMATS = (CSV, JSON, PARQUET)
Rows = Sequence[Mapping[str, Any]]


def filled(rows: Rows) -> list[dict[str, Any]]:
    """Return the rows with all columns each, None where a row has no such value."""
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


def format_of(path: str | None, asked: str | None) -> str:
    """Return the format that is asked for, or that the file's name has; CSV without a file. Raises UserError."""
    found = asked or (CSV if path is None else _named(path))
    if found == PARQUET:
        if path is None:
            raise UserError("--format parquet needs a file: name it with --rows FILE")
        try:
            import_module("pyarrow")
        except ImportError as error:
            raise UserError(f"--format parquet needs pyarrow ({error}); pip install 'openlanai[parquet]'") from error
    return found


def _named(path: str) -> str:
    """Return the format by the ending of a file's name. A name without one is CSV, as are devices and pipes."""
    suffix = Path(path).suffix.removeprefix(".")
    if suffix.lower() in FORMATS or not suffix:
        return suffix.lower() or CSV
    endings = ", ".join(f".{form}" for form in FORMATS)
    raise UserError(
        f"--rows {path!r} ends with '.{suffix}', which is not known; end it with {endings}, or add --format"
    )


def as_text(rows: Rows, form: str = CSV) -> str:
    """Return the rows as CSV with a head, or as JSON."""
    found = filled(rows)
    if form == JSON:
        return json.dumps(found, indent=2) + "\n"
    text = io.StringIO()
    writer = csv.DictWriter(text, list(found[0]) if found else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return text.getvalue()


def write(rows: Rows, path: str, form: str) -> None:
    """Write the rows to a file."""
    if form != PARQUET:
        output_file.write(path, as_text(rows, form), "the rows")
        return
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    found = filled(rows)
    table = pyarrow.table({name: [row[name] for row in found] for name in (found[0] if found else ())})
    with output_file.replaced(Path(path), "the rows") as place:
        parquet.write_table(table, place)


# Tables as frames of pandas or polars, whichever is installed.


Library = Literal["pandas", "polars"]
LIBRARIES: tuple[Library, ...] = get_args(Library)


def frame(columns: Mapping[str, Any], library: Library | None = None) -> Any:
    """Return columns, which are sequences of one length, as a frame.

    Args:
        library: which; None: pandas if it is installed, else polars.
    """
    return _library(library).DataFrame(dict(columns))


def of_rows(rows: Sequence[Mapping[str, Any]], library: Library | None = None) -> Any:
    """Return rows, which have the same names each, as a frame."""
    names = list(rows[0]) if rows else []
    return frame({name: [row[name] for row in rows] for name in names}, library)


def _library(name: Library | None) -> Any:
    """Return the module. Raises UserError if it is not known or not installed."""
    if name is not None and name not in LIBRARIES:
        raise unknown("library", name, LIBRARIES)
    installed = next((one for one in LIBRARIES if _found(one)), LIBRARIES[0])
    try:
        return import_module(name or installed)
    except ImportError as error:
        what = name or " or ".join(LIBRARIES)
        extra = "openlanai[frames]" if name in (None, "pandas") else name
        raise UserError(f"frames need {what} ({error}); pip install '{extra}'") from error


def _found(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # a module without a spec, as tests make them
        return False
