"""A messaging system without NICs that is added from outside: it says itself what carries its messages."""

import os
import subprocess
import sys

import pytest

STACK = """
from dataclasses import dataclass

from lanai_host.simulator.transport import TransportHub
from lanai_host.stacks.base import Stack


@dataclass(frozen=True)
class Options:
    latency: int = 7_000_000


class Slow(Stack):
    name = "slow"
    help = "an example without NICs: a message takes 7 us"
    presets = {"default": Options}
    options_table = "slow"

    def network(self, ranks, options, limit, started=None):
        return TransportHub(ranks, options.latency, 0, limit, started)

    def open(self, client, costs):
        from lanai_host.stacks.ideal.device import IdealDevice

        return IdealDevice(client.rank, client.size, client.transport, costs)


STACK = Slow()
"""
JOB = """
import openlanai

def received():
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    if world.rank == 0:
        world.send("text", 1)
    return world.recv(source=0) if world.rank else None

job = openlanai.Job(["python", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"], 2, "slow")
assert openlanai.Job.from_json(job.to_json()) == job
assert job.but(options={"latency": 0}).run().ok
print(openlanai.run(received, 2, "slow"), job.run().figures["run.simulated_us"] > 7)
"""


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "stacks" / "slow"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "stack.py").write_text(STACK)
    return tmp_path


def test_a_system_without_nics_runs(path):
    done = subprocess.run(
        [sys.executable, "-c", JOB], capture_output=True, text=True, timeout=100, check=False,
        env={**os.environ, "LANAI_PATH": str(path)},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[None, 'text'] True\n", "")


def test_flags_of_nics_cannot_act_on_it(path):
    done = subprocess.run(
        [sys.executable, "-m", "lanai_sim", "run", "--device", "slow", "--fabric", "ring", "true"],
        capture_output=True, text=True, timeout=100, check=False, env={**os.environ, "LANAI_PATH": str(path)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "--fabric cannot act on the device 'slow', which has no NICs" in done.stderr
