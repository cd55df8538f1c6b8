"""Tests of when the processor leaves its model, compiled with a stand-in for the model."""

from pathlib import Path

from .build import built


def test_the_processor_leaves_only_if_all_else_stays_as_it_is(tmp_path):
    answer = built(Path(__file__).with_name("core_run.cc"), tmp_path)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
