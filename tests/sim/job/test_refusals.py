"""Refusals of a run with NICs: they come before a model of the NICs is built, which can take a
minute."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import lanai_host
import lanai_sim
from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError
from lanai_host.stacks import stack
from lanai_sim.engines import rtl
from openlanai import Job, Machine


@pytest.mark.parametrize("device", ["ccu"])
def test_a_device_whose_packets_no_trace_shows(device, monkeypatch, tmp_path):
    monkeypatch.setattr(rtl, "build", None)
    monkeypatch.setattr(type(stack(device)), "vocabulary", None)
    trace = tmp_path / "no.trace"
    with pytest.raises(UserError, match=f"--trace cannot show the packets of the device '{device}'"):
        Job(("true",), 2, device, trace=str(trace)).run()
    assert not trace.exists()


def test_what_is_refused_leaves_no_trace(monkeypatch, tmp_path):
    monkeypatch.setattr(rtl, "build", None)
    trace = tmp_path / "no.trace"
    with pytest.raises(UserError, match="ccu serves 8 ranks a node, not 9"):
        Job(("true",), 9, "ccu", ranks_per_node=9, trace=str(trace)).run()
    assert not trace.exists()


@pytest.mark.parametrize(
    ("device", "ranks", "ranks_per_node", "text"),
    [
        ("ccu", 9, 9, "ccu serves 8 ranks a node, not 9; put fewer ranks on a NIC"),
        ("t3d", 2, 2, "t3d puts one rank on a NIC, not 2"),
        (
            "sci",
            9,
            9,
            "9 ranks on a NIC are more than its adapter serves; .*: put fewer ranks on a NIC .--ranks-per-node K.$",
        ),
        ("lanai2", 9, 9, "it has processes=8: put fewer ranks on a NIC .--ranks-per-node K.$"),
        ("mbcf", 257, 1, "257 NICs are too many for a tree of switches, which joins 240; put more ranks on a NIC"),
    ],
)
def test_more_ranks_than_a_system_serves(device, ranks, ranks_per_node, text, monkeypatch):
    monkeypatch.setattr(rtl, "build", None)
    with pytest.raises(UserError, match=text):
        Job(("true",), ranks, device, ranks_per_node=ranks_per_node).run()


def test_more_ranks_than_the_chosen_adapter_serves(monkeypatch):
    """An adapter that the user described is taken as it is."""
    monkeypatch.setattr(rtl, "build", None)
    machine = Machine(lanai41().but(blocks=(Remote(processes=2),)))
    with pytest.raises(UserError, match=r"it has processes=2: .*, or take --nic-option remote.processes=4"):
        Job(("true",), 3, "lanai2", machine, ranks_per_node=3).run()


@pytest.mark.parametrize(
    ("device", "ranks", "ranks_per_node", "text"),
    [
        ("ccu", 257, 1, "ccu has room for 256 nodes, not 257; put more ranks on a NIC .--ranks-per-node 2"),
        ("ccu", 2560, 5, "start at most 2048 ranks, 8 on a NIC .--ranks-per-node"),
        ("bip", 257, 1, "bip has room for 256 ranks, not 257; start fewer with -n, or choose another --device"),
    ],
)
def test_more_nodes_than_a_packet_can_name(device, ranks, ranks_per_node, text, monkeypatch):
    monkeypatch.setattr(rtl, "build", None)
    with pytest.raises(UserError, match=text):
        Job(("true",), ranks, device, Machine(fabric="torus:8x8x8"), ranks_per_node=ranks_per_node).run()


def test_more_nics_than_the_chosen_adapter_knows(monkeypatch):
    monkeypatch.setattr(rtl, "build", None)
    machine = Machine(lanai41().but(blocks=(Remote(peers=8),)))
    with pytest.raises(UserError, match=r"9 NICs .* it has peers=8: put more ranks on a NIC .*remote.peers=9"):
        Job(("true",), 9, "mbcf", machine).run()


# The launcher where one system call is refused, as in some containers: each that our sources name.


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
geteuid getpid getppid getsockname getsockopt gettimeofday getuid kill lseek mmap munmap open openat pipe poll read
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


@pytest.mark.parametrize(
    ("name", "device"),
    [("ftruncate", "mpi-np"), ("epoll_wait", "ideal"), ("getsockopt", "ideal"), ("getpid", "ideal")],
)
def test_a_call_that_cannot_be_done_without_is_told(name, device):
    done = lanai(name, ENOSYS, device)
    reason = "No such process" if name == "getpid" else "Function not implemented"
    told = f"lanai: error: the system refuses {name}: {reason}; let processes call it\n"
    assert (done.returncode, done.stderr) == (2, told)


def test_threads_that_cannot_be_started_are_told():
    """A limit of processes refuses clone3 in the same way."""
    done = lanai("clone3", EPERM, "ideal")
    told = "lanai: error: the system starts no further thread; raise `ulimit -u`, or let processes call clone3\n"
    assert (done.returncode, done.stderr) == (2, told)


@pytest.mark.parametrize(
    "name", ["memfd_create", "sched_getaffinity", "setsid", "prctl", "personality", "process_vm_readv"]
)
def test_doctor_names_them(name):
    asks = "from lanai_sim.commands import doctor; print(doctor.look(doctor.Part('', doctor.refused_calls, '', '')))"
    done = refused(name, EPERM, sys.executable, "-c", asks)
    assert done.stdout == f"(None, 'missing: refused: {name}')\n", done.stderr
