"""Keeps a result in a store, with where it comes from."""

import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from .. import sources, version
from ..store import Store, StoredRun
from ..store.stored_run import readable
from .data import JobData
from .document import described
from .settings import job_from
from .systems import SYSTEMS


class Storable(Protocol):
    """A `Result`, which stores itself by this module and so is not imported here."""

    @property
    def ended(self) -> datetime | None: ...

    @property
    def ending(self) -> object: ...

    @property
    def code(self) -> int: ...

    @property
    def figures(self) -> Mapping[str, float]: ...

    def to_json(self) -> str: ...


def keep(store: Store, job: JobData, result: Storable, note: str = "") -> int:
    """Add a result to a store, and return its id. Raises UserError if that cannot be."""
    return store.add(stored_run(job, result, note))


def stored_run(job: JobData, result: Storable, note: str = "") -> StoredRun:
    """Return a result with where it comes from."""
    programs = [program.command for program in job.all_programs]
    return StoredRun(
        date=(result.ended or datetime.now(UTC)).isoformat(timespec="seconds"),
        command=(Path(sys.argv[0]).name, *sys.argv[1:]),
        folder=readable(os.getcwd()),
        program=programs[0],
        files=sources.program_digest([word for words in programs for word in words]),
        ranks=job.ranks,
        device=job.device,
        system=system_of(job),
        ending=str(result.ending),
        code=result.code,
        version=version.version(),
        commit=version.commit() or "",
        sources=sources.digest(),
        versions=version.versions(),
        config=json.dumps(described(job)),
        result=result.to_json(),
        figures=result.figures,
        note=readable(note),
    )


def system_of(job: JobData) -> str:
    """Return the name in `lanai list systems` of what a job runs on; empty if it runs on another machine."""
    same = (name for name, one in SYSTEMS.items() if one.device == job.device)
    return next((name for name in same if _parts(job_from(SYSTEMS[name].document(), JobData)) == _parts(job)), "")


def _parts(job: JobData) -> tuple[object, ...]:
    machine = job.machine
    return job.chosen_options, machine.host, *((machine.nic, machine.fabric) if job.stack.nics else ())
