"""Tests of when the processor leaves its model, compiled with a stand-in for the model."""

import subprocess
from importlib.resources import files
from pathlib import Path

from lanai_hdl.config import lanai41
from lanai_host.compilers import Language, find
from lanai_sim.engines.specialized import core, core_fields


def test_the_processor_leaves_only_if_all_else_stays_as_it_is(tmp_path):
    program = tmp_path / "core_run"
    source = Path(__file__).with_name("core_run.cc")
    native = files("lanai_sim.engines").joinpath("cxx")
    (tmp_path / core.FIELDS).write_text(core_fields.header())
    (tmp_path / "nic_model.h").write_text(core.header(lanai41(), "Root"))
    flags = ["-std=gnu++17", "-Wall", "-Wextra", "-Werror", f"-I{native}", f"-I{tmp_path}"]
    subprocess.run([*find(Language.CXX).command, *flags, "-o", str(program), str(source)], check=True)
    answer = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
