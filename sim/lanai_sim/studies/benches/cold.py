"""The first command on a machine: CPU time of a whole `lanai run` from an empty home, child by child. CC and CXX name
the compilers, as in any run."""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lanai_host.errors import UserError

NAME = "cold"
HELP = "CPU time of a run from an empty home and cache, by what its processes do"

EVERY = 0.01  # seconds between two looks at the processes
TICKS = os.sysconf("SC_CLK_TCK")
PROGRAM = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
MOST = 60  # characters of a command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="mpi-np", help="messaging system below MPI (default: %(default)s)")


def _stat(pid: str) -> tuple[int, float] | None:
    """Return the parent of a process and its CPU seconds so far, those of children that have ended left out."""
    try:
        fields = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS


def _command(pid: str) -> str:
    """Return what a process runs: the module or program, and its last argument that is no path."""
    try:
        words = Path("/proc", pid, "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return ""
    if "-m" in words[:4]:
        words = words[words.index("-m") :]
    return shlex.join(Path(word).name if word.startswith("/") else word for word in words)[:MOST]


def _descendants(root: int) -> Iterator[tuple[str, float]]:
    known = {pid: found for pid in os.listdir("/proc") if pid.isdigit() and (found := _stat(pid))}
    below = {root}
    while more := {int(pid) for pid, (parent, _) in known.items() if parent in below} - below:
        below |= more
    yield from ((str(pid), known[str(pid)][1]) for pid in below if str(pid) in known)


def watched(process: "subprocess.Popen[str]") -> dict[str, float]:
    """Return CPU seconds by command of a process and all below it, until it ends."""
    seen: dict[str, tuple[str, float]] = {}
    while process.poll() is None:
        for pid, seconds in _descendants(process.pid):
            seen[pid] = (_command(pid) or seen.get(pid, ("",))[0], seconds)
        time.sleep(EVERY)
    found: dict[str, float] = {}
    for command, seconds in seen.values():
        found[command] = found.get(command, 0.0) + seconds
    return found


def run(args: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="lanai-cold-") as home:
        environment = {
            **os.environ,
            "HOME": home,
            "LANAI_CACHE": f"{home}/cache",
            "ZIG_GLOBAL_CACHE_DIR": f"{home}/zig",
        }
        command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", "2", "--device", args.device]
        before = os.times()
        process = subprocess.Popen(
            [*command, "python", "-c", PROGRAM],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        found = watched(process)
        said, after = process.communicate()[0], os.times()
    if process.returncode:
        raise UserError(f"the run ended with code {process.returncode}:\n{said.strip()}")
    total = after.children_user + after.children_system - before.children_user - before.children_system
    for name, seconds in sorted(found.items(), key=lambda one: -one[1]):
        if seconds >= 0.1:
            print(f"{seconds:8.2f} s  {name}")
    return {"cold.cpu_s": total, "cold.not_seen_cpu_s": max(0.0, total - sum(found.values()))}
