"""Programs of ranks that measure: rank 0 writes what it found, by name, to the file in argv[1]."""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..job.start import start


def measure(program: str, arguments: Sequence[int], device: str, ranks: int = 2, **how: Any) -> dict[str, float]:
    """What such a program found. `how`: members of `Job` and `Machine`. RuntimeError if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "found.json")
        command = (sys.executable, "-c", program, str(file), *map(str, arguments))
        result = start(command, ranks, device, **how)
        if result.code:
            raise RuntimeError(result.report)
        found: dict[str, float] = json.loads(file.read_text())
        return found
