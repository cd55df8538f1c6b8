"""The queue of commands to the adapter."""

from types import SimpleNamespace

import pytest

from lanai_hdl.remote.packets import Op
from lanai_host.adapter.operation import Token
from lanai_host.config import free
from lanai_host.host_model.meter import Meter
from lanai_host.stacks.mbcf.operations import Job, Jobs, ignored


@pytest.mark.parametrize("begun_before", [False, True])
def test_a_job_that_will_not_begin_is_told_of_once(begun_before):
    """Also if that was found out between two looks: what waits for it may go on."""

    def none_ended():
        return []

    commands = SimpleNamespace(free=0, take_ended=none_ended)
    jobs = Jobs(None, SimpleNamespace(share=lambda: commands), 100, Meter(free(), None))
    jobs.add(Job(Op.APPEND, Token(1, 0, 1, 0, 8), 0, "a record", ignored, b"1", begins=lambda: False))
    if begun_before:
        jobs.begin()
    assert [jobs.advance() for _ in range(2)] == [True, False]
