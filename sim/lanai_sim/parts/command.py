"""`lanai run --parts`: all parts run the job, the first one reports."""

import sys
import traceback
from collections.abc import Callable, Sequence

from lanai_host.errors import UserError

from ..job.data import JobData
from ..job.result import Exit, Result
from ..units import counted
from .mpi_part import MpiPart, joined
from .run import PartRun
from .together import USER_ERROR
from .together import run as run_together

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
