"""Numbers by name that programs of ranks measure. Rank 0 writes them to the file in argv[1], or prints them."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..job.job import Job


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
