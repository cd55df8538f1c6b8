"""Threads that only wait for memory to change are told from those that compute."""

import ctypes
import threading
import time

import pytest

from lanai_host.compilers import Language, find
from lanai_host.mpi import threads

LOOPS = """
#include <sched.h>
#include <string.h>
void waits(volatile int *end) { while (!*end); }
void yields(volatile int *end) { while (!*end) sched_yield(); }
void counts_and_yields(volatile int *end) { for (volatile long i = 0; !*end; i++) sched_yield(); }
void counts(volatile int *end) { for (volatile long i = 0; !*end; i++); }
void counts_far_away(volatile int *end) { static volatile long i; while (!*end) i++; }
volatile double product;
void multiplies(volatile int *end) { double x = 1; while (!*end) x *= 1.0000001; product = x; }
void fills(volatile int *end) { static char to[1 << 22]; for (int i = 0; !*end; i++) memset(to, i, sizeof to); }
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
