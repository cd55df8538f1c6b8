"""Ranks whose clocks, sleeps and time limits go by simulated time."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pairs import first_of

from lanai_host.clocks.library import Clock
from lanai_host.config import HostConfig
from lanai_sim.job.result import Exit
from openlanai import Job

PYTHON = """\
import asyncio, os, select, socket, threading, time
from mpi4py import MPI
world = MPI.COMM_WORLD
CLOCKS = time.time, time.monotonic, time.perf_counter, lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
def took(seconds, wait):
    begun, here = [clock() for clock in CLOCKS], MPI.Wtime()
    wait()
    spent = [clock() - first for clock, first in zip(CLOCKS, begun)]
    spent.append(MPI.Wtime() - here)
    for one in spent:
        assert seconds <= one + 1e-6 and one < seconds + 30e-6, (seconds, spent)
a, b = socket.socketpair()
a.settimeout(5)
def recv():
    try: a.recv(1)
    except TimeoutError: return
    raise AssertionError
took(0, lambda: None)
took(10, lambda: time.sleep(10))
took(2, lambda: select.select([], [], [], 2))
took(3, lambda: select.select([a], [], [b], 3))
took(4, lambda: threading.Event().wait(4))
took(5, recv)
took(6, lambda: asyncio.run(asyncio.sleep(6)))
world.Barrier()
print(world.rank, f"{MPI.Wtime():.12f}", flush=True)
"""


def run(command, size=2, device="ideal", clock=Clock.SIMULATED, **options):
    return Job(command, size, device, clock=clock, max_wall=300).but(**options).run()


def python(text, *words, **options):
    return run((sys.executable, "-c", text, *words), **options)


@pytest.mark.parametrize("device", first_of("mpi-np", "ideal"))
def test_sleeps_and_time_limits_take_simulated_time_alone(device, capfd):
    result = python(PYTHON, device=device)
    assert result.code == 0, result.report + capfd.readouterr().err
    printed = sorted(capfd.readouterr().out.splitlines())
    assert [line.split()[0] for line in printed] == ["0", "1"]
    again = python(PYTHON, device=device)
    assert (again.clocks, sorted(capfd.readouterr().out.splitlines())) == (result.clocks, printed)
    assert result.notes == ()


C = r"""
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int rank, told;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static struct timespec in(clockid_t clock, int seconds) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += seconds;
    return t;
}

static void took(const char *what, double since) {
    if (!rank) printf("%s %.4f\n", what, now() - since);
}

static void *other(void *unused) {
    int word;
    MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_mutex_lock(&mutex);
    told = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sem_post(&semaphore);
    return unused;
}

