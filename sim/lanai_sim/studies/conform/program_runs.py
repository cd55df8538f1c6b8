"""Programs on a device and on real MPICH, with their results compared."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanai_host.abi.bindings import CXX, other_names

from . import jobs
from .programs import INPUTS, Program


@dataclass(frozen=True)
class Run:
    """How a program ran. `result`: what is kept of its output and errors; `seconds`: of all processors;
    `trouble`: why there is no result."""

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
            return f"not installed: {self.program.package}"
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
        with tempfile.TemporaryDirectory(prefix="lanai-conform-") as name:
            place = Path(name)
            command = _prepared(program, place)
            figures = place / "figures.json"
            options = ["--quiet", "-n", str(ranks), "--device", device, "--max-wall", str(limit)]
            lanai = [sys.executable, "-m", "lanai_sim", "run", *options, "--json", str(figures), *command]
            here = _run(program, lanai, {}, place)
            figures.unlink(missing_ok=True)
            mpich = [str(mpiexec), "-n", str(ranks), *command]
            there = _run(program, mpich, _mpich_environment(library, limit, place), place)
            yield Verdict(program, here, there)


def _prepared(program: Program, place: Path) -> list[str]:
    """The command that runs it, with its files in `place`."""
    for name in program.files:
        shutil.copy(INPUTS / name, place)
    if not program.compiled:
        return program.command()
    made = place / "program"
    subprocess.run([*program.command(), "-o", str(made)], check=True, cwd=place)
    return [str(made)]


def _mpich_environment(library: Path, limit: float, place: Path) -> dict[str, str]:
    """What makes programs of the registry and of Debian find it; Debian's look for libmpich.so.12.
    Bindings have the names of both."""
    environment = jobs.mpich_environment(library, limit)
    names = place / "mpich"
    names.mkdir()
    for name in ("libmpich.so.12", *CXX):  # it has no C++ bindings: programs that only name theirs start all the same
        (names / name).symlink_to(library)
    # what the library itself needs lies beside it
    places = [names, library.parent, library.parent / "mpich", other_names(), os.environ.get("LD_LIBRARY_PATH")]
    paths = ":".join(str(place) for place in places if place)
    return {**environment, "LD_LIBRARY_PATH": paths, "MPI_LIB_NRN_PATH": str(library)}


def _run(program: Program, command: Sequence[str], environment: Mapping[str, str], place: Path) -> Run:
    begun = _processor_seconds()
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=place,
    )
    seconds = _processor_seconds() - begun
    matches = (re.search(program.kept, line.rstrip()) for line in f"{done.stdout}\n{done.stderr}".splitlines())
    kept = tuple(" ".join(match.groups()) or match.string for match in matches if match)
    figures = place / "figures.json"
    found = json.loads(figures.read_text())["figures"] if figures.exists() else {}
    trouble = ""
    if done.returncode or not kept:
        said = done.stderr.strip().splitlines()
        trouble = f"exit code {done.returncode}" + (f": {said[-1]}" if said else "")
    return Run(kept, seconds, found, trouble)


def _processor_seconds() -> float:
    """Of all processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def page(verdicts: Sequence[Verdict], device: str, ranks: int, command: str) -> str:
    """The table as Markdown."""
    lines = [
        "# Programs",
        "",
        f"Unmodified programs of the package registry and of Debian with {ranks} ranks on the device `{device}`,",
        "compared with the same runs on real MPICH, whose ranks poll while they wait. NetPIPE repeats as",
        "often as the system's clock has it, so its times differ from run to run. This page is written by",
        "",
        "```",
        command,
        "```",
        "",
        "| program | simulated ms | CPU s | MPICH CPU s | verdict |",
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
