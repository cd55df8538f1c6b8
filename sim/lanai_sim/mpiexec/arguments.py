"""Reads the command line of `mpiexec`."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lanai_host.errors import UserError, did_you_mean

from .options import OPEN_MPI, OPTIONS, Meaning


@dataclass
class Part:
    """One program of the command line, and what its options say. `environment` holds what `-env` and `-x` set."""

    ranks: int = 1
    command: tuple[str, ...] = ()
    directory: str = ""
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class Asked:
    """A whole command line. `files`: the folder for what each process prints; `copied`: it is printed too. `ignored`:
    options that were given and do nothing here. `open_mpi`: one was given that only Open MPI has."""

    parts: list[Part] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    per_node: int | None = None
    universe: int | None = None
    timeout: float | None = None
    label: bool = False
    files: str = ""
    copied: bool = True
    survive: bool = False
    open_mpi: bool = False
    help: bool = False
    version: bool = False
    ignored: list[str] = field(default_factory=list)


def parse(words: Sequence[str], variables: Mapping[str, str] = os.environ) -> Asked:
    """Read a command line. `variables` are those that `-x NAME` passes on. Raises UserError."""
    asked = Asked()
    for section in _sections(words):
        _parse_part(section, asked, variables)
        if asked.help or asked.version:
            return asked
    return asked


def _sections(words: Sequence[str]) -> Iterator[list[str]]:
    """The words between colons."""
    section: list[str] = []
    for word in words:
        if word == ":":
            yield section
            section = []
        else:
            section.append(word)
    yield section


def _parse_part(words: list[str], asked: Asked, variables: Mapping[str, str]) -> None:
    part = Part()
    place = 0
    while place < len(words) and words[place].startswith("-") and words[place] != "--":
        place += _option(words[place:], part, asked, variables)
        if asked.help or asked.version:
            return
    if words[place : place + 1] == ["--"]:
        place += 1
    part.command = tuple(words[place:])
    if not part.command:
        raise UserError("no program was named; write, for example: mpiexec -n 2 python script.py")
    asked.parts.append(part)


def _option(words: list[str], part: Part, asked: Asked, variables: Mapping[str, str]) -> int:
    """Take the option that the words begin with; how many words it has."""
    name, equals, value = words[0].lstrip("-").partition("=")
    if name not in OPTIONS:
        raise UserError(_unknown(words[0], name))
    meaning, count = OPTIONS[name]
    values = [value] if equals and count == 1 else words[1 : 1 + count]
    if len(values) < count:
        raise UserError(f"{words[0]} needs {count} {'value' if count == 1 else 'values'} behind it")
    asked.open_mpi |= name in OPEN_MPI
    _apply(words[0], name, meaning, values, part, asked, variables)
    return 1 if equals else 1 + count


def _apply(
    word: str, name: str, meaning: Meaning, values: list[str], part: Part, asked: Asked, variables: Mapping[str, str]
) -> None:
    if meaning is Meaning.RANKS:
        part.ranks = _count(word, values[0])
    elif meaning is Meaning.SET:
        (asked.environment if name == "genv" else part.environment)[values[0]] = values[1]
    elif meaning is Meaning.EXPORT:
        variable, equals, value = values[0].partition("=")
        if equals or variable in variables:
            part.environment[variable] = value if equals else variables[variable]
    elif meaning is Meaning.DIRECTORY:
        part.directory = _directory(word, values[0])
    elif meaning is Meaning.PER_NODE:
        asked.per_node = _count(word, values[0])
    elif meaning is Meaning.UNIVERSE:
        asked.universe = _count(word, values[0])
    elif meaning is Meaning.TIMEOUT:
        asked.timeout = _seconds(word, values[0])
    elif meaning is Meaning.FILES:
        asked.files, asked.copied = _files(word, values[0])
    elif meaning is Meaning.RECOVERY:
        asked.survive = _recovery(word, values[0])
    elif meaning is Meaning.IGNORED:
        asked.ignored.append(word)
    else:
        asked.label |= meaning is Meaning.LABEL
        asked.help |= meaning is Meaning.HELP
        asked.version |= meaning is Meaning.VERSION


def _unknown(word: str, name: str) -> str:
    dashes = word[: len(word) - len(word.lstrip("-"))]
    near = did_you_mean(dashes + name, [dashes + known for known in OPTIONS])
    return f"{word} is not an option of mpiexec; {near}`mpiexec -help` lists the options"


def _count(word: str, text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise UserError(f"{word} {text!r} is not a count; write a whole number from 1")


def _seconds(word: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise UserError(f"{word} {text!r} must be a positive number of seconds")
    return seconds


def _directory(word: str, text: str) -> str:
    if not os.path.isdir(text):
        raise UserError(f"{word} {text!r} is not a directory")
    return os.path.abspath(text)


def _files(word: str, text: str) -> tuple[str, bool]:
    """The folder of --output-filename, and whether the output is printed too. Behind a colon stand Open MPI's
    `nocopy` and `nojobid`."""
    folder, _, more = text.partition(":")
    qualifiers = {one.lower() for one in more.split(",") if one}
    if unknown := qualifiers - {"nocopy", "nojobid"}:
        raise UserError(f"{word} {text!r}: {min(unknown)!r} is not known behind the colon; write nocopy or nojobid")
    if not folder:
        raise UserError(f"{word} {text!r} names no folder")
    return os.path.abspath(folder if "nojobid" in qualifiers else os.path.join(folder, "1")), "nocopy" not in qualifiers


def _recovery(word: str, text: str) -> bool:
    answers = {**dict.fromkeys(("ulfm", "mpi", "yes", "true", "1"), True), **dict.fromkeys(("no", "false", "0"), False)}
    if text.lower() not in answers:
        raise UserError(f"{word} {text!r} is not understood; write ulfm or no")
    return answers[text.lower()]
