"""The ranks of one test: a run of the simulator, with what each of them printed."""

import sys
from dataclasses import dataclass, field

from ..job.job import Job
from ..job.launcher import Run
from ..job.output import Output
from ..job.result import Result
from ..job.warm import WarmServers
from .task import ENV_TASK, TEXT

OUT, ERR = "stdout", "stderr"


@dataclass(frozen=True)
class Ended:
    """The end of the ranks of a test."""

    result: Result
    printed: dict[tuple[int, str], str] = field(default_factory=dict)


def run_ranks(
    folder: str, ranks: int, device: str, servers: WarmServers, *, wall: float, sim_time: int, show: bool = False
) -> Ended:
    """Run the test whose task lies in a folder. Raises UserError for what cannot be started."""
    program, task = (sys.executable, "-c", TEXT), {ENV_TASK: folder}
    job = Job(program, ranks, device, max_wall=wall, max_sim_time=sim_time, environment=task)
    result = Run(job, output=Output(prefix=show, capture=True, show=show), servers=servers).execute()
    return Ended(result, _printed(result))


def _printed(result: Result) -> dict[tuple[int, str], str]:
    """Return what was printed, by rank and stream."""
    texts = [{OUT: one.stdout, ERR: one.stderr} for one in result.outputs]
    return {(rank, name): text for rank, both in enumerate(texts) for name, text in sorted(both.items()) if text}
