"""`lanai warm` and `lanai cache`: what is built ahead, and what becomes of it."""

import os
import re
import subprocess
import sys

import pytest

from lanai_firmware import cache_upkeep
from lanai_sim import cli
from lanai_sim.job.job import Job
from lanai_sim.job.result import Result

LANAI = [sys.executable, "-m", "lanai_sim"]


@pytest.fixture
def asked(monkeypatch):
    """The runs that are asked for; none happens."""
    found = []
    monkeypatch.setattr(Job, "run", lambda job: found.append(job) or Result(0, 0))
    return found


def test_all_devices_that_the_flags_fit(asked, capsys):
    assert cli.main(["warm", "-n", "4", "--fabric", "torus:2x2"]) == 0
    assert [config.device for config in asked] == ["bip", "ccu", "mbcf", "mpi-np", "sci", "t3d"]
    assert {(config.ranks, config.machine.fabric, config.trace) for config in asked} == {(4, "torus:2x2", None)}
    said = capsys.readouterr().out
    assert "ideal: left out: --fabric cannot act on the device 'ideal'" in said
    assert re.search(r"mpi-np: ready after \d+\.\d s\n", said)


def test_named_devices_and_what_traces_need(asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["warm", "sci", "mpi-np", "--trace", "run.trace"]) == 0
    assert [(config.device, config.ranks) for config in asked] == [("sci", 2), ("mpi-np", 2)]
    assert all(config.trace.endswith("/run.trace") for config in asked)
    assert list(tmp_path.iterdir()) == []
    assert cli.main(["warm", "--device", "t3d"]) == 0
    assert asked[-1].device == "t3d"


def test_a_device_that_is_not_there_is_refused(asked, capsys):
    assert cli.main(["warm", "ideal", "mpinp"]) == 2
    assert "device 'mpinp' is not known; did you mean 'mpi-np'?" in capsys.readouterr().err
    assert asked == []


@pytest.mark.ci
def test_a_run_after_it_builds_nothing(tmp_path):
    """On `ideal`, which needs libmpi and parts in C. The cache goes to another place in an archive."""
    home = {**os.environ, "LANAI_CACHE": str(tmp_path / "cache"), "LANAI_BUILD_NOTES": "1"}

    def lanai(*words, code=0):
        done = subprocess.run([*LANAI, *words], capture_output=True, text=True, env=home, check=False, timeout=300)
        assert done.returncode == code, done
        return done.stdout + done.stderr

    assert "ideal: ready after" in lanai("warm", "ideal")
    before = sorted((tmp_path / "cache").glob("*/??/*"))
    assert {path.parents[1].name for path in before} >= {"abi", "native"}
    said = lanai("run", "-n", "2", "python", "-c", "from mpi4py import MPI; print(MPI.COMM_WORLD.rank)")
    assert sorted((tmp_path / "cache").glob("*/??/*")) == before
    assert "building" not in said
    archive = str(tmp_path / "cache.tar.gz")
    portable = [path for path in before if path.parents[1].name != "bindings"]  # links into this machine stay here
    entries = f"{len(portable)} entries"
    assert lanai("cache", "export", archive) == f"wrote {entries} to {archive}\n"
    home["LANAI_CACHE"] = str(tmp_path / "other")
    assert lanai("cache", "import", archive) == f"added {entries}; 0 were here already\n"
    assert f"{entries}, " in lanai("cache")
    assert lanai("cache", "prune").startswith("removed 0 entries")
    assert lanai("cache", "prune", "--to", "0").startswith(f"removed {entries}")
    assert cache_upkeep.VARIABLE in lanai("cache")
    assert "--to 'x' is not a size" in lanai("cache", "prune", "--to", "x", code=2)
