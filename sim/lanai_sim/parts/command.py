"""`lanai run --parts`: all parts run the job, the first one reports."""

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lanai_host.errors import UserError

from .. import sources
from ..engines.kinds import DEFAULT
from ..job.data import JobData
from ..job.document import described
from ..job.result import Exit, Result
from ..units import counted
from .mpi_part import MpiPart, joined
from .run import PartRun

# `lanai run --parts`: this process and the others of its MPI job run one job together.

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


def run_together(job: JobData, part: MpiPart) -> tuple[Result, PartRun]:
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


PICOSECONDS = 1e6  # of a microsecond


def run(job_of: Callable[[], JobData], report: Callable[[JobData, Result, Sequence[str]], int]) -> int:
    """Return the exit code of this part: that of the run in the first part, 0 in the others. `report` gets lines on
    the parts."""
    part = joined()
    try:
        error = ""
        try:
            job = job_of()
        except UserError as refusal:
            error = str(refusal)
        if first := next(filter(None, part.gather(error)), ""):
            raise UserError(first)
        result, made = run_together(job, part)
        told = lines(part, made, result)
        return report(job, result, told) if part.number == 0 else 0
    except UserError:
        if part.number == 0:
            raise
        return USER_ERROR
    except BaseException as error:  # the others must not wait for this part
        interrupted = isinstance(error, KeyboardInterrupt)

        def tell() -> None:
            if not interrupted:
                traceback.print_exception(error)
            said = "interrupted" if interrupted else f"part {part.number} of {part.count} has broken off"
            print(f"lanai: {said}", file=sys.stderr, flush=True)

        part.abort(Exit.INTERRUPTED if interrupted else 1, tell)
        raise


def lines(part: MpiPart, made: PartRun, result: Result) -> list[str]:
    """Return what `lanai run -v` says of the parts."""
    found = part.gather((made.seconds, made.waited))
    shares = [1 - waited / seconds for seconds, waited in found]
    simulated = max(result.sim_time - result.summary.started, 1) / PICOSECONDS
    how_many = f"{counted(part.count, 'part')}: {counted(made.exchanges, 'exchange')}"
    how_well = "the share of real time in which parts did not wait for others"
    efficiency = sum(shares) / len(shares)
    return [f"{how_many}, {made.exchanges / simulated:.1f} a simulated us; efficiency {efficiency:.2f} ({how_well})"]
