"""The native engine's view of host memory, compiled alone: what is read after a write, what a refused access counts."""

import subprocess
from importlib.resources import files
from pathlib import Path

from lanai_host.compilers import Language, find


def test_host_memory(tmp_path):
    program = tmp_path / "memory"
    source = Path(__file__).with_name("memory.cc")
    native = files("lanai_sim.engines").joinpath("native")
    warnings = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run(
        [*find(Language.CXX).command, "-std=gnu++17", *warnings, f"-I{native}", "-o", str(program), str(source)],
        check=True,
    )
    answer = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
