"""Unmodified programs that people run: each on a device and on real MPICH, with its results compared.

A program belongs to a package of the registry and is run if that is installed. Its input is a file
in `inputs`.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from . import jobs

INPUTS = Path(str(files(__package__).joinpath("inputs")))


@dataclass(frozen=True)
class Program:
    """One program.

    Attributes:
        package: what to install with pip.
        module: what it brings, by which it is known to be there.
        binary: a file in the module's folder to execute; empty for a script of Python.
        arguments: after the binary or `python`; {inputs} is the folder of inputs.
        kept: lines of the output that are its result, as a regular expression.
        modules: others that must be there.
    """

    name: str
    package: str
    module: str
    arguments: tuple[str, ...]
    kept: str
    binary: str = ""
    modules: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """Modules that are not installed."""
        return [name for name in (self.module, *self.modules) if importlib.util.find_spec(name) is None]

    def command(self) -> list[str]:
        program = sys.executable
        if self.binary:
            spec = importlib.util.find_spec(self.module)
            assert spec is not None
            places = spec.submodule_search_locations or []
            program = str(Path(places[0], self.binary))
        return [program, *(word.format(inputs=INPUTS) for word in self.arguments)]


PROGRAMS = (
    Program(
        "LAMMPS, 256 atoms, 10 steps",
        "lammps",
        "lammps",
        ("-in", "{inputs}/melt.lmp", "-log", "none"),
        r"^\s+\d+( +-?[\d.]+){5} *$",
        binary="lmp",
    ),
    Program(
        "emcee over schwimmbad's MPIPool",
        "emcee schwimmbad",
        "emcee",
        ("{inputs}/emcee_pool.py",),
        r"^mean ",
        modules=("schwimmbad",),
    ),
    Program(
        "pylops-mpi, first derivative and adjoint",
        "pylops-mpi pyproximal",
        "pylops_mpi",
        ("{inputs}/pylops_derivative.py",),
        r"^sums ",
        modules=("pyproximal",),
    ),
)


@dataclass(frozen=True)
class Run:
    """How a program ran. `result`: its lines that are kept; `trouble`: why there is none."""

    result: tuple[str, ...]
    seconds: float
    figures: dict[str, Any]
    trouble: str = ""


@dataclass(frozen=True)
class Verdict:
    """A program, on a device and on MPICH; None for both if it is not installed."""

    program: Program
    here: Run | None = None
    there: Run | None = None

    @property
    def good(self) -> bool:
        return self.here is None or not self.text().startswith("**")

    def text(self) -> str:
        """In words."""
        if self.here is None or self.there is None:
            return f"not installed: pip install {self.program.package}"
        if self.here.trouble:
            return f"**fails**: {self.here.trouble}"
        if self.there.trouble:
            return f"runs; MPICH does not: {self.there.trouble}"
        return "same result as MPICH" if self.here.result == self.there.result else "**another result than MPICH**"


def run(programs: Sequence[Program], device: str, ranks: int, limit: float) -> Iterator[Verdict]:
    """One after the other; `limit` seconds for each run."""
    mpiexec, library = jobs.mpich_files()
    for program in programs:
        if program.missing():
            yield Verdict(program)
            continue
        with tempfile.TemporaryDirectory(prefix="lanai-conform-") as place:
            file = Path(place, "figures.json")
            options = ["--quiet", "-n", str(ranks), "--device", device, "--max-wall", str(limit), "--json", str(file)]
            lanai = [sys.executable, "-m", "lanai_sim", "run", *options, *program.command()]
            here = _run(program, lanai, {}, file)
            mpich = [str(mpiexec), "-n", str(ranks), *program.command()]
            there = _run(program, mpich, jobs.mpich_environment(library, limit), file)
            yield Verdict(program, here, there)


def _run(program: Program, command: Sequence[str], environment: dict[str, str], figures: Path) -> Run:
    begun = time.monotonic()
    figures.unlink(missing_ok=True)
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=figures.parent,
    )
    seconds = time.monotonic() - begun
    kept = tuple(line.rstrip() for line in done.stdout.splitlines() if re.search(program.kept, line))
    found = json.loads(figures.read_text())["figures"] if figures.exists() else {}
    trouble = ""
    if done.returncode or not kept:
        said = done.stderr.strip().splitlines()
        trouble = f"exit code {done.returncode}" + (f": {said[-1]}" if said else "")
    return Run(kept, seconds, found, trouble)


def page(verdicts: Sequence[Verdict], device: str, ranks: int, command: str) -> str:
    """The table as Markdown."""
    lines = [
        "# Programs",
        "",
        f"Unmodified programs of the package registry with {ranks} ranks on the device `{device}`, compared with the",
        "same runs on real MPICH. This page is written by",
        "",
        "```",
        command,
        "```",
        "",
        "| program | simulated ms | wall s | MPICH wall s | verdict |",
        "|---|---:|---:|---:|---|",
    ]
    for one in verdicts:
        if one.here is None or one.there is None:
            numbers = "| | | |"
        else:
            simulated = one.here.figures.get("run.simulated_us", 0.0) / 1000
            numbers = f"| {simulated:,.3f} | {one.here.seconds:.1f} | {one.there.seconds:.1f} |"
        lines.append(f"| {one.program.name} {numbers} {one.text()} |")
    results = [one for one in verdicts if one.here is not None and one.here.result]
    if results:
        lines += ["", "## Results", ""]
    for one in results:
        assert one.here is not None
        lines += [f"{one.program.name}:", "", "```", *one.here.result, "```", ""]
    return "\n".join(lines).rstrip() + "\n"
