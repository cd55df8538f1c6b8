"""Lab 6: the student's MPI program, run once, checked, and explored."""

import sys
from dataclasses import dataclass
from math import inf
from pathlib import Path

from lanai_host.clocks.library import Clock

from ...check import check
from ...explore.running import Runner, job_of
from ...explore.search import Budget, Search
from ...job.job import Job
from ...job.result import Ending, Result
from ..task import TooLong, Values, Wrong

SIM_LIMIT = 10**10  # picoseconds of a run: 10 ms
WALL_LIMIT = 20.0  # seconds of a run


@dataclass(frozen=True)
class Program:
    """The student's program."""

    file: Path

    def command(self, tasks: int) -> list[str]:
        return [sys.executable, str(self.file), str(tasks)]


def load(folder: Path) -> Program:
    file = folder / "race.py"
    compile(file.read_text(encoding="utf-8"), str(file), "exec")  # a syntax error is told once, with its line
    return Program(file)


def run(program: Program, values: Values) -> int:
    """Run the program with `tasks` on `ranks` ranks of the ideal device, in which tasks take simulated time; then check
    it, if `checked`, and run it in up to `orders` orders. Return the nanoseconds of the first run."""
    command, ranks, expected = program.command(values["tasks"]), values["ranks"], expected_output(values["tasks"])
    limits = {"max_sim_time": SIM_LIMIT, "max_wall": WALL_LIMIT, "capture": True}
    job = Job(command, ranks, "ideal", ranks_per_node=ranks, clock=Clock.SIMULATED, **limits)
    result = job.run()
    _check_end(result)
    if result.outputs[0].stdout != expected:
        raise Wrong(f"it printed {_line(result.outputs[0].stdout)}, expected {_line(expected)}")
    if values["checked"]:
        _check(job)
    if values["orders"]:
        _explore(job_of(command, ranks, max_wall=WALL_LIMIT, capture=True), values["orders"], expected)
    return result.sim_time // 1000


def expected_output(tasks: int) -> str:
    """Return what rank 0 has to print, whoever solved what."""
    checksum = sum((task + 1) * (task * task % 97) for task in range(tasks))
    steps = sum(1 + task * 7 % 5 for task in range(tasks))
    return f"checksum {checksum}\nsteps {steps}\n"


def _line(text: str) -> str:
    return repr(text.strip().replace("\n", ", "))


def _check_end(result: Result) -> None:
    if result.code:
        last = [line for output in result.outputs for line in output.stderr.strip().splitlines()[-1:]]
        report = result.report.replace("--max-sim-time", "the lab's limit of 10 ms")
        text = "\n        ".join([*report.splitlines()[:3], *last[:1]]) or f"exit code {result.code}"
        raise TooLong(text) if result.ending is Ending.WALL_LIMIT else Wrong(text)


def _check(job: Job) -> None:
    """Apply the rules of `lanai check`."""
    verdict, _ = check(job)
    if verdict.findings:
        raise Wrong(f"lanai check: {verdict.findings[0].text}")


def _explore(job: Job, orders: int, expected: str) -> None:
    """Run the program in other orders of messages, as `lanai explore --outputs` does."""
    runner = Runner()
    search = Search(job, Budget(orders, inf), outputs=True)
    try:
        search.run(runner)
    finally:
        runner.close()
    for failure in search.failures:
        lines = [*failure.text.splitlines()[:1], *failure.races[:1]]
        by_hand = f"lanai explore -n {job.ranks} --outputs -- python race.py {job.program[-1]}"
        raise Wrong("\n        ".join(["in another order of messages:", *lines, f"to see more: {by_hand}"]))
