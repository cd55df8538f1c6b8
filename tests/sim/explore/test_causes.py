"""The causes why a program differs between runs: they are taken away one after the other."""

import pytest

from lanai_host.clocks.library import Clock
from lanai_sim.explore.causes import cause_of
from lanai_sim.explore.running import job_of

JOB = job_of(["python", "-c", "pass"], 2)


def is_fixed(job):
    return "fixed_random" in job.environment.get("LD_PRELOAD", "")


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (lambda job: job.clock is Clock.SIMULATED and not is_fixed(job), "the cause is its clock: with simulated"),
        (lambda job: is_fixed(job) and job.clock is None, "the cause is random numbers of the system"),
        (lambda job: is_fixed(job) and job.clock is Clock.SIMULATED, "its clock and random numbers of the system toge"),
        (lambda job: False, "the cause is neither its clock nor random numbers"),
    ],
)
def test_the_cause_without_which_runs_are_equal_is_named(ends, said):
    assert said in cause_of(JOB, lambda job: "" if ends(job) else "they differ", "")


def test_threads_are_named_if_nothing_else_helps():
    assert cause_of(JOB, lambda job: "differs", "rank 1 has 5 threads") == "the cause is threads: rank 1 has 5 threads"
