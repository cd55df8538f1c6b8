"""The document of a run: its job, with all that decides the result and nothing else."""

from lanai_host.stacks.base import NicStack

from ..tables import Document
from .data import JobData
from .document import document

# They change how a run is evaluated, what it prints or what files it writes, but not its result.
EVALUATION = frozenset({
    "threads", "skip", "snapshot", "fork", "prefix", "capture", "progress", "wave", "trace", "inputs",
})  # fmt: skip
OF_NICS = frozenset({"nic", "fabric", "engine"})


def described(job: JobData) -> Document:
    """Return a job's document, with chosen values in place of those that the job leaves open. `Job.from_json`
    makes a job of it that has the same result."""
    changes = {"options": job.chosen_options, "buffers": job.chosen_buffers, "clock": job.chosen_clock}
    left_out = EVALUATION
    if isinstance(job.stack, NicStack):
        changes["nic"] = job.stack.sized(job.machine.nic, job.nodes)
    else:
        left_out |= OF_NICS
    return {name: value for name, value in document(job.but(**changes)).items() if name not in left_out}
