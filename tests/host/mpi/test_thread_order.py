"""The order of threads, without a simulator."""

import ctypes
import os
import queue
import subprocess
import sys
import threading
import time

import pytest

from lanai_host.compilers import Language, find
from lanai_host.mpi import threads
from lanai_host.mpi.errors import MpiError
from lanai_host.mpi.threads import Spent, ThreadOrder, TwoThreads, judged


def test_a_thread_that_was_promised_not_to_be_there_is_refused():
    order, caught = ThreadOrder(lambda: 2, 1), []

    def other():
        try:
            with order:
                pass
        except TwoThreads as error:
            caught.append(error.named("MPI_Send"))

    with order:
        with order:  # the holder may come again
            pass
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(30)
    (error,) = caught
    assert isinstance(error, MpiError)
    with pytest.raises(MpiError, match="MPI_Send: another thread is in MPI, which needs MPI_THREAD_MULTIPLE"):
        raise error
    with order:  # and it is free again
        pass


SECOND = 10**9


def test_threads_go_on_in_the_order_of_their_starts_when_numbers_begin_anew(monkeypatch):
    """Linux gives numbers in turn to the threads of all processes, and then goes back to the smallest."""
    monkeypatch.setattr(threads.os, "getpid", lambda: 32000)
    started = [32000, 32767, 300, 301]
    assert sorted(sorted(started), key=threads.started) == started
    order = ThreadOrder(lambda: 4, 1)
    order._stopped = {number: threads._Stop(None) for number in sorted(started)}
    chosen = []
    while order._stopped:
        order._last = threads.started(chosen[-1]) if chosen else -1
        chosen.append(order._choose(order._in_order()))
        del order._stopped[chosen[-1]]
    assert chosen == started


@pytest.mark.parametrize(
    ("waited", "running", "queued", "what"),
    [
        (0.6, 0.6, 0.0, None),  # it computes
        (600.0, 9.0, 591.0, None),  # on a machine with much other work
        (5.0, 0.01, 4.9, None),  # on one that gave it next to nothing so far
        (12.0, 12.0, 0.0, "runs on and on"),
        (600.0, 10.1, 589.0, "runs on and on"),
        (0.6, 0.001, 0.002, "sleeps in real time"),
        (0.6, 0.2, 0.0, None),  # it has read a file, say
        (20.0, 2.0, 7.5, "sleeps in real time"),  # it wakes now and then, and finds the processors taken
    ],
)
def test_what_a_thread_does_is_judged_by_its_own_time(waited, running, queued, what):
    assert judged(waited, Spent(int(running * SECOND), int(queued * SECOND))) == what


def test_a_thread_that_finds_no_processor_is_queued():
    """On one processor with a busy process that the kernel prefers, a thread that computes is not
    asleep."""
    seen, ready, go = [], threading.Event(), threading.Event()

    def compute():
        os.sched_setaffinity(0, {processor})
        os.nice(19)
        ready.set()
        go.wait()
        begun = time.monotonic()
        while time.monotonic() - begun < 1:
            pass
        seen.append(threads.spent_by_thread(threading.get_native_id()))

    processor = min(os.sched_getaffinity(0))
    busy = f"import os\nos.sched_setaffinity(0, {{{processor}}})\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE) as load:
        try:
            load.stdout.readline()
            thread = threading.Thread(target=compute)
            thread.start()
            ready.wait()
            before = threads.spent_by_thread(thread.native_id)
            go.set()
            thread.join()
        finally:
            load.kill()
    spent = seen[0].since(before)
    assert spent.queued > spent.running
    assert sum(spent) / SECOND > 0.8
    assert judged(1.0, spent) is None


def test_threads_that_wake_each_other_are_never_all_found_blocked():
    """At each moment one of the two runs or was woken, whichever is looked at first."""
    own = {*threads.running([])} - {threading.get_native_id()}
    queues, over = [queue.SimpleQueue(), queue.SimpleQueue()], threading.Event()

    def play(mine, other):
        while not over.is_set():
            mine.get()
            other.put(None)

    players = [threading.Thread(target=play, args=(queues[one], queues[1 - one])) for one in range(2)]
    for player in players:
        player.start()
    queues[0].put(None)
    stopped = [threading.get_native_id(), *own]
    found = [bool(threads.running(stopped)) for _ in range(15_000)]
    over.set()
    for player, one in zip(players, queues, strict=True):
        one.put(None)
        player.join()
    assert all(found)


