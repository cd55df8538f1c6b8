"""Between tests only what tests made is searched for garbage (tests/conftest.py)."""

import gc

import pytest


def test_the_collected_tests_are_left_out():
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    assert not any(isinstance(known, pytest.Session) for known in gc.get_objects())
