"""The entries of the cache that usual runs build first, for a wheel to bring along (`lanai_firmware.cache.SHIPPED`).

`python -m lanai_sim.wheel FOLDER [RUN...]` makes them. `sim/hatch_build.py` puts them into a wheel.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from lanai_firmware.cache import INTO

# What `lanai cache warm` is asked for: two ranks on each system, the fabrics of more, and traces.
RUNS = ("-n 2", "-n 4 mpi-np mbcf lanai2", "-n 8 mpi-np", "-n 16 mpi-np", "-n 2 --trace run mpi-np mbcf")


def fill(folder: Path, environment: Mapping[str, str] = os.environ, runs: Sequence[str] = RUNS) -> None:
    """Write the entries that these runs build into a folder. Raises CalledProcessError if one fails."""
    with tempfile.TemporaryDirectory(prefix="lanai-wheel-") as work:
        settings = {**environment, INTO: str(folder), "LANAI_CACHE": work}
        for run in runs:
            command = [sys.executable, "-P", "-m", "lanai_sim", "cache", "warm", *shlex.split(run)]
            subprocess.run(command, env=settings, stdout=sys.stderr, check=True)


if __name__ == "__main__":
    fill(Path(sys.argv[1]), runs=sys.argv[2:] or RUNS)
