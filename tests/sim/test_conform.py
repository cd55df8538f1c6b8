"""Reading what unittest printed, and a small part of mpi4py's suite."""

import pytest

from lanai_sim import conform

PRINTED = """\
[0] ..F.s
[0] ======
[0] FAIL: testOne (test_x.TestA.testOne)
[1] FAIL: testOne (test_x.TestA.testOne)
[1] ERROR: testTwo (test_x.TestA.testTwo) [subtest]
[0] Ran 5 tests in 0.010s
[1] Ran 5 tests in 0.010s
[0] FAILED (failures=1, skipped=1)
[1] FAILED (failures=1, errors=1, skipped=1)
"""


def test_a_test_failed_if_it_did_on_any_rank():
    outcome = conform.read("test_x", PRINTED, 1, 2)
    assert (outcome.run, outcome.skipped, outcome.passed) == (5, 1, 2)
    assert outcome.failed == ["test_x.TestA.testOne", "test_x.TestA.testTwo"]
    assert not outcome.trouble


def test_a_module_that_did_not_end_is_a_failure():
    text = "[0] ..\nlanai: deadlock at 1.0 us: all ranks wait\n"
    outcome = conform.read("test_x", text, 3, 2)
    assert outcome.trouble.startswith("lanai: deadlock")
    assert conform.figures([outcome])["mpi4py.failed"] == 1
    assert "did not end" in conform.page([outcome], 2, "ideal")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["test_p2p_buf", "test_cco_buf", "test_comm", "test_request", "test_status"])
def test_modules_of_mpi4py(module):
    outcome = conform.run_module(module, 2, "ideal", 300)
    assert outcome.run > 0
    assert not outcome.failed
    assert not outcome.trouble
