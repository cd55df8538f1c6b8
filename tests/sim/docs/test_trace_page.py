"""The page on traces: its table is what `lanai bench trace` prints, and its sample runs."""

import json
import re
import sys

import pytest

from . import pages

PAGE = pages.ROOT / "docs" / "reference" / "trace.md"
COMMAND = re.compile(r"`(lanai bench trace --rounds \d+)`")
ROW = re.compile(r"^\| `(trace\.\w+(?:\.\w+)?)` \| ([\d.]+) \|$", re.M)


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """Return the figures that the command of the page measures."""
    folder = tmp_path_factory.mktemp("bench")
    (command,) = COMMAND.findall(PAGE.read_text())
    pages.run([f"{command} --json figures.json"], folder)
    return json.loads((folder / "figures.json").read_text())["figures"]


@pytest.mark.ci
def test_the_table_is_what_the_command_prints(figures, request):
    page = PAGE.read_text()
    shown = dict(ROW.findall(page))
    assert set(shown) == set(figures) - {"trace.cpu_time_ratio"}  # that is not a figure of the simulated machine
    fresh = {name: f"{figures[name]:.{len(value.partition('.')[2])}f}" for name, value in shown.items()}
    # The file names the program and its command, whose length differs from place to place.
    size = "trace.bytes_per_thousand_slots"
    if float(fresh[size]) == pytest.approx(float(shown[size]), rel=0.05):
        fresh[size] = shown[size]
    if request.config.getoption("--refresh-docs"):
        PAGE.write_text(ROW.sub(lambda row: f"| `{row[1]}` | {fresh[row[1]]} |", page))
    else:
        assert shown == fresh, f"{PAGE.name} does not show what its command prints; run pytest --refresh-docs"


def test_the_sample_reads_a_trace(tmp_path):
    (sample,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    (tmp_path / "sample.py").write_text(sample)
    program = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
    traced = f"lanai run -q -n 2 --trace run.trace {sys.executable} -c '{program}'"
    printed = pages.run([traced, f"{sys.executable} sample.py"], tmp_path)
    first, *calls = printed.splitlines()
    assert first == "True [] 0"
    assert {line.split()[1] for line in calls} >= {"MPI_Barrier"}
    assert all(re.fullmatch(r"[01] MPI_\w+ \d+ \d+", line) for line in calls)
