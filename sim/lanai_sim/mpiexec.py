"""The command `mpiexec`: the command lines of MPICH's Hydra and of Open MPI, in front of `lanai run`."""

import argparse
import dataclasses
import importlib.metadata
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from lanai_host.errors import UserError, did_you_mean
from lanai_host.simulator.protocol import ENV_DEVICE

from .commands import run as run_command
from .job.data import Program
from .job.job import Job
from .version import version

# The options of `mpiexec` and `mpirun` as Hydra and Open MPI spell them, and what each means here.
#
# Names are without their dashes: both launchers take one or two.


class Meaning(Enum):
    """The effect of an option on the run."""

    RANKS = "processes of this program"
    SET = "a variable and its value"
    EXPORT = "a variable with its value, or to be passed on"
    DIRECTORY = "where the processes run"
    PER_NODE = "processes on each node"
    UNIVERSE = "processes that the run has room for"
    TIMEOUT = "seconds until the run is ended"
    LABEL = "put the rank before each line"
    FILES = "folder that gets what each process prints, too; :nocopy: nothing else does"
    RECOVERY = "ulfm: a process that dies does not end the others, on NICs"
    IGNORED = "means nothing here"
    HELP = "print the options"
    VERSION = "print the version"


# Options that act, with the number of words behind each.
ACTING: dict[str, tuple[Meaning, int]] = {
    **dict.fromkeys(("n", "np", "c"), (Meaning.RANKS, 1)),
    **dict.fromkeys(("env", "genv"), (Meaning.SET, 2)),
    "x": (Meaning.EXPORT, 1),
    **dict.fromkeys(("wdir", "wd"), (Meaning.DIRECTORY, 1)),
    **dict.fromkeys(("ppn", "perhost", "npernode"), (Meaning.PER_NODE, 1)),
    "usize": (Meaning.UNIVERSE, 1),
    "timeout": (Meaning.TIMEOUT, 1),
    **dict.fromkeys(("l", "prepend-rank", "tag-output"), (Meaning.LABEL, 0)),
    "output-filename": (Meaning.FILES, 1),
    "with-ft": (Meaning.RECOVERY, 1),
    **dict.fromkeys(("help", "h"), (Meaning.HELP, 0)),
    **dict.fromkeys(("version", "V", "info"), (Meaning.VERSION, 0)),
}
# What places processes, chooses a transport or traces the launcher has nothing to act on: the ranks run here,
# any number of them. All variables are passed on as they are.
IGNORED = {
    0: (
        "allow-run-as-root", "bind-to-core", "bind-to-none", "bycore", "byhw", "bynode", "bysocket",
        "disable-auto-cleanup", "disable-hostname-propagation", "display-allocation", "display-map",
        "do-not-launch", "enable-recovery", "enable-x", "envall", "forward-signals", "genvall", "nolocal",
        "nooversubscribe", "oversubscribe", "pernode", "q", "quiet", "report-bindings", "use-hwthread-cpus", "v",
        "verbose",
    ),
    1: (
        "H", "bind-to", "cpu-set", "cpus-per-proc", "cpus-per-rank", "envlist", "f", "genvlist", "host",
        "hostfile", "hosts", "iface", "launcher", "launcher-exec", "localhost", "machine", "machinefile",
        "map-by", "membind", "order-nodes", "output", "oversubscribe-by", "path", "pmi-port", "prefix",
        "rank-by", "rmk", "s", "stdin", "topolib", "tune",
    ),
    2: (
        "gmca", "mca", "omca", "pmca", "prtemca",
    ),
}  # fmt: skip
OPTIONS: dict[str, tuple[Meaning, int]] = {
    **{name: (Meaning.IGNORED, words) for words, names in IGNORED.items() for name in names},
    **ACTING,
}
# Those that Hydra does not have: who gives one expects Open MPI's variables in the processes.
OPEN_MPI = frozenset({
    "allow-run-as-root", "bind-to-core", "bind-to-none", "bycore", "bynode", "bysocket", "cpu-set", "cpus-per-proc",
    "cpus-per-rank", "display-allocation", "display-map", "do-not-launch", "enable-recovery", "gmca", "mca", "nolocal",
    "nooversubscribe", "npernode", "omca", "output", "output-filename", "oversubscribe", "pernode", "pmca", "prtemca",
    "rank-by", "report-bindings", "tag-output", "timeout", "tune", "use-hwthread-cpus", "with-ft", "x",
})  # fmt: skip


