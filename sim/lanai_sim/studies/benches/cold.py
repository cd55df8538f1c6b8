"""The first commands on a machine: CPU time of whole runs from an empty home, child by child. CC and CXX name the
compilers, as in any run. What pip does before is not counted."""

import argparse
import compileall
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from lanai_firmware.cache import SHIPPED
from lanai_host.errors import UserError

from ... import sources, wheel

NAME = "cold"
HELP = "CPU time of first runs from an empty home, by what their processes do; with a wheel; after an edit"

EVERY = 0.01  # seconds between two looks at the processes
TICKS = os.sysconf("SC_CLK_TCK")
PROGRAM = shlex.split("python -m mpi4py.bench pingpong -m 4 -n 4096 -l 10 -s 2")  # README's
OTHER = "mbcf"  # the second device
EDITED = "lanai_hdl/queue.py"  # a file of gateware
MOST = 60  # characters of a command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parts", nargs="*", metavar="NAME", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--device", default="mpi-np", help="messaging system of the first run (default: %(default)s)")


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


class Machine:
    """A copy of the packages as pip would leave it, and a home that is empty at first."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.site, self.home = folder / "site", folder / "home"
        for package in (*sources.PACKAGES, "openlanai"):
            spec = find_spec(package)
            assert spec is not None
            assert spec.origin is not None
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(Path(spec.origin).parent, self.site / package, ignore=ignored)
        self.home.mkdir()
        kept = {name: value for name, value in os.environ.items() if name not in ("LANAI_CACHE", "XDG_CACHE_HOME")}
        own = {"PYTHONPATH": str(self.site), "HOME": str(self.home), "ZIG_GLOBAL_CACHE_DIR": str(self.home / "zig")}
        self.environment = {**kept, **own, **settings}

    def lanai(self, name: str, *words: str) -> float:
        """Return the CPU seconds of a command, and print those of its processes."""
        before = os.times()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lanai_sim", *words],
            env=self.environment,
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        found = watched(process)
        said, after = process.communicate()[0], os.times()
        if process.returncode:
            raise UserError(f"{shlex.join(words)} ended with code {process.returncode}:\n{said.strip()}")
        total = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"{total:8.2f} s  {name}: lanai {shlex.join(words)}")
        for command, seconds in sorted(found.items(), key=lambda one: -one[1]):
            if seconds >= 0.1:
                print(f"    {seconds:8.2f} s  {command}")
        return total

    def run(self, name: str, device: str) -> float:
        return self.lanai(name, "run", "-q", "-n", "2", "--device", device, *PROGRAM)


@contextmanager
def _machine(**settings: str) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="lanai-cold-") as folder:
        yield Machine(Path(folder), **settings)


def _first(device: str) -> dict[str, float]:
    with _machine() as machine:
        found = {"first": machine.run("first run", device), "second": machine.run("second device", OTHER)}
        with (machine.site / EDITED).open("a") as file:
            file.write("# edited\n")
        return {**found, "edit": machine.run("after an edit of gateware", device)}


def _zig(device: str) -> dict[str, float]:
    if find_spec("ziglang") is None:
        raise UserError("ziglang is not installed; write: pip install 'openlanai[compiler]'")
    command = f"{shlex.quote(sys.executable)} -m ziglang"
    with _machine(CC=f"{command} cc", CXX=f"{command} c++") as machine:
        return {"zig": machine.run("first run with zig", device)}


def _wheel(device: str) -> dict[str, float]:
    with _machine() as machine:
        built = machine.site / SHIPPED.name
        built.mkdir()
        wheel.fill(built, machine.environment)
        compileall.compile_dir(machine.site, quiet=2)
        machine.environment["PATH"] = str(Path(sys.executable).parent)  # no compiler
        found = {"wheel": machine.run("first run with a wheel", device)}
        return {**found, "wheel_second": machine.run("second device with a wheel", OTHER)}


def _paper(_: str) -> dict[str, float]:
    with _machine() as machine:
        words = ("paper", "mpi-np", "--quick", "--jobs", "1", "--output", str(machine.home))
        cold = machine.lanai("paper from an empty home", *words)
        return {"paper": cold, "paper_over_warm": cold - machine.lanai("paper again", *words)}


PARTS = {"first": _first, "zig": _zig, "wheel": _wheel, "paper": _paper}


def run(args: argparse.Namespace) -> dict[str, float]:
    parts: Sequence[str] = args.parts or [*PARTS]
    if unknown := [name for name in parts if name not in PARTS]:
        raise UserError(f"{unknown[0]!r} is not a part of this bench; there are {', '.join(PARTS)}")
    found = [PARTS[name](args.device) for name in parts]
    return {f"cold.{name}_cpu_s": seconds for figures in found for name, seconds in figures.items()}
