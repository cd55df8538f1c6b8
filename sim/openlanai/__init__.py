"""Run MPI programs on simulated machines, from Python.

    import openlanai

    result = openlanai.Job("python ring.py", ranks=4, device="mpi-np").run()
    result.check().figures["run.simulated_us"]

`docs/api.md` describes it with examples.
"""

from typing import TYPE_CHECKING, Any

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import LanaiError, UserError
from lanai_host.config import HostConfig
from lanai_sim.job.data import Program, WaveConfig
from lanai_sim.job.function import Executor, run
from lanai_sim.job.job import Job, Running
from lanai_sim.job.result import Deadlock, Ending, RankError, RankOutput, Result, RunFailed
from lanai_sim.job.summary import Summary
from lanai_sim.job.waiting import RankState
from lanai_sim.machine.faults import Fault
from lanai_sim.machine.machine import Machine

if TYPE_CHECKING:
    from lanai_sim.store import Store, StoredRun
    from lanai_sim.trace import Trace

__all__ = [
    "Deadlock", "Ending", "Executor", "Fault", "HostConfig", "Job", "LanaiError", "Machine", "NicConfig", "Program",
    "RankError", "RankOutput", "RankState", "Result", "RunFailed", "Running", "Store", "StoredRun", "Summary",
    "Trace", "UserError", "WaveConfig", "run",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load what few programs need when it is first asked for: `Trace` brings numpy and the firmware's vocabularies,
    `Store` SQLite."""
    if name in ("Store", "StoredRun"):
        from lanai_sim import store

        return getattr(store, name)
    if name != "Trace":
        raise AttributeError(f"module 'openlanai' has no attribute {name!r}")
    from lanai_sim.trace import Trace

    return Trace
