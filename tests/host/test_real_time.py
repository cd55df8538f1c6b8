"""The library goes by real time though the clocks of its process may be simulated."""

import re
import time
from importlib.resources import files
from pathlib import Path

from lanai_host import real_time

CLOCK = re.compile(r"(?<!real_)\btime\.(time|monotonic|perf_counter|sleep)(_ns)?\(")
NOT_IN_RANKS = {"bus/serial.py"}  # a board is not a simulation


def test_real_time_passes():
    begun, before = real_time.monotonic(), time.monotonic()
    real_time.sleep(0.02)
    assert real_time.monotonic() - begun >= 0.02
    assert abs(before - begun) < 1


def test_the_library_reads_no_clock_that_may_be_simulated():
    root = Path(str(files("lanai_host")))
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if CLOCK.search(path.read_text())}
    assert found == NOT_IN_RANKS
