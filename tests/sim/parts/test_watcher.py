"""A part of a simulation that is killed ends the run with one line."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.sim.parts.test_together import LANAI, MPIEXEC, SECONDS

from lanai_sim.parts import watcher
from lanai_sim.parts.watcher import ENDS, SAYS, Watched, watch

ENDLESS = """
import os
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
print(os.getpid(), os.getppid(), flush=True)
while True:
    MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((ENDS, ENDS), ""),
        ((SAYS, b""), ""),
        ((ENDS, b""), "lanai: error: part 1 of 2 was killed or has crashed; the run has ended\n"),
        ((b"", b""), "lanai: error: part 0 of 2 was killed or has crashed; the run has ended\n"),
    ],
)
def test_a_part_is_lost_that_ends_without_a_word(words, expected):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("")
        listening.listen(2)
        parts = [socket.socket(socket.AF_UNIX) for _ in words]
        for number, part in enumerate(parts):
            part.connect(listening.getsockname())
            part.sendall(number.to_bytes(4, sys.byteorder))
        said = []
        watching = threading.Thread(target=lambda: said.append(watch(listening, 2)))
        watching.start()
        for part, word in sorted(zip(parts, words, strict=True), key=lambda one: not one[1]):
            with part, contextlib.suppress(BrokenPipeError):  # it has heard enough
                part.sendall(word)
        watching.join(20)
        assert said == [expected]


def test_a_part_that_gets_no_answer_says_why(monkeypatch):
    monkeypatch.setattr(watcher, "PATIENCE", 0.05)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("")
        listening.listen(1)
        part = Watched(0, listening.getsockname())
        with listening.accept()[0] as silent:
            assert part.may_say_why()
            assert silent.recv(5) == (0).to_bytes(4, sys.byteorder) + SAYS


def test_one_part_alone_says_why_the_run_is_over():
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("")
        listening.listen(2)
        said = []
        watching = threading.Thread(target=lambda: said.append(watch(listening, 2)))
        watching.start()
        parts = [Watched(number, listening.getsockname()) for number in (0, 1)]
        assert parts[1].may_say_why()
        watching.join(20)
        assert said == [""]
    assert not parts[0].may_say_why()


@pytest.mark.parametrize("user", ["another", "the same"])
def test_a_process_that_connects_and_says_nothing_stops_nobody(user, monkeypatch):
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as stranger:
        listening.bind("")
        listening.listen(2)
        stranger.connect(listening.getsockname())
        if user == "another":
            users = iter([os.geteuid() + 1])
            monkeypatch.setattr(watcher, "_user_of", lambda part: next(users, os.geteuid()))
        said = []
        watching = threading.Thread(target=lambda: said.append(watch(listening, 1)))
        watching.start()
        if user == "another":
            assert stranger.recv(1) == b""  # it was sent away
        assert Watched(0, listening.getsockname()).may_say_why()
        watching.join(20)
        assert said == [""]


def exists(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def process_of(part, mpiexec):
    """Return the process of a part: the interpreter that mpiexec, or what it started, gave this number."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = ((folder / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
            if b"--parts" in command and f"PMI_RANK={part}".encode() in environment and mpiexec in ancestors(folder):
                return int(folder.name)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    raise AssertionError(f"part {part} was not found")


def maps(pid):
    return Path(f"/proc/{pid}/maps").read_text().splitlines()


def ancestors(folder):
    while (parent := int((folder / "stat").read_text().rpartition(")")[2].split()[1])) > 1:
        yield parent
        folder = Path(f"/proc/{parent}")


@pytest.mark.ci
@pytest.mark.skipif(not MPIEXEC.exists(), reason="needs the mpiexec of the mpich wheel")
@pytest.mark.parametrize("part", [0, 1])
def test_a_part_that_is_killed_ends_the_run(part):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PMI")}
    command = [MPIEXEC, "-n", 2, *LANAI, "--parts", "-n", 2, "--device", "t3d", "python", "-c", ENDLESS]
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as run:
        left = {int(pid) for _ in range(2) for pid in run.stdout.readline().split()[-2:]}  # ranks, what forks them
        parts = {process_of(number, run.pid) for number in (0, 1)}
        shared = {line[line.index("/") :] for pid in parts for line in maps(pid) if "/dev/shm/mpich" in line}
        os.kill(process_of(part, run.pid), signal.SIGKILL)
        _, errors = run.communicate(timeout=SECONDS)
    assert run.returncode != 0
    said = [line for line in errors.splitlines() if line.startswith("lanai: error")]
    assert said == [f"lanai: error: part {part} of 2 was killed or has crashed; the run has ended"], errors
    give_up = time.monotonic() + 20
    while any(map(exists, left | parts)) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not [pid for pid in left | parts if exists(pid)]
    assert shared
    assert not [path for path in shared if Path(path).exists()]


@pytest.mark.ci
@pytest.mark.skipif(not MPIEXEC.exists(), reason="needs the mpiexec of the mpich wheel")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_part_whose_others_never_come_to_mpi_is_interrupted(number):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PMI")}
    part = [*LANAI, "--parts", "-n", 2, "--device", "t3d", "python", "-c", ENDLESS]
    command = [MPIEXEC, "-n", 1, *part, ":", "-n", 1, "sleep", "600"]
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as run:
        pid = until(lambda: process_of(0, run.pid))
        until(lambda: next(line for line in maps(pid) if "libmpi" in line))
        time.sleep(2)  # it comes to MPI_Init, where it waits
        os.kill(pid, number)
        try:
            run.communicate(timeout=SECONDS)
        finally:
            run.kill()
    assert run.returncode != 0
    assert not exists(pid)


@pytest.mark.ci
@pytest.mark.skipif(not MPIEXEC.exists(), reason="needs the mpiexec of the mpich wheel")
def test_a_run_that_is_interrupted_tells_of_all_parts():
    """Interrupt it as Ctrl-C on a terminal does: mpiexec passes the signal on to all parts."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PMI")}
    command = [MPIEXEC, "-n", 2, *LANAI, "--parts", "-n", 2, "--device", "t3d", "python", "-c", ENDLESS]
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as run:
        for _ in range(2):
            run.stdout.readline()
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=SECONDS)
    assert run.returncode == 130
    assert errors.count("interrupted") == errors.count("lanai: interrupted by SIGINT\n") == 1, errors
    assert re.findall("^  rank (.) at", errors, re.MULTILINE) == ["0", "1"], errors
    assert re.findall("^  nic (.):", errors, re.MULTILINE) == ["0", "1"], errors


def until(found):
    """Return what is found at last."""
    give_up = time.monotonic() + SECONDS
    while True:
        try:
            return found()
        except (AssertionError, StopIteration):
            assert time.monotonic() < give_up
            time.sleep(0.05)
