"""A schedule run again."""

import sys
from collections.abc import Sequence

from lanai_host.errors import UserError

from ..job import launcher
from ..job.data import NO_LIMIT
from ..job.job import Job
from ..units import counted
from .running import DEVICE, OPTIONS, Runner
from .schedule import Schedule

DEPARTED = 11  # exit code of a run that has not followed its schedule


def job_of_schedule(schedule: Schedule, program: Sequence[str], job: Job, given: Sequence[str]) -> Job:
    """Return a job that follows a schedule. `given`: flags that the user has set. Raises UserError."""
    schedule.check(program)
    if "ranks" in given and job.ranks != schedule.ranks:
        raise UserError(f"the schedule is one of {counted(schedule.ranks, 'rank')}, not of {job.ranks}; leave -n out")
    if "device" in given and job.device != DEVICE:
        raise UserError(f"a schedule is repeated on the device {DEVICE}, not on {job.device}; leave --device out")
    if job.max_wall == NO_LIMIT and schedule.max_wall is not None:
        job = job.but(max_wall=float(schedule.max_wall))
    return job.but(program=tuple(program), ranks=schedule.ranks, device=DEVICE, options=OPTIONS)


def replay(schedule: Schedule, job: Job) -> int:
    """Run a job by a schedule, and say whether it has followed. Return the exit code."""
    runner = Runner()
    try:
        outcome = runner.run(job, schedule.choices)
    finally:
        runner.close()
    launcher.print_report(outcome.result)
    sys.stdout.flush()
    if job.programs:  # a debugger may end a rank as it likes
        return outcome.result.code
    departure = schedule.departure(outcome.made)
    if not departure and (str(outcome.result.ending), outcome.result.code) != (schedule.ending, schedule.code):
        departure = f"it has ended by {outcome.result.ending}, and by {schedule.ending} when the schedule was written"
    if departure:
        print(
            f"lanai: the program departs from the schedule: {departure}; so it is not deterministic by itself "
            "(clock, random numbers, threads, files?)",
            file=sys.stderr,
        )
        return DEPARTED
    print(f"lanai: the run has followed the schedule: {counted(len(schedule.choices), 'choice')}", file=sys.stderr)
    return outcome.result.code
