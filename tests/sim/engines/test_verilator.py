"""Building models: cached by content, shared by concurrent runs, clear when something is missing."""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from lanai_host import compilers
from lanai_host.errors import UserError
from lanai_sim.engines import verilator
from lanai_sim.engines.verilator import Model, library

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


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_concurrent_runs_share_one_build(fresh):
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: library([counter(3)], WRAPPER), range(2))
    assert first == second
    assert ctypes.CDLL(str(first)).run(1000) == 3000
    stamp = first.stat().st_mtime_ns
    assert library([counter(3)], WRAPPER).stat().st_mtime_ns == stamp
    kept = {path.name for path in fresh.rglob("*") if path.is_file()}
    assert kept == {"DIGESTS", "model.so", "model.o"}


def test_a_truncated_library_is_built_again(fresh, capsys):
    """The loader would die of SIGBUS where the file's pages are missing. A truncated object would not link."""
    path = library([counter(3)], WRAPPER)
    for cached in fresh.rglob("model.*"):
        os.truncate(cached, cached.stat().st_size // 2)
    assert library([counter(3)], WRAPPER) == path
    assert ctypes.CDLL(str(path)).run(1000) == 3000
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) > 2
    assert all(note.startswith("lanai: note: the cached rtl ") for note in notes)


def test_an_unusable_cache_is_named(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("LANAI_CACHE", str(blocked / "cache"))
    with pytest.raises(UserError, match="LANAI_CACHE"):
        library([counter(1)], WRAPPER)


def test_a_full_disk_is_named(fresh, monkeypatch):
    def full(command, **options):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(verilator.subprocess, "run", full)
    monkeypatch.setattr(verilator, "find", lambda language: compilers.Compiler(("g++",), "none"))
    with pytest.raises(UserError, match="No space left"):
        library([counter(2)], WRAPPER)


def test_broken_verilog_is_told_with_the_tools_words(fresh):
    with pytest.raises(UserError, match=r"(?s)syntax error.*verilator_bin"):
        library([Model("counter", {"counter.v": "module counter(; endmodule"})], WRAPPER)
