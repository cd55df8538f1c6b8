"""Running modules of the suite: on the simulated NICs, or on the real MPICH of the `mpich`
package."""

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from lanai_host.errors import UserError
from lanai_host.stacks import stack

from . import outcome, suite
from .outcome import Outcome

RANK = "rank."  # and its number: files with what it printed
# names of modules, ranks, seconds, a file for figures -> what to execute, and what its environment
# has beside ours
Command = Callable[[Sequence[str], int, float, Path], tuple[list[str], Mapping[str, str]]]


def simulated(device: str) -> Command:
    """`lanai run` on a device."""

    def command(names: Sequence[str], ranks: int, limit: float, file: Path) -> tuple[list[str], Mapping[str, str]]:
        options = ["-n", str(ranks), "--device", device, "--prefix", "--max-wall", str(limit), "--json", str(file)]
        if spares := suite.spares(names, ranks, stack(device)):
            options += ["--universe", str(ranks + spares)]
        return [sys.executable, "-m", "lanai_sim", "run", *options, "python", *suite.program(names)], {}

    return command


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


def mpich() -> Command:
    """Real MPICH, of the `mpich` package."""
    mpiexec, library = mpich_files()

    def command(names: Sequence[str], ranks: int, limit: float, file: Path) -> tuple[list[str], Mapping[str, str]]:
        out, err = (str(file.with_name(f"{RANK}%r.{stream}")) for stream in ("out", "err"))
        apart = ["-outfile-pattern", out, "-errfile-pattern", err]
        start = [str(mpiexec), *apart, "-n", str(ranks), sys.executable, *suite.program(names)]
        return start, mpich_environment(library, limit)

    return command


def run(command: Command, names: Sequence[str], ranks: int, limit: float) -> Iterator[Outcome]:
    """Each module in a job of its own, so that one that hangs does not take the others along.
    `limit`: seconds for each, of which heavy ones get several times as many."""
    for name in names:
        yield run_job(command, name, [name], ranks, limit * suite.HEAVY.get(name, 1))[0]


def run_job(command: Command, title: str, names: Sequence[str], ranks: int, limit: float) -> tuple[Outcome, str]:
    """Modules in one job: what came of them together, and the text that it was read from."""
    with tempfile.TemporaryDirectory(prefix="lanai-conform-") as place:
        file = Path(place) / "figures.json"
        arguments, environment = command(names, ranks, limit, file)
        begun = time.monotonic()
        done = subprocess.run(
            arguments,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        seconds = time.monotonic() - begun
        figures = json.loads(file.read_text())["figures"] if file.exists() else {}
        text = "\n".join([done.stdout, done.stderr, *_apart(Path(place))])
    result = outcome.read(title, text, done.returncode, ranks)
    result.seconds = seconds
    result.simulated = figures.get("run.simulated_us", 0.0) / 1000
    result.cycles = figures.get("run.nic_cycles", 0.0)
    return result, text


def _apart(place: Path) -> Iterator[str]:
    """Return the output of each rank from its own file, as `--prefix` writes it: mpiexec mixes the ranks
    within lines."""
    for path in sorted(place.glob(f"{RANK}*")):
        number = path.name.split(".")[1]
        yield "\n".join(f"[{number}] {line}" for line in path.read_text(errors="replace").splitlines())


def run_together(command: Command, names: Sequence[str], ranks: int, limit: float) -> list[Outcome]:
    """All modules in one job, as the suite's own runner does."""
    result, text = run_job(command, "all", names, ranks, limit)
    return outcome.by_module(result, names, text)
