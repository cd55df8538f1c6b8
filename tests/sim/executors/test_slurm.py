"""`--on slurm`: jobs of a cluster as futures, and what is said where there is no cluster."""

import sys
import types
from concurrent.futures import BrokenExecutor

import pytest

from lanai_host.errors import UserError
from lanai_sim.executors import kinds
from lanai_sim.executors.kinds import SlurmExecutor
from lanai_sim.executors.place import Place


class Cluster:
    """Stands for submitit's executor: a job that runs when it is first looked at."""

    def __init__(self, refuses=False):
        self.refuses = refuses
        self.parameters = {}
        self.cancelled = []

    def update_parameters(self, **parameters):
        self.parameters |= parameters

    def submit(self, function, *args):
        if self.refuses:
            raise RuntimeError("sbatch: error:\nInvalid account\n")
        looks = iter([False, False])
        return types.SimpleNamespace(
            job_id="7", done=lambda: next(looks, True), result=lambda: function(*args),
            cancel=lambda check: self.cancelled.append("7"),
        )  # fmt: skip


def lost(item):
    raise RuntimeError(f"Job 7 has not produced any output (state: NODE_FAIL)\n-----\nthe node of {item} is down")


def test_jobs_are_futures():
    with SlurmExecutor(Cluster(), look=0.001) as pool:
        assert list(pool.map(abs, [-1, -2, -3])) == [1, 2, 3]


def test_a_job_that_was_lost_is_a_broken_executor():

    with (
        SlurmExecutor(Cluster(), look=0.001) as pool,
        pytest.raises(BrokenExecutor, match="job 7: the node of 3 is down"),
    ):
        pool.submit(lost, 3).result(10)


def test_a_job_that_slurm_does_not_tell_of_is_a_broken_executor():
    def done():
        raise OSError("sacct: slurm_persist_conn_open: Connection refused")

    asked = types.SimpleNamespace(job_id="8", done=done)
    jobs = iter([asked, types.SimpleNamespace(job_id="9", done=lambda: True, result=lambda: 3)])
    with SlurmExecutor(types.SimpleNamespace(submit=lambda *_: next(jobs)), look=0.001) as pool:
        with pytest.raises(BrokenExecutor, match=r"job 8: sacct: .*Connection refused"):
            pool.submit(abs, 1).result(10)
        assert pool.submit(abs, 2).result(10) == 3  # of the next one, it tells


def test_a_job_that_is_refused_is_told():
    pool = SlurmExecutor(Cluster(refuses=True), look=0.001)
    with pytest.raises(UserError, match="Slurm does not take a job: Invalid account"):
        pool.submit(abs, 1)
    pool.shutdown()


def test_open_jobs_are_cancelled():
    cluster = Cluster()
    pool = SlurmExecutor(cluster, look=60)
    pool.submit(abs, 1)
    pool.shutdown(wait=False, cancel_futures=True)
    assert cluster.cancelled == ["7"]


def test_without_submitit_a_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(UserError, match=r"--on slurm needs submitit .*; pip install 'openlanai\[slurm\]'"):
        kinds.executor(Place(on="slurm"), 2)


def test_without_slurm_a_line_says_so(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "submitit", types.ModuleType("submitit"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="--on slurm: no Slurm is here: sbatch is not in PATH"):
        kinds.executor(Place(on="slurm"), 2)


def test_what_submitit_misses_is_told(monkeypatch, tmp_path):
    def none(folder, cluster):
        raise RuntimeError('Could not detect "srun", are you indeed on a slurm cluster?')

    monkeypatch.setitem(sys.modules, "submitit", types.SimpleNamespace(AutoExecutor=none))
    (tmp_path / "sbatch").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match='submitit finds no Slurm here: Could not detect "srun"'):
        kinds.executor(Place(on="slurm"), 2)


def test_a_job_of_the_cluster_lasts_longer_than_its_run(monkeypatch, tmp_path):
    cluster = Cluster()
    monkeypatch.setitem(sys.modules, "submitit", types.SimpleNamespace(AutoExecutor=lambda folder, cluster: made[0]))
    made = [cluster]
    (tmp_path / "sbatch").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    kinds.executor(Place(on="slurm", limit=600.0), 2).shutdown()
    assert cluster.parameters["timeout_min"] == 15
