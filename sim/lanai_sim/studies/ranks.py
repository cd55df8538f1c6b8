"""Numbers that programs of ranks measure: rank 0 writes them to the file in argv[1], or prints them, or a trace has
them."""

import json
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..job.job import Job
from ..trace import Trace
from ..trace.schema import HostKind


def measure(program: str, arguments: Sequence[int], job: Job) -> dict[str, float]:
    """Return what such a program found as the program of a job. RunFailed if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "found.json")
        job.but(program=("python", "-c", program, str(file), *map(str, arguments))).run().check()
        found: dict[str, float] = json.loads(file.read_text())
        return found


def numbers(text: str) -> dict[str, float]:
    """Return the numbers of the lines that are JSON objects, by name."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        try:
            values = json.loads(line)
        except ValueError:
            continue
        if isinstance(values, dict):
            found |= {name: value for name, value in values.items() if isinstance(value, int | float)}
    return found


def spans(trace: Trace, rank: int, names: Collection[str]) -> NDArray[np.int64]:
    """Return begin, end, and time without waiting, in picoseconds, of a rank's calls of these names, in order."""
    calls = trace.calls[(trace.calls["rank"] == rank) & (trace.calls["parent"] < 0)]
    calls = calls[[trace.name(name) in names for name in calls["name"]]]
    waits = trace.host[(trace.host["rank"] == rank) & (trace.host["kind"] == HostKind.WAIT)]
    waited = [(waits["end"] - waits["begin"])[waits["call"] == call].sum() for call in calls["id"]]
    return np.stack([calls["begin"], calls["end"], calls["end"] - calls["begin"] - waited], axis=1)
