"""Fixtures of all tests of the MPI library."""

import pytest

from lanai_host.stacks.ideal.device import IdealDevice

from . import ranks


@pytest.fixture(params=[IdealDevice, ranks.LateDevice])
def run(request):
    """A program on `size` ranks, once with a device whose sends end at once, and once with one whose
    operations end later."""
    return lambda size, program: ranks.run(size, program, request.param)
