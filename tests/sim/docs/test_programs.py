"""docs/usual-bugs.md: each program does here, and under MPICH, what the page says."""

import doctest
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_sim.job.forked import WarmServers
from lanai_sim.job.launcher import Run
from lanai_sim.job.output import Output
from lanai_sim.kernel.kernel import FOREVER
from lanai_sim.units import duration
from openlanai import Job

from . import pages
from .pages import ROOT, check, excerpt

PAGE = ROOT / "docs" / "usual-bugs.md"
BUG = re.compile(
    r"^## (?P<title>\d+\. .*?)\n\n```python\n(?P<program>.*?)```\n\nOn (?P<ranks>\d) ranks"
    r"(?: and `--max-sim-time (?P<limit>\w+)`)? MPICH (?P<mpich>hangs|passes|fails)\. "
    r"(?:Here|A plain run here passes; `(?P<check>lanai check)`):\n\n```text\n(?P<shown>.*?)```\n",
    re.M | re.S,
)
BUGS = list(BUG.finditer(PAGE.read_text()))
SECONDS = 20  # in which MPICH ends a program that does not hang


@pytest.fixture(scope="module")
def servers():
    made = WarmServers(["numpy"])
    yield made
    made.close()


def printed(bug, servers):
    """Return the output of a run that does not end well."""
    limit = duration(bug["limit"]) if bug["limit"] else FOREVER
    job = Job((sys.executable, "bug.py"), int(bug["ranks"]), max_sim_time=limit, max_wall=120)
    result = Run(job, output=Output(prefix=False, capture=True), servers=servers).execute()
    text = "".join(one.stdout + one.stderr for one in result.outputs) + f"\nlanai: {result.report}\n"
    assert bool(result.code) == (not bug["check"]), (bug["title"], text)
    return checked(bug) if bug["check"] else re.sub(r"pid \d+", "pid 4711", text)


def checked(bug):
    """Return the findings of the check on a program that runs well."""
    words = [sys.executable, "-P", "-m", "lanai_sim", "check", "-n", bug["ranks"], "python", "bug.py"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 10, (bug["title"], done.stderr)
    return done.stderr


def test_there_are_twenty():
    assert len(BUGS) == PAGE.read_text().count("\n## ") == 20


@pytest.mark.ci
def test_they_end_as_shown(tmp_path, monkeypatch, servers, request):
    monkeypatch.chdir(tmp_path)
    found = []
    for bug in BUGS:
        (tmp_path / "bug.py").write_text(bug["program"])
        found.append((bug.span("shown"), excerpt(bug["shown"], printed(bug, servers))))
    check(PAGE, found, request.config.getoption("--refresh-docs"))


@pytest.mark.ci
@pytest.mark.parametrize("bug", BUGS, ids=[bug["title"].partition(".")[0] for bug in BUGS])
def test_mpich(bug, tmp_path):
    """The package `mpich` has the launcher and the library of the same release."""
    (tmp_path / "bug.py").write_text(bug["program"])
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    words = [mpiexec, "-n", bug["ranks"], sys.executable, "bug.py"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as popen:
        try:
            ended = "fails" if popen.wait(SECONDS) else "passes"
        except subprocess.TimeoutExpired:
            popen.terminate()
            popen.wait()
            ended = "hangs"
    assert ended == bug["mpich"]


# The page on traces: its table is what `lanai dev bench trace` prints, and its sample runs.

PAGE_TRACE_PAGE = pages.ROOT / "docs" / "reference" / "trace.md"
COMMAND = re.compile(r"`(lanai dev bench trace --rounds \d+)`")
ROW = re.compile(r"^\| `(trace\.\w+(?:\.\w+)?)` \| ([\d.]+) \|$", re.M)


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """Return the figures that the command of the page measures."""
    folder = tmp_path_factory.mktemp("bench")
    (command,) = COMMAND.findall(" ".join(PAGE_TRACE_PAGE.read_text().split()))  # it may go over a line's end
    pages.run([f"{command} --json figures.json"], folder)
    return json.loads((folder / "figures.json").read_text())["figures"]


@pytest.mark.ci
def test_the_table_is_what_the_command_prints(figures, request):
    page = PAGE_TRACE_PAGE.read_text()
    shown = dict(ROW.findall(page))
    assert set(shown) == set(figures) - {"trace.cpu_time_ratio"}  # that is not a figure of the simulated machine
    fresh = {name: f"{figures[name]:.{len(value.partition('.')[2])}f}" for name, value in shown.items()}
    # The file names the program and its command, whose length differs from place to place.
    size = "trace.bytes_per_thousand_slots"
    if float(fresh[size]) == pytest.approx(float(shown[size]), rel=0.05):
        fresh[size] = shown[size]
    if request.config.getoption("--refresh-docs"):
        PAGE_TRACE_PAGE.write_text(ROW.sub(lambda row: f"| `{row[1]}` | {fresh[row[1]]} |", page))
    else:
        assert shown == fresh, (
            f"{PAGE_TRACE_PAGE.name} does not show what its command prints; run pytest --refresh-docs"
        )


def test_the_samples_read_a_trace(tmp_path):
    samples = re.findall(r"^```python\n(.*?)^```", PAGE_TRACE_PAGE.read_text(), re.M | re.S)
    for name, sample in zip(("read.py", "load.py"), samples, strict=True):
        (tmp_path / name).write_text(sample)
    program = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
    pages.run([f"lanai run -q -n 2 --trace run.trace {sys.executable} -c '{program}'"], tmp_path)
    first, *calls = pages.run([f"{sys.executable} read.py"], tmp_path).splitlines()
    assert first == "True [] 0"
    assert {line.split()[1] for line in calls} >= {"MPI_Barrier"}
    assert all(re.fullmatch(r"[01] MPI_\w+ \d+ \d+", line) for line in calls)
    begins = re.findall(r"\d+", pages.run([f"{sys.executable} load.py"], tmp_path))
    assert begins == [line.split()[2] for line in calls]


# The examples of docs/api.md print what the page shows.


def test_the_examples_of_the_page(monkeypatch):
    monkeypatch.chdir(pages.ROOT)
    options = doctest.ELLIPSIS | doctest.REPORT_ONLY_FIRST_FAILURE
    page = str(pages.ROOT / "docs" / "api.md")
    failed, tried = doctest.testfile(page, module_relative=False, globs={"__name__": "__main__"}, optionflags=options)
    assert tried > 20
    assert failed == 0
