"""The causes why a program differs between runs with the same choices: it is run again without one after the other."""

import os
from collections.abc import Callable, Iterator

from lanai_host.c_module import preload
from lanai_host.clocks.library import ENV_DATE, PRELOAD, SEPARATORS, Clock, can_be_loaded

from ..job.job import Job

DATE = 1_000_000_000  # seconds: what clocks show when a rank begins
OTHERS = "neither its clock nor random numbers of the system: files that it reads and writes, or other processes?"


def cause_of(job: Job, differs: Callable[[Job], str], threads: str) -> str:
    """Return the cause in words.

    Args:
        differs: runs a job twice, and says how the runs differ; empty if they do not.
        threads: which rank has several threads; empty if none has.
    """
    for name, changed in _trials(job):
        if not differs(changed):
            return f"the cause is {name}" + (f"; {threads}" if threads else "")
    return f"the cause is {f'threads: {threads}' if threads else OTHERS}"


def _trials(job: Job) -> Iterator[tuple[str, Job]]:
    """Give causes, each with the job without it."""
    fixed = preload("fixed_random", "", (__package__, "fixed_random"))
    loads = not set(str(fixed)) & set(SEPARATORS)
    before = job.environment.get(PRELOAD, os.environ.get(PRELOAD, ""))
    without_random = {**job.environment, PRELOAD: f"{fixed} {before}".strip()}
    dated = {ENV_DATE: str(DATE)}
    if can_be_loaded():
        timed = job.but(clock=Clock.SIMULATED, environment={**job.environment, **dated})
        yield "its clock: with simulated clocks the runs are equal", timed
    if loads:
        yield "random numbers of the system: with fixed ones the runs are equal", job.but(environment=without_random)
    if loads and can_be_loaded():
        both = job.but(environment={**without_random, **dated}, clock=Clock.SIMULATED)
        yield "its clock and random numbers of the system together", both
