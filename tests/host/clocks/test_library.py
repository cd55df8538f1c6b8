"""The library that replaces clocks and waits, in a process that has not joined a simulation."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sanitizer

from lanai_host import c_module, compilers
from lanai_host.c_module import enums, text_of
from lanai_host.clocks.library import (
    ASAN,
    CALLS,
    PARTS,
    PRELOAD,
    Answer,
    Clock,
    can_be_loaded,
    environment,
    library,
    loaded,
)
from lanai_host.errors import UserError

PASSIVE = """
import os, select, socket, subprocess, sys, threading, time
begun = time.clock_gettime(time.CLOCK_MONOTONIC_RAW), time.time(), time.perf_counter()
a, b = socket.socketpair()
time.sleep(0.01)
assert not threading.Event().wait(0.01)
assert select.select([a], [], [], 0.01) == ([], [], [])
assert select.poll().poll(10) == []
poll = select.epoll(); poll.register(a, select.EPOLLIN)
assert poll.poll(0.01) == []
a.settimeout(0.01)
try: a.recv(1)
except TimeoutError: pass
assert subprocess.run([sys.executable, "-c", "pass"], timeout=500).returncode == 0
b.send(b"x")
assert a.recv(1) == b"x"
ended = time.clock_gettime(time.CLOCK_MONOTONIC_RAW), time.time(), time.perf_counter()
spent = [after - before for after, before in zip(ended, begun)]
assert min(spent) > 0.05, spent
assert max(spent) - min(spent) < 0.05, spent
"""


def test_clocks_that_are_real_need_nothing():
    assert environment(Clock.REAL, {PRELOAD: "mine.so"}) == {}


def test_what_the_user_preloads_and_tells_the_sanitizer_stays():
    given = environment(Clock.SIMULATED, {PRELOAD: "mine.so", ASAN: "detect_leaks=0"})
    assert given == {PRELOAD: f"{library()} mine.so", ASAN: "verify_asan_link_order=0:detect_leaks=0"}
    assert environment(Clock.SIMULATED, {})[PRELOAD] == str(library())


@pytest.mark.skipif(loaded(), reason="these tests themselves run with simulated clocks")
def test_a_process_without_the_library_has_real_clocks():
    assert not loaded()


def test_a_process_that_is_not_a_rank_has_real_clocks():
    variables = {**os.environ, **environment(Clock.SIMULATED, os.environ)}
    done = subprocess.run(
        [sys.executable, "-c", PASSIVE], env=variables, capture_output=True, text=True, check=False, timeout=500
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_compiler_that_pip_brings_makes_a_library_that_lacks_nothing(tmp_path, monkeypatch):
    zig = compilers.Compiler((sys.executable, "-m", "ziglang", "cc"), "ziglang")
    monkeypatch.setattr(compilers, "find", lambda language: zig)
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path))
    path = c_module.preload("clocks", c_module.enums(Answer), *PARTS)
    variables = {**os.environ, PRELOAD: str(path), "LD_BIND_NOW": "1"}
    done = subprocess.run(["true"], env=variables, capture_output=True, text=True, check=False, timeout=500)
    assert (done.returncode, done.stderr) == (0, "")
    assert not hasattr(ctypes.CDLL(str(path)), "_Unwind_Backtrace")  # it would serve the program's exceptions too


def test_a_path_that_the_variable_cannot_hold_is_refused(monkeypatch):
    monkeypatch.setattr("lanai_host.clocks.library.library", lambda: Path("/home/a b/clocks.so"))
    assert not can_be_loaded()
    with pytest.raises(UserError, match="neither a space nor a colon"):
        environment(Clock.SIMULATED, {})


# The library that replaces clocks under a thread sanitizer.


SANITIZED_PARTS = (
    CALLS,
    ("lanai_host.clocks", "reading"),
    ("lanai_host.clocks", "sleeping"),
)  # those that share state


def ran(folder, change=lambda text: text):
    """The program that was built from the library, with `change` made to it, and run."""
    text = change(text_of(SANITIZED_PARTS, enums(Answer))) + Path(__file__).with_name("clock_threads.c").read_text()
    source = folder / "threads.c"
    source.write_text(text)
    return sanitizer.run(sanitizer.build(source, "-ldl"))


@pytest.mark.slow
def test_threads_do_not_race(tmp_path):
    done = ran(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def changed(*pairs):
    def change(text):
        for before, after in pairs:
            assert before in text
            text = text.replace(before, after)
        return text

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        changed(("while (last < reading && ", "while (")),
        changed(("return state() == SIMULATED ? now : -1;", "return now;")),
    ],
    ids=["noted in the order in which they end", "shown though simulated time has ended"],
)
def test_time_would_be_seen_to_go_back(tmp_path, change):
    """Readings that are not kept in order show it. The threads decide, so it takes some tries."""
    assert any("time went back" in ran(tmp_path, change).stdout for _ in range(20))


@pytest.mark.slow
def test_a_race_would_be_seen(tmp_path):
    """A new state of the clocks is a race if nothing orders it after the time from which they run on."""
    unordered = changed(
        ("atomic_store(&clocks.state, RUNS_ON)", "atomic_store_explicit(&clocks.state, RUNS_ON, memory_order_relaxed)")
    )
    assert "data race" in ran(tmp_path, unordered).stderr
