"""The native engine's view of host memory, compiled alone: what is read after a write, what a refused access counts."""

from pathlib import Path

from .build import built


def test_host_memory(tmp_path):
    answer = built(Path(__file__).with_name("memory.cc"), tmp_path)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


# Tests of when the processor leaves its model, compiled with a stand-in for the model.


def test_the_processor_leaves_only_if_all_else_stays_as_it_is(tmp_path):
    answer = built(Path(__file__).with_name("core_run.cc"), tmp_path)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
