"""Running modules of the suite: on the simulated NICs, or on the real MPICH of the `mpich`
package."""

import dataclasses
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lanai_firmware import output_file
from lanai_host.errors import UserError
from lanai_host.stacks import stack

from ...job.job import Job
from ...job.result import Ending
from . import suite
from .suite import VERSION

# A reader of unittest's output on all ranks, into counts and names.


@dataclass
class Outcome:
    """One module. `skipped` and `failed` name tests; `trouble` says why a module did not come to
    its end.

    Of the job that it ran in: `seconds` of real time, `simulated` milliseconds, `cycles` that all
    NICs lived through together. Modules of one job have these with the last of them.
    """

    module: str
    run: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    trouble: str = ""
    seconds: float = 0.0
    simulated: float = 0.0
    cycles: float = 0.0

    @property
    def passed(self) -> int:
        return max(0, self.run - len(self.skipped) - len(self.failed))


_FAILED = re.compile(r"^\[\d+\] (?:FAIL|ERROR): (\w+) \(([\w.]+?)(?:\.\1)?\)", re.M)
# unittest writes the name, then runs the test, then writes how it ended: other ranks' lines may
# come between, and a test's own.
_BEGUN = re.compile(r"^\[0\] (\w+) \(([\w.]+?)(?:\.\1)?\)(.*)$")
_SKIPPED = re.compile(r"\.\.\. .*?skipped '|^skipped '")


def read(name: str, text: str, code: int, ranks: int) -> Outcome:
    """A module's job, whose lines begin with [rank]. A test failed if it did on any rank; rank 0
    reports what was skipped."""
    outcome = Outcome(name)
    counts = [int(count) for count in re.findall(r"^\[0\] Ran (\d+) tests?", text, re.M)]
    outcome.run = counts[0] if counts else 0
    outcome.failed = sorted({f"{place}.{test}" for test, place in _FAILED.findall(text)})
    outcome.skipped = sorted(set(_skipped(text)) - set(outcome.failed))
    ended = len(re.findall(r"^\[\d+\] Ran \d+ tests?", text, re.M))
    if ended < ranks or (code and not outcome.failed):
        own = [line for line in text.splitlines() if line.startswith("lanai: ")]
        last = [line for line in text.splitlines() if line.strip()]
        outcome.trouble = (own or last or ["no output"])[0][:200]
    return outcome


def _skipped(text: str) -> Iterable[str]:
    current = ""
    for line in text.splitlines():
        begun = _BEGUN.match(line)
        if begun:
            current, rest = f"{begun[2]}.{begun[1]}", begun[3].strip()
        elif line.startswith("[0] "):
            rest = line[4:].strip()
        else:
            continue
        if current and _SKIPPED.search(rest):
            yield current


