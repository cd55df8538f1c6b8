"""`mpi4py.futures`: a manager thread that polls, and several workers on one NIC."""

import sys

import pytest

from openlanai import Job

pytest.importorskip("mpi4py.futures")

EXECUTOR = """
import sys
from mpi4py import MPI
from mpi4py.futures import MPICommExecutor
tasks, length = int(sys.argv[1]), int(sys.argv[2])
def work(number, body):
    return number * number, bytes(reversed(body)), MPI.COMM_WORLD.rank
def fail(number):
    raise ValueError(f"task {number}")
world = MPI.COMM_WORLD
bodies = [bytes((number + place) % 256 for place in range(length)) for number in range(tasks)]
for turn in range(2):
    with MPICommExecutor(world, root=0) as executor:
        if executor is None:
            continue
        found = list(executor.map(work, range(tasks), bodies))
        assert [square for square, _, _ in found] == [number * number for number in range(tasks)], found
        assert [body for _, body, _ in found] == [bytes(reversed(body)) for body in bodies]
        assert {rank for _, _, rank in found} == set(range(1, world.size)), found
        assert str(executor.submit(fail, turn).exception()) == f"task {turn}"
print("all tasks done", flush=True)
"""

POOL = """
import sys
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor, as_completed
def work(number):
    return number * number
if __name__ == "__main__":
    tasks = int(sys.argv[1])
    with MPIPoolExecutor() as executor:
        futures = {executor.submit(work, number): number for number in range(tasks)}
        for future in as_completed(futures):
            assert future.result() == futures[future] ** 2
    print("all tasks done", flush=True)
"""


def job(arguments, size, per_node, max_wall=300):
    command = (sys.executable, *map(str, arguments))
    return Job(command, size, device="mpi-np", ranks_per_node=per_node, max_wall=max_wall).run()


def expect(result, lines, capfd):
    out, err = capfd.readouterr()
    assert (result.code, result.report) == (0, ""), err
    assert out == "all tasks done\n" * lines


@pytest.mark.slow
def test_three_ranks_of_one_nic_share_tasks(capfd):
    expect(job(["-c", EXECUTOR, 6, 200], 3, 3), 3, capfd)


@pytest.mark.slow
def test_a_pool_of_three_ranks_of_one_nic(tmp_path, capfd):
    """Without spawn: `python -m mpi4py.futures` makes workers of the ranks that the job has."""
    program = tmp_path / "pool.py"
    program.write_text(POOL)
    expect(job(["-m", "mpi4py.futures", program, 6], 3, 3), 1, capfd)
