"""Runs the benchmarks (MB-B5): their own verification and what they sent by remote write."""

import re
from collections.abc import Mapping
from pathlib import Path

from lanai_host.errors import UserError

from .....job.data import Program
from .....job.job import Job
from .....machine.machine import Machine

OPTIONS = {"inline": 16, "record": 1408, "ask_from": 0, "first": 0, "alltoall": 0}  # of `mbcf`, there
ON_MACHINE = Job((), 1, "mbcf", Machine("mbcf_100baset", "switching-hub", "supersparc_85"), OPTIONS)
WITHOUT_NETWORK = Job((), 1, "ideal", Machine(host="supersparc_85"))


def run(binary: Path, job: Job) -> str:
    """Return what it prints as the program of a job. Raises UserError if it fails."""
    program = Program((str(binary),), job.ranks, directory=str(binary.parent))
    result = job.but(programs=(program,), capture=True).run()
    if not result.ok:
        raise UserError(f"{binary.name} ended with code {result.code}:\n{result.report}")
    return "".join(one.stdout for one in result.outputs)


def is_verified(text: str) -> bool:
    """Return True if the program says that its result is right."""
    found = re.search(r"^\s*Verification\s*=\s*(\S+)\s*$", text, re.MULTILINE)
    return found is not None and found[1] == "SUCCESSFUL"


def totals(text: str) -> dict[str, int]:
    """Return the traffic of all ranks to others, by the counters' names."""
    return {name: int(value) for name, value in re.findall(r"^total nic_mbcf_(\w+) (\d+)$", text, re.MULTILINE)}


def figures(found: Mapping[str, int]) -> dict[str, float]:
    """The share of the bytes that went by remote write, in percent; how many messages and bytes there were."""
    size = found["written_bytes"] + found["queued_bytes"]
    count = found["written"] + found["queued"]
    return {"written_percent": 100 * found["written_bytes"] / size, "messages": float(count), "bytes": float(size)}


def speed(text: str, times: int) -> dict[str, float]:
    """Return the figures that the program prints of its timed part: its time, so many times, and its speed, which
    has more digits."""
    found = {}
    for figure, words, factor in (("seconds", "Time in seconds", times), ("mops", "Mop/s total", 1)):
        match = re.search(rf"^\s*{words}\s*=\s*([\d.]+)\s*$", text, re.MULTILINE)
        if match is None:
            raise UserError(f"this program of NPB does not print {words!r}:\n{text}")
        found[figure] = factor * float(match[1])
    return found
