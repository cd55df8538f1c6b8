"""The launcher where one system call is refused, as in some containers: each that our sources name, one by one. A run
ends well, or one line names the call."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import lanai_host
import lanai_sim
from lanai_host.compilers import Language, find

# Refuses a call of all processes of a command by a filter of the kernel: load the call's number; is it this one?
FILTERED = """
import ctypes, os, struct, sys
number, error, *command = sys.argv[1:]
steps = (0x20, 0, 0, 0), (0x15, 0, 1, int(number)), (0x06, 0, 0, 0x50000 | int(error)), (0x06, 0, 0, 0x7FFF0000)
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
prctl = ctypes.CDLL(None).prctl
assert prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert prctl(22, 2, program, 0, 0) == 0  # PR_SET_SECCOMP
os.execvp(command[0], command)
"""
# What every launcher in Python needs.
PLAIN = """
import fcntl, json, os, select, signal, socket, subprocess, threading
thread = threading.Thread(target=int); thread.start(); thread.join()
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
socket.send_fds(ours, [b"x"], [0]), socket.recv_fds(theirs, 1, 1), ours.send(b"x"), theirs.recv(1)
select.select([0], [], [], 0), select.poll().poll(0)
assert subprocess.run(["true"], stdout=subprocess.PIPE, pass_fds=[ours.fileno()]).returncode == 0
"""
RING = """
from mpi4py import MPI
world = MPI.COMM_WORLD
assert world.sendrecv(world.rank, 1 - world.rank, source=1 - world.rank) == 1 - world.rank
"""
ROOMS = [Path(room.__file__).parent for room in (lanai_host, lanai_sim)]
APART = ("studies", "labs", "fpga", "corebench")  # start no ranks, or through the launcher
IN_C = (re.compile(r"\bSYS_(\w+)"), re.compile(r"(?<![\w.>])(\w+)\s*\("))
IN_PYTHON = (re.compile(r"\b(?:os|fcntl|signal|mmap|resource|socket|select|libc|CDLL\(None\))\.(\w+)\("),)
SPELLED = {"recvfrom": "recv", "wait4": "wait"}
EPERM, ENOSYS = 1, 38


@cache
def numbers():
    """The system calls of this machine."""
    done = find(Language.C).run(["-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"], "listing calls")
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", done)}


def named():
    """The system calls that our sources name."""
    found = set()
    for path in (path for room in ROOMS for path in room.rglob("*") if not set(APART) & set(path.parts)):
        patterns = IN_C if path.suffix in (".c", ".h", ".cc") else IN_PYTHON if path.suffix == ".py" else ()
        text = path.read_text() if patterns else ""
        found.update(name for pattern in patterns for name in pattern.findall(text))
    return sorted(found & set(numbers()))


def refused(name, error, *command):
    return subprocess.run(
        [sys.executable, "-c", FILTERED, str(numbers()[name]), str(error), *command],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_the_calls_are_found():
    assert {"memfd_create", "setsid", "ppoll", "futex", "process_vm_readv", "personality", "flock"} <= set(named())
    assert (
        refused("getsid", ENOSYS, sys.executable, "-c", "import os; os.getsid(0)").stderr.count("not implemented") == 1
    )


def lanai(name, error, device):
    words = ["run", "-q", "-n", "2", "--device", device, "--max-wall", "100", "python", "-c", RING]
    return refused(name, error, sys.executable, "-P", "-m", "lanai_sim", *words)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("pidfd_open", EPERM), ("memfd_create", EPERM), ("setsid", EPERM), ("setsid", ENOSYS),
        ("sched_getaffinity", ENOSYS), ("ppoll", EPERM), ("personality", EPERM), ("prctl", EPERM),
    ],
)  # fmt: skip
def test_a_run_does_without_what_containers_refuse(name, error):
    done = lanai(name, error, "ideal")
    assert (done.returncode, done.stderr) == (0, "")
