"""Running modules of the suite: on the simulated NICs, or on the real MPICH of the `mpich`
package."""

import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lanai_host.errors import UserError
from lanai_host.stacks import stack

from ...job.job import Job
from . import outcome, suite
from .outcome import Outcome

RANK = "rank."  # and its number: files with what it printed


@dataclass(frozen=True)
class Ran:
    """A job of modules that has ended. Each line of a rank in `text` begins with its number, [rank]."""

    text: str
    code: int
    figures: Mapping[str, float] = field(default_factory=dict)


Runner = Callable[[Sequence[str], int, float], Ran]  # runs modules with so many ranks for at most so many seconds


def job(device: str, names: Sequence[str], ranks: int, limit: float) -> Job:
    """Return the job of these modules on a device."""
    spares = suite.spares(names, ranks, stack(device))
    program = ("python", *suite.program(names))
    return Job(program, ranks, device, universe=spares and ranks + spares, max_wall=limit, capture=True)


def simulated(device: str) -> Runner:
    """Return a runner on simulated NICs, or on a device without them."""

    def run(names: Sequence[str], ranks: int, limit: float) -> Ran:
        result = job(device, names, ranks, limit).run()
        printed = [of_rank(rank, one.stdout + one.stderr) for rank, one in enumerate(result.outputs)]
        said = [f"lanai: {text}" for text in (result.report, *result.notes) if text]
        return Ran("\n".join([*printed, *said]), result.code, result.figures)

    return run


def of_rank(rank: int, printed: str) -> str:
    """Return what a rank printed, each line with its number."""
    return "\n".join(f"[{rank}] {line}" for line in printed.splitlines())


def mpich_files() -> tuple[Path, Path]:
    """The mpiexec and libmpi.so.12 of the `mpich` package."""
    try:
        distribution = importlib.metadata.distribution("mpich")
    except importlib.metadata.PackageNotFoundError:
        raise UserError("--against mpich: the package `mpich` is not installed: pip install mpich") from None
    files = {file.name: Path(str(distribution.locate_file(file))).resolve() for file in distribution.files or ()}
    for name in ("mpiexec", "libmpi.so.12"):
        if name not in files or not files[name].exists():
            raise UserError(f"--against mpich: the package mpich {distribution.version} has no {name}")
    return files["mpiexec"], files["libmpi.so.12"]


def mpich_environment(library: Path, limit: float) -> dict[str, str]:
    """Return the variables that make programs find the library, and stop them after so many seconds."""
    return {
        "MPI4PY_LIBMPI": str(library),
        "MPI4PY_MPIABI": "mpich",
        "LD_LIBRARY_PATH": str(library.parent),
        "MPIEXEC_TIMEOUT": str(int(limit)),
    }


def mpich() -> Runner:
    """Return a runner on real MPICH, of the `mpich` package."""
    mpiexec, library = mpich_files()

    def run(names: Sequence[str], ranks: int, limit: float) -> Ran:
        with tempfile.TemporaryDirectory(prefix="lanai-conform-") as place:
            # Each rank into its own files: mpiexec mixes the ranks within lines.
            out, err = (str(Path(place, f"{RANK}%r.{stream}")) for stream in ("out", "err"))
            apart = ["-outfile-pattern", out, "-errfile-pattern", err]
            done = subprocess.run(
                [str(mpiexec), *apart, "-n", str(ranks), sys.executable, *suite.program(names)],
                env={**os.environ, **mpich_environment(library, limit)},
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            return Ran("\n".join([done.stdout, done.stderr, *_apart(Path(place))]), done.returncode)

    return run


def run(runner: Runner, names: Sequence[str], ranks: int, limit: float) -> Iterator[Outcome]:
    """Each module in a job of its own, so that one that hangs does not take the others along.
    `limit`: seconds for each, of which heavy ones get several times as many."""
    for name in names:
        yield run_job(runner, name, [name], ranks, limit * suite.HEAVY.get(name, 1))[0]


def run_job(runner: Runner, title: str, names: Sequence[str], ranks: int, limit: float) -> tuple[Outcome, str]:
    """Run modules in one job. Return their outcome together, and the text that it was read from."""
    begun = time.monotonic()
    ran = runner(names, ranks, limit)
    result = outcome.read(title, ran.text, ran.code, ranks)
    result.seconds = time.monotonic() - begun
    result.simulated = ran.figures.get("run.simulated_us", 0.0) / 1000
    result.cycles = ran.figures.get("run.nic_cycles", 0.0)
    return result, ran.text


def _apart(place: Path) -> Iterator[str]:
    """Return the output of each rank from its own file."""
    for path in sorted(place.glob(f"{RANK}*")):
        yield of_rank(int(path.name.split(".")[1]), path.read_text(errors="replace"))


def run_together(runner: Runner, names: Sequence[str], ranks: int, limit: float) -> list[Outcome]:
    """All modules in one job, as the suite's own runner does."""
    result, text = run_job(runner, "all", names, ranks, limit)
    return outcome.by_module(result, names, text)
