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
from .suite import VERSION

SAME = "same result as MPICH"


@dataclass(frozen=True)
class Run:
    """A run of a program. `result`: what is kept of its output and errors; `seconds`: of all processors;
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
        return SAME if self.here.result == self.there.result else "**another result than MPICH**"


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
            wanted = program.ranks or ranks
            options = ["--quiet", "-n", str(wanted), "--device", device, "--max-wall", str(limit)]
            options += ["--universe", str(wanted + program.spares)] if program.spares else []
            lanai = [sys.executable, "-m", "lanai_sim", "run", *options, "--json", str(figures), *command]
            here = _run(program, lanai, {}, place)
            figures.unlink(missing_ok=True)
            mpich = [str(mpiexec), "-n", str(wanted), *command]
            there = _run(program, mpich, _mpich_environment(library, limit, place), place)
            yield Verdict(program, here, there)


def _prepared(program: Program, place: Path) -> list[str]:
    """The command that runs it, with its files in `place`."""
    for name in program.files:
        shutil.copy(INPUTS / name, place)
    if program.folder:
        shutil.copytree(program.folder, place, dirs_exist_ok=True)
    for command in program.before:
        subprocess.run(command, check=True, cwd=place)
    if not program.compiled:
        return program.command()
    made = place / "program"
    subprocess.run([*program.command(), "-o", str(made)], check=True, cwd=place)
    return [str(made)]


def _mpich_environment(library: Path, limit: float, place: Path) -> dict[str, str]:
    """Return the variables that make programs of the registry and of Debian find the library. Debian's look for
    libmpich.so.12. Bindings have the names of both."""
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
        input=program.typed,
    )
    seconds = _processor_seconds() - begun
    kept = _kept(program, f"{done.stdout}\n{done.stderr}")
    figures = place / "figures.json"
    found = json.loads(figures.read_text())["figures"] if figures.exists() else {}
    trouble = ""
    if done.returncode or not (kept or program.silent):
        said = without_folders(done.stderr).strip().splitlines()
        trouble = f"exit code {done.returncode}" + (f": {said[-1]}" if said else "")
    return Run(kept, seconds, found, trouble)


def without_folders(text: str) -> str:
    """Files by their names alone: their folders differ from machine to machine."""
    return re.sub(r"(?<![^\s'\"(=])/(?:[^\s/:]+/)+", "", text)


def _kept(program: Program, text: str) -> tuple[str, ...]:
    """Return the parts of a program's output that are compared. Ranks that print at the same time may share a line."""
    if program.any_order:
        found = re.finditer(program.kept, text, re.M)
    else:
        found = filter(None, (re.search(program.kept, line.rstrip()) for line in text.splitlines()))
    kept = [" ".join(filter(None, match.groups())) or match.string for match in found]
    return tuple(sorted(kept) if program.any_order else kept)


def _processor_seconds() -> float:
    """Return the CPU time of all processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def page(verdicts: Sequence[Verdict], device: str, ranks: int, command: str, left_out: Mapping[str, str]) -> str:
    """The table of programs as Markdown, with which are not run and the results of the others."""
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
        *_table(verdicts, "program"),
        "",
        *_left_out(left_out),
    ]
    results = [one for one in verdicts if one.here is not None and one.here.result]
    if results:
        lines += ["", "## Results", ""]
    for one in results:
        assert one.here is not None
        lines += [f"{one.program.name}:", "", "```", *one.here.result, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def page_of_demos(verdicts: Sequence[Verdict], device: str, command: str, left_out: Mapping[str, str]) -> str:
    """The table of mpi4py's demos as Markdown, and which are not run."""
    same = sum(one.text() == SAME for one in verdicts)
    lines = [
        f"# mpi4py's demos on `{device}`",
        "",
        f"Demos of mpi4py {VERSION} that need no other package, each with the ranks that its own script",
        "starts. What all ranks print, without times and names of processors, and the exit code are",
        f"compared with real MPICH: {same} of {len(verdicts)} are the same. This page is written by",
        "",
        "```",
        command,
        "```",
        "",
        *_table(verdicts, "demo", "ranks"),
        "",
        *_left_out(left_out),
    ]
    return "\n".join(lines) + "\n"


def _left_out(reasons: Mapping[str, str]) -> list[str]:
    return ["## Left out", "", *(f"- {name}: {why}" for name, why in reasons.items())]


def _table(verdicts: Sequence[Verdict], *heads: str) -> list[str]:
    """`heads`: of the columns before the figures; the second is that of ranks."""
    lines = [
        f"| {' | '.join(heads)} | simulated ms | CPU s | MPICH CPU s | verdict |",
        f"|---|{'---:|' * (len(heads) + 2)}---|",
    ]
    for one in verdicts:
        name = f"| {one.program.name.replace('|', chr(92) + '|')} |" + (f" {one.program.ranks} |" if heads[1:] else "")
        if one.here is None or one.there is None:
            numbers = " | | |"
        else:
            simulated = one.here.figures.get("run.simulated_us", 0.0) / 1000
            numbers = f" {simulated:,.3f} | {one.here.seconds:.1f} | {one.there.seconds:.1f} |"
        lines.append(f"{name}{numbers} {one.text()} |")
    return lines