def test_threads_that_wait_for_another_one_do_not_run():
    """More than are found at once: each waits for a lock, or sleeps until a time."""
    own = {*threads.running([])} - {threading.get_native_id()}  # of what runs the tests
    gate, woken = threading.Lock(), threading.Event()
    gate.acquire()

    def wait():
        with gate:
            pass

    waiting = [threading.Thread(target=wait) for _ in range(3)]
    asleep = [threading.Thread(target=woken.wait, args=(60,)) for _ in range(threads.ROOM + 1)]
    for thread in (*waiting, *asleep):
        thread.start()
    me, first = threading.get_native_id(), asleep[0].native_id
    try:
        end = time.monotonic() + 30
        while len(threads.running(own)) > 1 + len(asleep) and time.monotonic() < end:  # they have to get there
            time.sleep(0.01)
        assert sorted(threads.running(own)) == sorted([me, *(thread.native_id for thread in asleep)])
        assert sorted(threads.running([me, first, *own])) == sorted(thread.native_id for thread in asleep[1:])
    finally:
        gate.release()
        woken.set()
        for thread in (*waiting, *asleep):
            thread.join(20)
    end = time.monotonic() + 30
    while threads.running(own) != [me] and time.monotonic() < end:  # Linux ends a thread after Python has
        time.sleep(0.01)
    assert threads.running(own) == [me]


# Threads that only wait for memory to change are told from those that compute.

LOOPS = """
#include <sched.h>
#include <string.h>
void waits(volatile int *end) { while (!*end); }
void yields(volatile int *end) { while (!*end) sched_yield(); }
void counts_and_yields(volatile int *end) { for (volatile long i = 0; !*end; i++) sched_yield(); }
void counts(volatile int *end) { for (volatile long i = 0; !*end; i++); }
#define SEEN(value) __asm__ volatile("" : "+r"(value) : : "memory") /* it is in a register, and memory is read */
void counts_far_away(volatile int *end) { static long i; while (!*end) { long n = i + 1; SEEN(n); i = n; } }
volatile double product;
void multiplies(volatile int *end) { double x = 1; while (!*end) x *= 1.0000001; product = x; }
char to[1 << 22];
void fills(volatile int *end) { for (int i = 0; !*end; i++) { memset(to, i, sizeof to); SEEN(i); } }
void walks(volatile int *end) { unsigned x = 1; while (!*end) x = x * 1664525u + 1013904223u; *end = x | 1; }
"""
SPINS = {
    "waits": True,
    "yields": True,
    "counts_and_yields": True,
    "counts": False,
    "counts_far_away": False,
    "multiplies": False,
    "fills": False,
    "walks": False,
}


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def library(request, tmp_path_factory):
    file = tmp_path_factory.mktemp("loops") / "loops.so"
    command = [request.param, "-fPIC", "-shared", "-x", "c", "-o", str(file), "-"]
    find(Language.C).run(command, "building loops", LOOPS)
    return ctypes.CDLL(str(file))


def seen(run):
    """Return whether the thread that runs `run(end)` is seen to spin, three times over."""
    end = ctypes.c_int(0)
    thread = threading.Thread(target=run, args=(end,), daemon=True)
    thread.start()
    try:
        time.sleep(0.01)
        return [threads.spins(thread.native_id) for _ in range(3)]
    finally:
        end.value = 1
        thread.join(20)


@pytest.mark.parametrize("loop", SPINS)
def test_a_loop_that_waits_for_memory_is_told_from_one_that_computes(library, loop):
    def run(end):
        library[loop](ctypes.byref(end))

    assert seen(run) == 3 * [SPINS[loop]]


def test_python_that_waits_for_an_object_spins():
    def run(end):
        while not end.value:
            pass

    assert seen(run) == 3 * [True]


def test_python_that_counts_does_not_spin():
    def run(end):
        count = 0
        while not end.value:
            count += 1

    assert seen(run) == 3 * [False]


def test_a_thread_that_leaves_its_loop_does_not_spin(library):
    end, over = ctypes.c_int(0), ctypes.c_int(0)

    def run():
        library.waits(ctypes.byref(end))
        library.counts(ctypes.byref(over))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.01)
    try:
        assert threads.spins(thread.native_id)
        end.value = 1
        assert not threads.spins(thread.native_id)
    finally:
        end.value = over.value = 1
        thread.join(20)


def test_a_thread_that_has_ended_does_not_spin():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    assert not threads.spins(thread.native_id)
