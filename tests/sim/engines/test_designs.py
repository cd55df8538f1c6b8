"""Cache keys of models from sources: what decides the Verilog is in the key, and a model from the
cache is not elaborated."""

import ctypes
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lanai_sim
from lanai_hdl.config import NicConfig
from lanai_hdl.switch_config import SwitchConfig
from lanai_host import compilers
from lanai_host.errors import UserError
from lanai_sim.engines import designs, elaboration, verilator
from lanai_sim.engines.designs import Design
from lanai_sim.engines.rtl import build
from lanai_sim.engines.verilated import Model
from lanai_sim.engines.verilator import Source, library

SMALL = NicConfig(sram_size=32768)

LOADED = """
import sys
from lanai_sim.engines.gateware import verilog
print(*sorted(module.__file__ for name, module in sys.modules.items() if name.startswith("lanai_") and module.__file__))
"""


def python(program, *arguments):
    answer = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_every_module_that_elaboration_imports_is_in_the_key():
    covered = {Path(path) for package in designs.SOURCES for _, path in designs._files(package)}
    covered |= {Path(designs.__file__), Path(designs.__file__).with_name("__init__.py"), Path(lanai_sim.__file__)}
    loaded = {Path(name) for name in python(LOADED).split()}
    assert len(loaded) > 20
    assert loaded <= covered


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """A package of sources that may be edited; its files."""
    package = tmp_path / "edited_gateware"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "inner/block.py", "ram.v"):
        (package / name).write_text(f"{name}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(designs, "SOURCES", ("edited_gateware",))
    return package


@pytest.mark.parametrize("name", ["inner/block.py", "ram.v"])
def test_an_edit_changes_the_key(edited, name):
    before = designs.key([Design(SMALL)])
    assert designs.key([Design(SMALL)]) == before
    (edited / name).write_text("another\n")
    assert designs.key([Design(SMALL)]) != before


def test_a_new_and_a_renamed_file_change_the_key(edited):
    keys = {designs.sources_digest()}
    (edited / "new.py").write_text("")
    keys.add(designs.sources_digest())
    (edited / "new.py").rename(edited / "other.py")
    keys.add(designs.sources_digest())
    assert len(keys) == 3


def test_configuration_probes_and_tools_are_in_the_key(monkeypatch):
    keys = {
        designs.key([Design(SMALL)]),
        designs.key([Design(SMALL, probes=True)]),
        designs.key([Design(NicConfig(sram_size=65536))]),
        designs.key([Design(SMALL), Design(SwitchConfig(4, SMALL))]),
        designs.key([Design(SMALL), Design(SwitchConfig(8, SMALL))]),
    }
    monkeypatch.setattr(designs, "version", lambda name: "0.0")
    keys.add(designs.key([Design(SMALL)]))
    assert len(keys) == 6


def test_sources_edited_while_they_are_elaborated_are_not_stored(edited, monkeypatch):
    def elaborate(maker, wanted):
        (edited / "ram.v").write_text("saved meanwhile\n")
        return [{"nic.v": ""}]

    monkeypatch.setattr(elaboration, "in_fresh_process", elaborate)
    with pytest.raises(UserError, match="sources changed"):
        elaboration.elaborate([Design(SMALL)], designs.key([Design(SMALL)]))


def test_a_design_is_elaborated_once(edited, tmp_path, monkeypatch):
    """Whatever models and neighbours it is built with; after an edit, again."""
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path / "cache"))
    made = []

    def elaborate(maker, wanted):
        made.extend(wanted)
        return [{"top.v": f"module {design.top}; endmodule"} for design in wanted]

    monkeypatch.setattr(elaboration, "in_fresh_process", elaborate)
    nic, switch = Design(SMALL), Design(SwitchConfig(4, SMALL))
    texts = elaboration.elaborate([nic], designs.key([nic]))
    assert elaboration.elaborate([nic, switch], designs.key([nic, switch]))[:1] == texts
    assert made == [nic, switch]
    (edited / "ram.v").write_text("another\n")
    elaboration.elaborate([nic], designs.key([nic]))
    assert made == [nic, switch, nic]


def test_a_failed_elaboration_is_told_with_its_last_words(edited, monkeypatch):
    monkeypatch.setattr(elaboration, "MAKER", "lanai_sim.no_such_module")
    with pytest.raises(UserError, match=r"exit code 1:\n.*no_such_module"):
        elaboration.elaborate([Design(SMALL)], ())


def test_without_yosys_the_remedy_is_told_in_one_line(edited, monkeypatch):
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "system")
    monkeypatch.setenv("YOSYS", "no-such-yosys")
    monkeypatch.setenv("LANAI_CACHE", str(edited))
    with pytest.raises(UserError) as raised:
        elaboration.elaborate([Design(SMALL)], ())
    remedy = "Verilog is written by Yosys, which was not found; run: pip install 'openlanai[verilog]'"
    assert str(raised.value) == remedy


def test_a_model_from_the_cache_needs_no_amaranth():
    nic, _ = build(NicConfig(), None)
    program = (
        "import sys; sys.modules['amaranth'] = None\n"
        "from lanai_hdl.config import NicConfig\n"
        "from lanai_sim.engines.rtl import build\n"
        "print(build(NicConfig(), None)[0].key)"
    )
    assert python(program).strip() == nic.key


HEAVY = ("amaranth", "cffi", "elftools", "lanai_firmware.compiler", "llvmlite.binding", "pycparser", "rich")
LOADED_BY_A_RUN = f"""
import importlib, sys
from pathlib import Path
import lanai_sim.cli, lanai_sim.commands.run, lanai_sim.job.nic_world, lanai_sim.job.launcher
from lanai_hdl.config import lanai41
from lanai_host.abi.programs import environment
from lanai_host.stacks import names, stack
from lanai_sim.job import settings
from lanai_sim.job.job import Job
environment(Path(sys.executable))
for name in [sys.argv[1]] if len(sys.argv) > 1 else names():
    settings.job_from({{"device": name}}, Job)
    importlib.import_module("lanai_host.stacks." + name.replace("-", "_") + ".device")
    if stack(name).nics:
        stack(name).image(lanai41())
print(sorted(set(sys.modules) & set({HEAVY})))
print(sorted(module for module in sys.modules if module.startswith("lanai_host.stacks.") and module.endswith(".stack")))
"""


def test_what_a_run_imports_is_light():
    """Each of these takes 0.05 to 0.5 s of CPU time, and a run whose models and libraries are built
    needs none of them, in the simulator or in a rank, whatever its messaging system."""
    python(LOADED_BY_A_RUN)  # which makes what is not made yet
    heavy, _ = python(LOADED_BY_A_RUN).splitlines()
    assert heavy == "[]"


def test_a_run_loads_one_messaging_system():
    _, stacks = python(LOADED_BY_A_RUN, "ideal").splitlines()
    assert stacks == "['lanai_host.stacks.ideal.stack']"


# Building models: cached by content, shared by concurrent runs, clear when something is missing.


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
