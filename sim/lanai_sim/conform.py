"""mpi4py's own test suite on simulated NICs: fetched as it is published, run a module at a time, counted."""

import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lanai_firmware import cache
from lanai_host.errors import UserError

VERSION = "4.1.2"
# Modules of chapters of MPI that are not there yet: one-sided communication, I/O, dynamic processes, sessions.
LEFT_OUT = frozenset(
    {
        *("test_dynproc", "test_file", "test_io", "test_rma", "test_rma_nb", "test_session", "test_spawn", "test_win"),
        "test_subclass",  # opens a file when it is imported
        "test_util_sync",  # counters and locks in windows
    }
)
# Classes elsewhere that test objects of those chapters.
LEFT_OUT_CLASSES = (
    "TestErrhandlerFile",
    "TestMessageRMA",
    "TestObjModel.testSafeFreeCreated",  # opens a file
    "TestErrhandlerWin",
)
CLI = "import sys; from lanai_sim.cli import main; sys.exit(main())"


@dataclass
class Outcome:
    """One module. `failed` names tests; `trouble` says why a module did not come to its end."""

    module: str
    run: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)
    trouble: str = ""

    @property
    def passed(self) -> int:
        return max(0, self.run - self.skipped - len(self.failed))


def suite() -> Path:
    """The directory of the suite's tests, fetched with pip the first time."""
    directory = cache.directory() / f"mpi4py-{VERSION}"
    if not (directory / "test").is_dir():
        _fetch(directory)
    return directory / "test"


def _fetch(directory: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache.directory()) as name:
        work = Path(name)
        command = ["download", "--quiet", "--no-deps", "--no-binary", "mpi4py", f"mpi4py=={VERSION}", "-d", name]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--disable-pip-version-check", *command],
            capture_output=True,
            text=True,
            check=False,
        )
        archive = work / f"mpi4py-{VERSION}.tar.gz"
        if done.returncode or not archive.exists():
            last = "\n".join(done.stderr.strip().splitlines()[-5:])
            raise UserError(f"pip could not download mpi4py {VERSION}, whose tests are the suite:\n{last}")
        with tarfile.open(archive) as tar:
            tar.extractall(work, filter="data")
        (work / f"mpi4py-{VERSION}").rename(directory)


def modules(only: Sequence[str] = ()) -> list[str]:
    """The suite's modules, without those of chapters that are left out; or those that were asked for."""
    known = sorted(path.stem for path in suite().glob("test_*.py"))
    for name in only:
        if name not in known:
            raise UserError(f"the suite has no module {name!r}; it has {', '.join(known)}")
    return list(only) or [name for name in known if name not in LEFT_OUT]


def run(names: Sequence[str], ranks: int, device: str, limit: float) -> Iterator[Outcome]:
    """Run modules one by one. `limit` is in seconds of real time for each."""
    for name in names:
        yield run_module(name, ranks, device, limit)


def run_module(name: str, ranks: int, device: str, limit: float) -> Outcome:
    """One module, in a run of its own so that one that hangs does not take the others along."""
    skips = [argument for pattern in LEFT_OUT_CLASSES for argument in ("-x", pattern)]
    program = ["python", str(suite() / "main.py"), "-v", "-i", rf"^{name}\.py$", *skips]
    options = ["-n", str(ranks), "--device", device, "--prefix", "--max-wall", str(limit)]
    done = subprocess.run(
        [sys.executable, "-c", CLI, "run", *options, *program],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return read(name, done.stdout + "\n" + done.stderr, done.returncode, ranks)


_FAILED = re.compile(r"^\[\d+\] (?:FAIL|ERROR): (\w+) \(([\w.]+?)(?:\.\1)?\)", re.M)


def read(name: str, text: str, code: int, ranks: int) -> Outcome:
    """What unittest printed in a run with --prefix. A test failed if it did on any rank."""
    outcome = Outcome(name)
    counts = [int(count) for count in re.findall(r"^\[0\] Ran (\d+) tests?", text, re.M)]
    skipped = re.findall(r"^\[0\] (?:OK|FAILED) \(.*?skipped=(\d+)", text, re.M)
    outcome.run = counts[0] if counts else 0
    outcome.skipped = int(skipped[0]) if skipped else 0
    outcome.failed = sorted({f"{place}.{test}" for test, place in _FAILED.findall(text)})
    ended = len(re.findall(r"^\[\d+\] Ran \d+ tests?", text, re.M))
    if ended < ranks or (code and not outcome.failed):
        own = [line for line in text.splitlines() if line.startswith("lanai: ")]
        last = [line for line in text.splitlines() if line.strip()]
        outcome.trouble = (own or last or ["no output"])[0][:200]
    return outcome


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Totals. A module that did not end counts as one failure more."""
    return {
        "mpi4py.run": sum(outcome.run for outcome in outcomes),
        "mpi4py.passed": sum(outcome.passed for outcome in outcomes),
        "mpi4py.skipped": sum(outcome.skipped for outcome in outcomes),
        "mpi4py.failed": sum(len(outcome.failed) + bool(outcome.trouble) for outcome in outcomes),
    }


def page(outcomes: Sequence[Outcome], ranks: int, device: str) -> str:
    """The table as a page of the documentation."""
    totals = figures(outcomes)
    lines = [
        "# mpi4py's test suite",
        "",
        f"mpi4py {VERSION}, `lanai conform mpi4py -n {ranks} --device {device}`. Left out, because these chapters of MPI",
        "are not there yet: one-sided communication (`test_util_sync` builds on it), I/O (`test_subclass` opens a file when",
        "imported), dynamic processes, sessions.",
        "",
        "| module | run | passed | skipped | failed |",
        "|---|---:|---:|---:|---:|",
    ]
    for o in outcomes:
        failed = f"{len(o.failed)}" + (" (did not end)" if o.trouble else "")
        lines.append(f"| {o.module} | {o.run} | {o.passed} | {o.skipped} | {failed} |")
    total = [int(totals[f"mpi4py.{name}"]) for name in ("run", "passed", "skipped", "failed")]
    lines.append("| **all** | " + " | ".join(f"**{count}**" for count in total) + " |")
    failures = [f"- `{name}`" for outcome in outcomes for name in outcome.failed]
    if failures:
        lines += ["", "Failures:", "", *failures]
    return "\n".join(lines) + "\n"
