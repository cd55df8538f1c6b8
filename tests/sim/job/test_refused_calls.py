"""The launcher where one system call is refused, as in some containers: each that our sources name."""

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
RING = """
from mpi4py import MPI
world = MPI.COMM_WORLD
assert world.sendrecv(world.rank, 1 - world.rank, source=1 - world.rank) == 1 - world.rank
"""
ROOMS = [Path(room.__file__).parent for room in (lanai_host, lanai_sim)]
APART = ("studies", "labs", "fpga", "corebench")  # start no ranks, or through the launcher
IN_C = (re.compile(r"\bSYS_(\w+)"), re.compile(r"(?<![\w.>])(\w+)\s*\("))
IN_PYTHON = (re.compile(r"\b(?:os|fcntl|signal|mmap|resource|socket|select|libc|CDLL\(None\))\.(\w+)\("),)
EPERM, ENOSYS = 1, 38
DONE_WITHOUT = """
accept4 clock_nanosleep epoll_pwait flock fsync getcpu getpgid getrandom getrlimit getrusage getsid madvise
memfd_create nanosleep pause personality ppoll prctl preadv process_vm_readv process_vm_writev sched_getaffinity
sched_setaffinity sched_yield setitimer setpgid setsid sigaltstack tgkill timerfd_settime times
"""
# No container refuses these: Python, the loader or every program with files and sockets needs them.
BASIC = """
accept access chdir clock_gettime close connect dup dup2 epoll_wait execve fcntl fork fstat ftruncate futex getcwd
geteuid getpid getppid getsockname getsockopt gettimeofday getuid kill lseek mmap munmap open pipe poll read
readlink recvfrom recvmsg select socket socketpair stat time unlink write
"""


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


@pytest.mark.ci
@pytest.mark.parametrize("name", DONE_WITHOUT.split())
def test_a_run_on_nics_does_without(name):
    done = lanai(name, EPERM, "mpi-np")
    assert (done.returncode, done.stderr) == (0, "")


def test_each_call_that_is_named_is_tried_or_belongs_to_every_system():
    assert set(DONE_WITHOUT.split()) <= set(named()) <= {*DONE_WITHOUT.split(), *BASIC.split()}


def test_a_call_that_cannot_be_done_without_is_told():
    done = lanai("ftruncate", EPERM, "ideal")
    assert done.returncode == 2
    assert done.stderr.startswith("lanai: error: the system refuses `os.ftruncate(self._file, size)`: Operation not")


@pytest.mark.parametrize(
    "name", ["memfd_create", "sched_getaffinity", "setsid", "prctl", "personality", "process_vm_readv"]
)
def test_doctor_names_them(name):
    asks = "from lanai_sim.commands import doctor; print(doctor.look(doctor.Part('', doctor.refused_calls, '', '')))"
    done = refused(name, EPERM, sys.executable, "-c", asks)
    assert done.stdout == f"(None, 'missing: refused: {name}')\n", done.stderr
