"""Runs what a command line of `mpiexec` asks for."""

import argparse
import dataclasses
import importlib.metadata
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence

from lanai_host.errors import UserError
from lanai_host.simulator.protocol import ENV_DEVICE

from ..commands import run as run_command
from ..job.data import Program
from ..job.job import Job
from ..version import version
from .arguments import Asked, Part, parse
from .options import ACTING, IGNORED, Meaning

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