# Reads the command line of `mpiexec`.


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


# Runs what a command line of `mpiexec` asks for.


ENV_RUN = "LANAI_RUN"  # more options of `lanai run`
# Variables by which test suites and programs learn that Hydra started them. All ranks look as if on one node.
RANK_VARIABLES = ("PMI_RANK", "MPI_LOCALRANKID")
SIZE_VARIABLES = ("PMI_SIZE", "MPI_LOCALNRANKS")
# And Open MPI, if its options are used.
OPEN_MPI_RANK = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_NODE_RANK", "PMIX_RANK")
OPEN_MPI_SIZE = ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")


def run(words: Sequence[str]) -> int:
    """Do what the command line says. The exit code is the program's, as `lanai run` has it."""
    asked = parse(words)
    if asked.help:
        print(help_text(), end="")
        return 0
    if asked.version:
        print(f"HYDRA build details:\n    Version: {importlib.metadata.version('mpich')} (openlanai {version()})")
        return 0
    config = config_of(asked)
    if asked.ignored:
        print(f"mpiexec: note: without effect here: {', '.join(asked.ignored)}", file=sys.stderr)
    return run_command.finish(run_command.flags_of(["--quiet"]), config)


def config_of(asked: Asked) -> Job:
    """The run. LANAI_DEVICE names the device, LANAI_RUN holds more options of `lanai run`."""
    total = sum(part.ranks for part in asked.parts)
    programs = tuple(_program(part, asked) for part in asked.parts)
    config = run_command.config_of(_run_flags(asked, total, programs[0].command))
    if asked.survive and not config.stack.nics:
        asked.ignored.append("--with-ft")
    numbers: tuple[str, ...] = RANK_VARIABLES
    sizes = dict.fromkeys(SIZE_VARIABLES, str(total))
    if asked.open_mpi:
        numbers += OPEN_MPI_RANK
        sizes |= dict.fromkeys(OPEN_MPI_SIZE, str(total)) | {"OMPI_UNIVERSE_SIZE": str(config.total_ranks)}
    return dataclasses.replace(config, programs=programs, rank_variables=numbers,
                               output_folder=asked.files, capture=not asked.copied,
                               survive=config.survive or (asked.survive and config.stack.nics),
                               environment={**config.environment, **asked.environment, **sizes})  # fmt: skip


def _program(part: Part, asked: Asked) -> Program:
    command = (_found(part.command[0], part.directory), *part.command[1:])
    return Program(command, part.ranks, part.environment, part.directory)


def _found(program: str, directory: str) -> str:
    """The program as the shell would find it: `python` is the one on PATH, not the one that runs lanai."""
    if "/" in program:
        return os.path.join(directory, program)
    return shutil.which(program) or program


def _run_flags(asked: Asked, total: int, command: tuple[str, ...]) -> argparse.Namespace:
    words = ["-n", str(total)]
    if os.environ.get(ENV_DEVICE):
        words += ["--device", os.environ[ENV_DEVICE]]
    if asked.per_node is not None:
        words += ["--ranks-per-node", str(min(asked.per_node, total))]
    if asked.universe is not None:
        words += ["--universe", str(max(asked.universe, total))]
    if asked.timeout is not None:
        words += ["--max-wall", str(asked.timeout)]
    if asked.label:
        words += ["--prefix"]
    try:
        more = shlex.split(os.environ.get(ENV_RUN, ""))
    except ValueError as error:
        raise UserError(f"{ENV_RUN}={os.environ[ENV_RUN]!r} is not understood: {error}") from None
    return run_command.flags_of([*words, *more, "--", *command])


def help_text() -> str:
    lines = ["usage: mpiexec [option ...] PROGRAM ARGS [: [option ...] PROGRAM ARGS ...]", ""]
    for meaning in Meaning:
        names = ", ".join(f"-{name}" for name, (what, _) in ACTING.items() if what is meaning)
        if names:
            lines.append(f"    {names:<32}{meaning.value}")
    ignored = ", ".join(f"-{name}" for names in IGNORED.values() for name in sorted(names))
    lines += ["", *textwrap.wrap(f"Without effect here: {ignored}.", 100, break_on_hyphens=False)]
    lines += ["", "LANAI_DEVICE names the messaging system (default: ideal, no NIC), LANAI_RUN holds more options of",
              "`lanai run`, such as '--trace run.trace'. One or two dashes make no difference."]  # fmt: skip
    return "\n".join(lines) + "\n"
