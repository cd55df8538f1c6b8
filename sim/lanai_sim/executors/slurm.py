"""An executor over Slurm: each run is a job of the cluster, submitted and watched by submitit."""

import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any

from lanai_host.errors import UserError

from .place import NO_LIMIT, Place

ENV_FOLDER = "LANAI_SLURM_FOLDER"  # on a file system that all nodes have; default: lanai-slurm here
SPARE, LONGEST = 5, 24 * 60  # minutes: of a job beyond the limit of its run; of a job whose run has no limit
LOOK_SECONDS = 1.0


class SlurmExecutor(Executor):
    """Submits each task as a job, and looks after all of them in one thread. `cluster`: submitit's executor."""

    def __init__(self, cluster: Any, look: float = LOOK_SECONDS) -> None:
        self._cluster = cluster
        self._look = look
        self._open: dict[Future[Any], Any] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a job. Raises UserError if the cluster does not take it."""
        future: Future[Any] = Future()
        try:
            job = self._cluster.submit(function, *args, **kwargs)
        except Exception as error:  # each of submitit's own kinds
            raise UserError(f"Slurm does not take a job: {_head(error)}") from error
        future.set_running_or_notify_cancel()
        with self._lock:
            self._open[future] = job
        return future

    def _watch(self) -> None:
        while not (self._closed.wait(self._look) and not self._open):
            with self._lock:
                open_ = list(self._open.items())
            for future, job in open_:
                if _has_ended(future, job):
                    with self._lock:
                        self._open.pop(future, None)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the watching. `cancel_futures`: jobs that have not ended are cancelled on the cluster."""
        if cancel_futures:
            with self._lock:
                for job in self._open.values():
                    job.cancel(check=False)
                self._open.clear()
        self._closed.set()
        if wait:
            self._thread.join()


def _has_ended(future: Future[Any], job: Any) -> bool:
    """Give a job's result to its future, or why there is none."""
    try:
        if not job.done():
            return False
        future.set_result(job.result())
    except Exception as error:  # killed, its node lost, what it shall run not there, or Slurm does not answer
        future.set_exception(BrokenExecutor(f"job {job.job_id}: {_head(error)}"))
    return True


def _head(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" -")]
    return lines[-1] if lines else type(error).__name__


def executor(place: Place) -> SlurmExecutor:
    """Return an executor of this cluster. Raises UserError if there is no cluster, or no submitit."""
    try:
        import submitit
    except ImportError as error:
        raise UserError(f"--on slurm needs submitit ({error}); pip install 'openlanai[slurm]'") from error
    if shutil.which("sbatch") is None:
        raise UserError("--on slurm: no Slurm is here: sbatch is not in PATH; start it on a node that submits jobs")
    try:
        cluster = submitit.AutoExecutor(os.environ.get(ENV_FOLDER, "lanai-slurm"), cluster="slurm")
    except Exception as error:  # it looks for srun too
        raise UserError(f"--on slurm: submitit finds no Slurm here: {_head(error)}") from error
    minutes = LONGEST if place.limit == NO_LIMIT else int(place.limit / 60) + SPARE
    cluster.update_parameters(name="lanai", timeout_min=minutes)
    return SlurmExecutor(cluster)
