"""Programs of ranks that measure: rank 0 writes what it found, by name, to the file in argv[1]."""

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
