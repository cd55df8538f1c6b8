"""The native engine's view of host memory, compiled alone: what is read after a write, what a
refused access counts."""

import subprocess
from importlib.resources import files
from pathlib import Path

from lanai_host.compilers import Language, find
from lanai_sim.engines.declared import header
from lanai_sim.engines.verilated import verilator_root


def test_host_memory(tmp_path):
    program = tmp_path / "memory"
    source = Path(__file__).with_name("memory.cc")
    native = files("lanai_sim.engines").joinpath("cxx")
    runtime = verilator_root() / "include"  # what saves and restores state
    (tmp_path / "declared.h").write_text(header())
    flags = ["-std=gnu++17", "-Wall", "-Wextra", "-Werror", f"-I{native}", f"-I{tmp_path}", "-isystem", str(runtime)]
    subprocess.run([*find(Language.CXX).command, *flags, "-o", str(program), str(source)], check=True)
    answer = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
