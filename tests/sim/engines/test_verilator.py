"""Building models: cached by content, shared by concurrent runs, clear when something is
missing."""

import ctypes
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lanai_host import compilers
from lanai_host.errors import UserError
from lanai_sim.engines import verilator
from lanai_sim.engines.verilated import Model
from lanai_sim.engines.verilator import Source, library

COUNTER = "module counter(input clk, output reg [31:0] n); always @(posedge clk) n <= n + STEP; endmodule"
WRAPPER = """
#include "Vcounter.h"
extern "C" __attribute__((visibility("default"))) unsigned run(int cycles) {
    VerilatedContext context;
    Vcounter model(&context);
    for (int i = 0; i < cycles; i++) { model.clk = 0; model.eval(); model.clk = 1; model.eval(); }
    return model.n;
}
"""


def counter(step):
    return Model("counter", {"counter.v": COUNTER.replace("STEP", str(step))})


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def cache(shared, monkeypatch):
    """A cache of this module alone: each test has counters of its own, and Verilator's run-time
    objects are compiled once."""
    monkeypatch.setenv("LANAI_CACHE", str(shared))
    return shared


@pytest.mark.ci
def test_concurrent_runs_share_one_build(cache):
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: library([counter(3)], WRAPPER), range(2))
    assert first == second
    assert ctypes.CDLL(str(first)).run(1000) == 3000
    stamp = first.stat().st_mtime_ns
    assert library([counter(3)], WRAPPER).stat().st_mtime_ns == stamp
    kept = {path.name for path in (cache / "rtl").rglob("*") if path.is_file()}
    assert kept == {"DIGESTS", "model.so", "model.o"}


@pytest.mark.ci
def test_a_truncated_library_is_built_again(cache, capsys):
    """The loader would die of SIGBUS where the file's pages are missing. A truncated object would
    not link."""
    before = set(cache.rglob("model.*"))
    path = library([counter(4)], WRAPPER)
    for cached in set(cache.rglob("model.*")) - before:
        os.truncate(cached, cached.stat().st_size // 2)
    assert library([counter(4)], WRAPPER) == path
    assert ctypes.CDLL(str(path)).run(1000) == 4000
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) > 2
    assert all(note.startswith("lanai: note: the cached rtl ") for note in notes)


def source(key, step):
    """Sources of one key, and the list of each time that they were made."""
    calls = []

    def make():
        calls.append(key)
        return [counter(step)]

    return Source((key,), make), calls


@pytest.mark.ci
def test_sources_that_give_the_same_verilog_share_one_build(cache, monkeypatch):
    """An edit that changes no Verilog builds nothing, and sources that are known are not made
    again."""
    path = library(source("as it was", 5)[0], WRAPPER)
    assert ctypes.CDLL(str(path)).run(10) == 50
    monkeypatch.setattr(verilator, "_objects", None)
    edited, calls = source("edited", 5)
    assert library(edited, WRAPPER) == path
    assert calls == ["edited"]
    again, calls = source("edited", 5)
    assert library(again, WRAPPER) == path
    assert calls == []


@pytest.fixture
def linked(monkeypatch):
    """The libraries that were built: each has no objects, and its file a content that names it."""
    built = []
    monkeypatch.setattr(verilator, "_objects", lambda *given: [])
    monkeypatch.setattr(
        verilator, "_link", lambda files, tool, result: built.append(result) or result.write_bytes(b"library")
    )
    return built


def test_sources_that_give_another_verilog_give_another_library(cache, linked):
    paths = {library(source(f"step {step}", step)[0], WRAPPER) for step in (6, 7)}
    assert len(paths) == len(linked) == 2


def test_a_library_that_was_removed_is_built_from_known_sources(cache, linked):
    known, calls = source("removed", 8)
    path = library(known, WRAPPER)
    shutil.rmtree(path.parent)
    assert library(known, WRAPPER) == path
    assert path.read_bytes() == b"library"
    assert len(calls) == 3


def test_an_unusable_cache_is_named(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("LANAI_CACHE", str(blocked / "cache"))
    with pytest.raises(UserError, match="LANAI_CACHE"):
        library([counter(1)], WRAPPER)


def test_a_full_disk_is_named(cache, monkeypatch):
    def full(command, **options):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(subprocess, "run", full)
    monkeypatch.setattr(verilator, "find", lambda language: compilers.Compiler(("g++",), "none"))
    with pytest.raises(UserError, match="No space left"):
        library([counter(2)], WRAPPER)


def test_broken_verilog_is_told_with_the_tools_words(cache):
    with pytest.raises(UserError, match=r"(?s)syntax error.*verilator_bin"):
        library([Model("counter", {"counter.v": "module counter(; endmodule"})], WRAPPER)


@pytest.fixture
def zig(monkeypatch):
    """A compiler that passes for zig, does nothing, and notes its commands and what else happens."""
    happened, start = [], subprocess.Popen

    def started(command, **options):
        if "ziglang" in command:
            happened.append(command)
            Path(command[command.index("-o") + 1]).write_bytes(b"object")
            command = [sys.executable, "-c", ""]
        return start(command, **options)

    monkeypatch.setattr(subprocess, "Popen", started)
    return happened


def version_of_zig(version):
    return compilers.Compiler((sys.executable, "-m", "ziglang", "c++"), f"ziglang {version}")


def test_zig_adds_no_checks_and_does_not_build_their_library(cache, zig):
    library([counter(8)], WRAPPER, tool=version_of_zig("of this test"))
    assert len([command for command in zig if "-shared" in command]) == 1
    assert len(zig) > 2
    assert all("-fno-sanitize=undefined" in command for command in zig)
