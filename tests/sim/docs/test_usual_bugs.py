"""docs/usual-bugs.md: each program does here, and under MPICH, what the page says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_sim.job.launcher import Run
from lanai_sim.job.output import Output
from lanai_sim.job.warm import WarmServers
from lanai_sim.kernel.kernel import FOREVER
from lanai_sim.units import duration
from openlanai import Job

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
