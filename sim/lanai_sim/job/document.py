"""A `Job` as a document, which `settings` reads; also with all that decides its result and nothing else."""

import dataclasses
import json
from typing import Any

from lanai_host.stacks.base import NicStack

from ..kernel.kernel import FOREVER
from ..machine.machine import check_blocks
from ..tables import Document, plain, to_table
from ..units import exact_time
from .data import NO_LIMIT, SCALARS, JobData, WaveConfig

# They change how a run is evaluated, what it prints or what files it writes, but not its result.
EVALUATION = frozenset({
    "threads", "skip", "snapshot", "fork", "prefix", "capture", "output_folder", "progress", "wave", "trace", "inputs",
})  # fmt: skip
OF_NICS = frozenset({"nic", "fabric", "engine"})


def to_json(job: JobData) -> str:
    """Return the job as JSON. Raises UserError for a NIC that a document cannot describe."""
    check_blocks(job.machine.nic)
    return json.dumps(document(job), indent=2)


def document(job: JobData) -> Document:
    """Return all that a job says as plain values. A member that is None is left out."""
    found: Document = {"program": list(job.program)}
    found |= {name: plain(getattr(job, name)) for name in SCALARS}
    found |= job.machine.document()
    found["faults"] += [kill.text for kill in job.kills]
    found["limits"] = _limits(job)
    found["environment"] = dict(job.environment)
    found["programs"] = [{**dataclasses.asdict(one), "command": list(one.command)} for one in job.programs]
    found["rank_variables"] = list(job.rank_variables)
    found |= {
        "checkpoint": None if job.checkpoint is None else job.checkpoint.text,
        "wave": None if job.wave is None else _wave(job.wave),
        "trace": job.trace,
        "inputs": None if job.inputs is None else {"node": job.inputs[0], "file": str(job.inputs[1])},
        job.stack.options_table: None if job.options is None else to_table(job.options),
    }
    return {name: value for name, value in found.items() if value is not None}


def _limits(job: JobData) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if job.max_sim_time != FOREVER:
        limits["sim_time"] = exact_time(job.max_sim_time)
    if job.max_wall != NO_LIMIT:
        limits["wall"] = job.max_wall
    return limits


def _wave(wave: WaveConfig) -> dict[str, Any]:
    end = {} if wave.end == FOREVER else {"to": exact_time(wave.end)}
    return {"file": wave.file, "nodes": list(wave.nodes), "from": exact_time(wave.begin), **end}


def described(job: JobData) -> Document:
    """Return a job's document, with chosen values in place of those that the job leaves open. `Job.from_json`
    makes a job of it that has the same result."""
    changes = {"options": job.chosen_options, "buffers": job.chosen_buffers, "clock": job.chosen_clock}
    left_out = EVALUATION
    if isinstance(job.stack, NicStack):
        changes["nic"] = job.sized_nic(job.stack)
    else:
        left_out |= OF_NICS
    return {name: value for name, value in document(job.but(**changes)).items() if name not in left_out}
