"""Turns of threads, without a simulator."""

import threading

import pytest

from lanai_host.mpi.errors import MpiError
from lanai_host.mpi.turns import Turns, TwoThreads


def test_a_thread_that_was_promised_not_to_be_there_is_refused():
    turns, caught = Turns(lambda: False), []

    def other():
        try:
            with turns:
                pass
        except TwoThreads as error:
            caught.append(error.named("MPI_Send"))

    with turns:
        with turns:  # the holder may come again
            pass
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(30)
    (error,) = caught
    assert isinstance(error, MpiError)
    with pytest.raises(MpiError, match="MPI_Send: another thread is in MPI, which needs MPI_THREAD_MULTIPLE"):
        raise error
    with turns:  # and it is free again
        pass