int main(int count, char **words) {
    int level, error = 0, file = epoll_create1(0);
    struct timeval begun, ended, half = {0, 500000};
    struct timespec until, rest = {0, 250000000};
    struct epoll_event event;
    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sem_init(&semaphore, 0, 0);
    double since = now(), here = MPI_Wtime();
    gettimeofday(&begun, NULL);
    sleep(3), took("sleep", since), since = now();
    usleep(500000), took("usleep", since), since = now();
    nanosleep(&rest, NULL), took("nanosleep", since), since = now();
    poll(NULL, 0, 2000), took("poll", since), since = now();
    select(0, NULL, NULL, NULL, &half), took("select", since), since = now();
    epoll_wait(file, &event, 1, 1500), took("epoll", since), since = now();
    until = in(CLOCK_REALTIME, 4);
    pthread_mutex_lock(&mutex);
    while (!error) error = pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    took(error == ETIMEDOUT ? "condition" : "wrong", since), since = now();
    until = in(CLOCK_REALTIME, 5);
    error = sem_timedwait(&semaphore, &until);
    took(error && errno == ETIMEDOUT ? "semaphore" : "wrong", since), since = now();
    while (now() < since + 0.5);
    took("spin", since);
    gettimeofday(&ended, NULL);
    double mine = ended.tv_sec - begun.tv_sec + 1e-6 * (ended.tv_usec - begun.tv_usec), theirs = MPI_Wtime() - here;
    if (mine - theirs > 3e-5 || theirs - mine > 3e-5) printf("%.9f is not %.9f\n", mine, theirs);
    MPI_Barrier(MPI_COMM_WORLD);
    since = now();
    if (rank) {
        for (int i = 0; i < 2; i++) sleep(1), MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else {
        pthread_t thread;
        pthread_create(&thread, NULL, other, NULL);
        until = in(CLOCK_REALTIME, 10), error = 0;
        pthread_mutex_lock(&mutex);
        while (!told && !error) error = pthread_cond_timedwait(&condition, &mutex, &until);
        pthread_mutex_unlock(&mutex);
        took("told", since), since = now();
        if (!sem_timedwait(&semaphore, &until)) took("posted", since);
        pthread_join(thread, NULL);
    }
    MPI_Finalize();
    since = now();
    usleep(1000);
    printf("%d %d\n", rank, now() - since > 0.0009);
    return 0;
}
"""
TOOK = {
    "sleep": 3, "usleep": 0.5, "nanosleep": 0.25, "poll": 2, "select": 0.5, "epoll": 1.5, "condition": 4,
    "semaphore": 5, "spin": 0.5, "told": 1, "posted": 1,
}  # fmt: skip


def compiled(text, program, *flags):
    """Compile `text` to `program`. Return True if the compiler succeeds."""
    source = program.with_suffix(".c")
    source.write_text(text)
    command = [sys.executable, "-m", "lanai_sim", "mpicc", "-O1", *flags, str(source), "-o", str(program)]
    return subprocess.run(command, check=False).returncode == 0


def test_c_programs_time_themselves_and_wait_in_simulated_time(tmp_path, capfd):
    program = tmp_path / "program"
    assert compiled(C, program, "-pthread")
    result = run((str(program),))
    printed = capfd.readouterr()
    assert result.code == 0, result.report + printed.err
    lines = dict(line.rsplit(" ", 1) for line in printed.out.splitlines())
    assert (lines.pop("0"), lines.pop("1")) == ("1", "1")
    assert lines.keys() == TOOK.keys()
    for name, text in lines.items():
        assert float(text) == pytest.approx(TOOK[name], abs=0.2 if name in ("told", "posted") else 0.001), name
    assert "note" not in printed.err


LATE = """\
import socket, time
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    with socket.create_server(("127.0.0.1", 0)) as server:
        world.send(server.getsockname(), 1)
        server.settimeout(0.05)
        for number in range(1000):
            try: own = server.accept()[0]
            except TimeoutError: continue
            break
        print(number, f"{MPI.Wtime():.6f}", flush=True)
else:
    address = world.recv(source=0)
    time.sleep(1)
    socket.create_connection(address, timeout=5).close()
"""


@pytest.mark.parametrize("device", first_of("mpi-np", "ideal"))
def test_what_another_rank_writes_is_seen_at_its_time(device, capfd):
    times = set()
    for _ in range(2):
        assert python(LATE, device=device).code == 0
        times.add(capfd.readouterr().out)
    assert len(times) == 1
    number, seen = times.pop().split()
    assert (int(number), float(seen)) == (19, pytest.approx(1, abs=0.01)) or int(number) == 20


EXAMPLE = Path(__file__).parents[3] / "examples/mpi/pingpong.py"


@pytest.mark.parametrize("device", first_of("mpi-np", "ideal"))
def test_simulated_clocks_change_no_cycle_of_a_program_that_reads_none(device):
    """Neither does what the library reads for itself."""
    real, simulated = [run((sys.executable, str(EXAMPLE)), device=device, clock=clock) for clock in reversed(Clock)]
    assert simulated.code == 0
    assert simulated.clocks == real.clocks


ACCEPT = """\
import os, socket, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    with socket.create_server(("127.0.0.1", 0)) as server:
        world.bcast(server.getsockname())
        if sys.argv[1] == "limit": server.settimeout(1)
        own = server.accept()[0]
        world.send(None, 1)
        assert own.recv(1) == b"x"
        world.send(None, 1)
        assert os.read(own.fileno(), 1) == b"y"
else:
    address = world.bcast(None)
    own = socket.create_connection(address)
    for text in b"x", b"y":
        world.recv(source=0)
        own.send(text)
"""


@pytest.mark.parametrize("how", ["limit", "none"])
def test_what_a_rank_has_sent_leaves_before_it_waits_in_the_kernel(how, capfd):
    """On NICs a message is handed over in the next request that is waited for."""
    assert python(ACCEPT, how, device="mpi-np").code == 0, capfd.readouterr().err


CHILD = """\
import subprocess, sys, time
from mpi4py import MPI
begun = MPI.Wtime()
done = subprocess.run([sys.executable, "-c", "import time; time.sleep(0.2); print('child')"], timeout=30,
                      capture_output=True, text=True, check=True)
assert done.stdout == "child\\n"
print(MPI.Wtime() - begun < 30)
"""


def test_children_have_real_clocks_and_are_waited_for_no_longer_than_they_take(capfd):
    assert python(CHILD, size=1).code == 0
    assert capfd.readouterr().out == "True\n"


FORK = """\
import os, time
from mpi4py import MPI
time.sleep(5)
before = time.monotonic()
pid = os.fork()
if pid == 0:
    begun = time.monotonic()
    time.sleep(0.05)
    os._exit(0 if 0 <= begun - before < 1 and time.monotonic() - begun > 0.04 else 1)
assert os.waitpid(pid, 0)[1] == 0
"""


def test_a_forked_child_goes_on_in_real_time():
    assert python(FORK, size=1).code == 0


ASLEEP = "from mpi4py import MPI; import time; MPI.COMM_WORLD.rank or time.sleep(3); MPI.COMM_WORLD.recv(source=0)"


def test_a_deadlock_after_a_sleep_is_found_at_once():
    result = python(ASLEEP)
    assert result.code == Exit.DEADLOCK
    assert re.search(r"deadlock at 3\.\d+ s", result.report)


def test_a_run_with_real_clocks_has_them(capfd):
    text = (
        "from mpi4py import MPI; import time; begun = time.time(); time.sleep(0.05)\n"
        "print(MPI.Wtime() < 0.05, time.time() - begun > 0.04)"
    )
    assert python(text, size=1, clock=Clock.REAL).code == 0
    assert capfd.readouterr().out == "True True\n"


HELPER = r"""
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void *help(void *since) {
    struct timespec until;
    double begun = now();
    while (now() < begun + 0.02) usleep(1000);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000;
    until = (struct timespec){until.tv_sec + until.tv_nsec / 1000000000, until.tv_nsec % 1000000000};
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    printf("helped %d\n", now() > begun + 0.069 && begun >= *(double *)since);
    return NULL;
}
int main(int count, char **words) {
    pthread_t thread;
    MPI_Init(&count, &words);
    double begun = now();
    pthread_create(&thread, NULL, help, &begun);
    sleep(30);
    printf("slept %.3f\n", now() - begun);
    pthread_join(thread, NULL);
    MPI_Finalize();
}
"""


def test_a_thread_that_may_not_call_mpi_has_real_time(tmp_path, capfd):
    program = tmp_path / "program"
    assert compiled(HELPER, program, "-pthread")
    assert run((str(program),), size=1).code == 0
    assert sorted(capfd.readouterr().out.splitlines()) == ["helped 1", "slept 30.000"]


SLEEPS = """\
#include <mpi.h>
#include <unistd.h>
int main(int count, char **words) { MPI_Init(&count, &words); sleep(2); MPI_Finalize(); }
"""


def test_a_program_with_the_address_sanitizer_runs(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
    program = tmp_path / "program"
    if not compiled(SLEEPS, program, "-fsanitize=address"):
        pytest.skip("this compiler has no address sanitizer")
    result = run((str(program),), size=1)
    assert result.code == 0, result.report + capfd.readouterr().err
    assert result.sim_time >= 2 * 10**12


def config(device, **options):
    return Job(("program",), 2, device).but(**options)


def test_clocks_are_simulated_on_nics_unless_that_is_not_safe():
    assert config("mpi-np").chosen_clock is Clock.SIMULATED
    assert config("ideal").chosen_clock is Clock.REAL
    assert config("mpi-np", host=HostConfig(cpu_scale=1.0)).chosen_clock is Clock.REAL
    assert config("mpi-np", clock=Clock.REAL).chosen_clock is Clock.REAL
    assert config("ideal", clock=Clock.SIMULATED).chosen_clock is Clock.SIMULATED


BESIDE = """\
import sys, threading, time
from mpi4py import MPI
world = MPI.COMM_WORLD
def tick():
    while True: time.sleep(0.01)
if len(sys.argv) > 1: threading.Thread(target=tick, daemon=True).start()
world.Barrier()
begun = MPI.Wtime()
for turn in range(50):
    if world.rank: world.recv(source=0); world.send(turn, 0)
    else: world.send(turn, 1); world.recv(source=1)
if world.rank: print(MPI.Wtime() - begun)
"""


def test_messages_beside_a_thread_that_sleeps_now_and_then_take_hardly_longer(capfd):
    """They are looked for at short intervals then, which are the same in each run."""
    times = []
    for words in ([], ["tick"], ["tick"]):
        assert python(BESIDE, *words).code == 0
        printed = capfd.readouterr()
        assert printed.err == ""
        times.append(float(printed.out))
    assert times[0] < times[1] == times[2] < 1.5 * times[0]


PROFILED = """\
import cProfile
from mpi4py import MPI
world = MPI.COMM_WORLD
def talk(buffer=bytearray(4)):
    for _ in range(20):
        for sender in range(2):
            if world.rank == sender: world.Send(buffer, 1 - sender)
            else: world.Recv(buffer, sender)
profile = cProfile.Profile()
profile.runcall(talk)
print(any(entry.code is talk.__code__ for entry in profile.getstats()), flush=True)
"""


@pytest.mark.parametrize("device", first_of("mbcf", "sci", "mpi-np"))
def test_a_profiler_that_reads_clocks_in_a_call_interrupts_no_call(device, capfd):
    """A reading lets other ranks interrupt a program that waits by reading, and not one that is in an MPI call."""
    result = python(PROFILED, device=device)
    assert result.code == 0, result.report + capfd.readouterr().err
    assert capfd.readouterr().out.split() == ["True", "True"]
