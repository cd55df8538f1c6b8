"""One process that forks the ranks of one run after the other."""

import sys

import pytest

from lanai_host.errors import UserError
from lanai_sim.job.forked import WarmServers
from lanai_sim.job.launcher import Run
from lanai_sim.job.output import Output
from openlanai import Job

TELLS = """
import os, sys
from mpi4py import MPI
from pathlib import Path
parent = Path(f"/proc/{os.getppid()}/stat").read_text().split()[3]
print("warm", parent, os.environ.get("GIVEN"), "this" in sys.modules, flush=True)
"""


@pytest.fixture
def servers():
    made = WarmServers(["this", "mpi4py.MPI", "no_such_module"])
    yield made
    made.close()


def told(servers, capfd, text=TELLS, ranks=2, **variables):
    """Return the lines that the ranks of a run print, and its exit code."""
    config = Job((sys.executable, "-c", text), ranks, environment=variables)
    result = Run(config, output=Output(prefix=False), servers=servers).execute()
    return {line for line in capfd.readouterr().out.splitlines() if line.startswith("warm")}, result.code


def test_runs_share_a_process_and_not_an_environment(servers, capfd):
    (first, _), (second, _) = told(servers, capfd, GIVEN="yes"), told(servers, capfd)
    assert len(first) == len(second) == 1
    (first,), (second,) = first, second
    assert first.split()[1] == second.split()[1]
    assert (first.split()[2:], second.split()[2:]) == (["yes", "True"], ["None", "True"])


def test_what_acts_at_the_start_of_a_process_needs_another(servers, capfd):
    (first,), (second,) = told(servers, capfd)[0], told(servers, capfd, PYTHONHASHSEED="1")[0]
    assert first.split()[1] != second.split()[1]


def test_a_rank_that_dies_leaves_the_process_to_others(servers, capfd):
    assert told(servers, capfd, "import os; os.abort()")[1] == 128 + 6
    assert told(servers, capfd)[1] == 0


def test_a_process_that_does_not_start(servers, capfd, monkeypatch):
    monkeypatch.setattr("lanai_sim.job.forked.BOOT", "raise OSError('no luck')")
    with pytest.raises(UserError, match=r"the process that forks the ranks did not start: (?s:.*)no luck"):
        told(servers, capfd)


def test_an_environment_of_any_size_arrives(servers, capfd):
    large = {f"LARGE_{number}": "x" * 120_000 for number in range(4)}
    text = "import os; print('warm', *[len(os.environ[f'LARGE_{number}']) for number in range(4)])"
    assert told(servers, capfd, text, **large) == ({"warm 120000 120000 120000 120000"}, 0)