def by_module(outcome: Outcome, names: Sequence[str], text: str) -> list[Outcome]:
    """The outcomes of the modules that ran together in one job."""
    ran = {match[2] + "." + match[1] for match in map(_BEGUN.match, text.splitlines()) if match}
    outcomes = []
    for name in names:
        inside = f"{name}."
        outcomes.append(
            Outcome(
                name,
                sum(test.startswith(inside) for test in ran),
                [test for test in outcome.skipped if test.startswith(inside)],
                [test for test in outcome.failed if test.startswith(inside)],
            )
        )
    last = outcomes[-1]
    last.trouble, last.seconds = outcome.trouble, outcome.seconds
    last.simulated, last.cycles = outcome.simulated, outcome.cycles
    return outcomes


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Totals. A module that did not end counts as one failure more. On NICs also how fast they were
    simulated."""
    totals: dict[str, float] = {
        "mpi4py.run": sum(outcome.run for outcome in outcomes),
        "mpi4py.passed": sum(outcome.passed for outcome in outcomes),
        "mpi4py.skipped": sum(len(outcome.skipped) for outcome in outcomes),
        "mpi4py.failed": sum(len(outcome.failed) + bool(outcome.trouble) for outcome in outcomes),
    }
    if cycles := sum(outcome.cycles for outcome in outcomes):
        seconds = sum(outcome.seconds for outcome in outcomes)
        totals["mpi4py.simulated_ms"] = sum(outcome.simulated for outcome in outcomes)
        totals["mpi4py.wall_seconds"] = seconds
        totals["mpi4py.nic_cycles_per_second"] = cycles / max(seconds, 1e-9)
    return totals


def counts(totals: Mapping[str, float]) -> str:
    """Totals as a line."""
    return ", ".join(f"{int(totals[f'mpi4py.{name}'])} {name}" for name in ("run", "passed", "skipped", "failed"))


def speed(totals: Mapping[str, float]) -> str:
    """Return how fast NICs were simulated, as a line; empty where there are none."""
    if "mpi4py.nic_cycles_per_second" not in totals:
        return ""
    simulated, seconds, rate = (
        totals[f"mpi4py.{n}"] for n in ("simulated_ms", "wall_seconds", "nic_cycles_per_second")
    )
    return f"{simulated:,.1f} ms of simulated time in {seconds:,.0f} s of real time: {rate:,.0f} NIC cycles/s"


# Outcomes kept in files, module by module, so that a suite of hours can be interrupted and gone on
# with, and a page can grow.


class OutcomeFile:
    """One file in the directory of `--resume`. It belongs to one device, or one version of MPICH, and
    number of ranks. It has a line for each module, so that a line can be deleted by hand."""

    def __init__(self, directory: str | Path, device: str, ranks: int) -> None:
        name = device.replace(" ", "-").lower()  # MPICH 5.0.2
        self._path = Path(directory) / f"{name}.{ranks}.json"
        self._of = {"suite": "mpi4py", "version": VERSION, "device": device, "ranks": ranks}
        self._outcomes: dict[str, Outcome] = {}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--resume {str(directory)!r} is not a directory: {error.strerror}") from error
        if self._path.exists():
            self._read()

    def _read(self) -> None:
        try:
            record = json.loads(self._path.read_text())
            self._outcomes = {name: Outcome(name, **values) for name, values in record["modules"].items()}
            found = record["of"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{str(self._path)!r} holds no outcomes ({error}); delete it") from error
        if found != self._of:
            raise UserError(f"{str(self._path)!r} is of {found}, this run of {self._of}; name another directory")

    def ended(self) -> set[str]:
        """The modules that came to their end."""
        return {name for name, outcome in self._outcomes.items() if not outcome.trouble}

    def go_on(self, names: Sequence[str], run: Callable[[str], Outcome]) -> Iterator[Outcome]:
        """The outcome of each module: from the file if it came to its end there, or run now."""
        for name in names:
            if name not in self.ended():
                self._outcomes[name] = run(name)
                self._write()
            yield self._outcomes[name]

    def _write(self) -> None:
        lines = [f"{json.dumps(name)}: {json.dumps(_compact(self._outcomes[name]))}" for name in sorted(self._outcomes)]
        modules = "{\n" + ",\n".join(lines) + "\n}"
        output_file.write(self._path, f'{{"of": {json.dumps(self._of)},\n"modules": {modules}}}\n', "the outcomes")


def _compact(outcome: Outcome) -> dict[str, object]:
    """Return the fields that do not have their empty values. Times are rounded to a tenth of a second, and
    to a tenth of a simulated microsecond."""
    fields = dataclasses.fields(Outcome)
    values = {field.name: getattr(outcome, field.name) for field in fields if field.name != "module"}
    values |= {"seconds": round(outcome.seconds, 1), "simulated": round(outcome.simulated, 4)}
    return {name: value for name, value in values.items() if value}


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
        if result.ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt  # who ends the command means the suite, not this module
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
    result = read(title, ran.text, ran.code, ranks)
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
    return by_module(result, names, text)
