"""SHMEM without MPI: its examples run, and what it cannot do is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

from lanai_host import shmem
from lanai_host.errors import UserError

from .test_t3d import lanai

EXAMPLES = Path(__file__).parents[4] / "examples" / "shmem"
SAID = {
    "ring": "2 ranks have the block of their left neighbour\n",
    "counter": "10 numbers taken, each once\n",
}


def test_an_example_runs():
    run = lanai("-q", "-n", 2, "--device", "t3d", sys.executable, EXAMPLES / "counter.py")
    assert (run.returncode, run.stdout, run.stderr) == (0, SAID["counter"], "")


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--option", "preset=t3e", "--fault", "reorder * rate=0.3 seed=3 by=300us")])
@pytest.mark.parametrize("name", SAID)
def test_examples_run_whether_or_not_the_network_keeps_the_order(name, options):
    run = lanai("-q", "-n", 2, "--device", "t3d", *options, sys.executable, EXAMPLES / f"{name}.py")
    assert (run.returncode, run.stdout) == (0, SAID[name]), run.stderr


WRONG = """
from lanai_host import shmem
from lanai_host.errors import UserError
with shmem.start(heap=100) as heap:
    block = heap.allocate(64)
    for wrong in (
        lambda: heap.allocate(64),
        lambda: heap.put(2, block, block, 4),
        lambda: heap.get(0, 12, block, 4),
        lambda: heap.put_bytes(0, block + 4090, bytes(64)),
    ):
        try:
            wrong()
        except UserError as error:
            if heap.rank == 0:
                print(error)
"""


@pytest.mark.slow
def test_what_is_not_in_the_heap_is_refused():
    run = lanai("-q", "-n", 2, "--device", "t3d", sys.executable, "-c", WRONG)
    assert run.stderr == ""
    first, second, third, fourth = run.stdout.splitlines()
    assert first == "cannot allocate 64 bytes: the symmetric heap has 36 left; open a larger one"
    assert second == "rank 2 is not there; there are 2, from 0"
    assert third.startswith("4 bytes at offset 12 are not in the symmetric heap")
    assert fourth.startswith("64 bytes at offset")


def test_without_nics_it_says_how_to_start():
    with pytest.raises(UserError, match="shmem needs NICs; start the program with: lanai run --device t3d"):
        shmem.start()


def test_another_device_is_refused():
    run = subprocess.run(
        [sys.executable, "-m", "lanai_sim", "run", "-q", sys.executable, EXAMPLES / "ring.py"],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert run.returncode != 0
    assert "shmem runs on the device t3d, not on 'ideal'" in run.stderr
