"""`lanai run --parts`: this process and the others of its MPI job run one job together."""

from collections.abc import Mapping
from typing import Any

from lanai_host.errors import UserError

from .. import sources
from ..engines.kinds import DEFAULT
from ..job.data import JobData
from ..job.document import described
from ..job.result import Result
from .mpi_part import MpiPart
from .run import PartRun

USER_ERROR = 2


def check(job: JobData) -> None:
    """Raise UserError for a job that cannot be cut into parts."""
    if not job.stack.nics:
        raise UserError(
            f"--parts cuts a machine at the cables of its NICs, and the device {job.device!r} has none; choose another"
        )
    asked: Mapping[str, Any] = {
        "--universe": job.universe,
        "--trace": job.trace is not None,
        "--wave": job.wave is not None,
        "a recording": job.inputs is not None,
        "--checkpoint": job.checkpoint is not None,
        "--fault kill": job.kills,
        "--survive-death": job.survive,
        f"--engine {job.engine}": job.engine != DEFAULT,
    }
    if found := [name for name, given in asked.items() if given]:
        raise UserError(f"--parts cannot be combined with {', '.join(found)}; run without one of them")


def agree(part: MpiPart, job: JobData) -> None:
    """Raise UserError in all parts if one of them has other sources, or another job."""
    found = part.gather((sources.digest(), described(job)))
    for number, (digest, document) in enumerate(found):
        if digest != found[0][0]:
            raise UserError(
                f"part {number} has other sources of openlanai ({digest}) than part 0 ({found[0][0]}); install one "
                "version on all machines"
            )
        if document != found[0][1]:
            names = sorted(name for name in {*document, *found[0][1]} if document.get(name) != found[0][1].get(name))
            raise UserError(f"part {number} has other values of {', '.join(names)} than part 0; start all parts alike")


def run(job: JobData, part: MpiPart) -> tuple[Result, PartRun]:
    """Run a job with all parts; the result is the same in each. Raises UserError in all parts if one of them cannot
    begin."""
    made: PartRun | None = None
    error = ""
    try:
        check(job)
        made = PartRun(job.but(progress=False), part)
    except UserError as refusal:
        error = str(refusal)
    errors = part.gather(error)
    if first := next(filter(None, errors), ""):
        if made is not None:
            made.world.close()
        raise UserError(first)
    assert made is not None
    agree(part, job)
    return made.execute(), made
