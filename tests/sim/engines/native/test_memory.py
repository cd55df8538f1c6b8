"""The native engine's view of host memory, compiled alone: what is read after a write, what a refused access counts."""

import subprocess
from pathlib import Path

from lanai_host.compilers import Language, find
from lanai_sim.engines.native_library import texts


def built(source, folder, *arguments):
    """Compile a program beside the engine's files, without a warning, and run it."""
    for name, text in texts().items():
        (folder / name).write_text(text)
    program = folder / "program"
    flags = ["-std=gnu++17", "-Wall", "-Wextra", "-Werror", f"-I{folder}", "-pthread"]
    subprocess.run([*find(Language.CXX).command, *flags, "-o", str(program), str(source)], check=True)
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)


def test_host_memory(tmp_path):
    answer = built(Path(__file__).with_name("memory.cc"), tmp_path)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


# Tests of when the processor leaves its model, compiled with a stand-in for the model.


def test_the_processor_leaves_only_if_all_else_stays_as_it_is(tmp_path):
    answer = built(Path(__file__).with_name("core_run.cc"), tmp_path)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
