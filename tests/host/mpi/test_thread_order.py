"""The order of threads, without a simulator."""

import os
import subprocess
import sys
import threading
import time

import pytest

from lanai_host.mpi import threads
from lanai_host.mpi.errors import MpiError
from lanai_host.mpi.threads import Spent, ThreadOrder, TwoThreads, judged


def test_a_thread_that_was_promised_not_to_be_there_is_refused():
    order, caught = ThreadOrder(lambda: False), []

    def other():
        try:
            with order:
                pass
        except TwoThreads as error:
            caught.append(error.named("MPI_Send"))

    with order:
        with order:  # the holder may come again
            pass
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(30)
    (error,) = caught
    assert isinstance(error, MpiError)
    with pytest.raises(MpiError, match="MPI_Send: another thread is in MPI, which needs MPI_THREAD_MULTIPLE"):
        raise error
    with order:  # and it is free again
        pass


SECOND = 10**9


@pytest.mark.parametrize(
    ("waited", "running", "queued", "what"),
    [
        (0.6, 0.6, 0.0, None),  # it computes
        (600.0, 9.0, 591.0, None),  # on a machine with much other work
        (5.0, 0.01, 4.9, None),  # on one that gave it next to nothing so far
        (12.0, 12.0, 0.0, "runs on and on"),
        (600.0, 10.1, 589.0, "runs on and on"),
        (0.6, 0.001, 0.002, "sleeps in real time"),
        (0.6, 0.2, 0.0, None),  # it has read a file, say
        (20.0, 2.0, 7.5, "sleeps in real time"),  # it wakes now and then, and finds the processors taken
    ],
)
def test_what_a_thread_does_is_judged_by_its_own_time(waited, running, queued, what):
    assert judged(waited, Spent(int(running * SECOND), int(queued * SECOND))) == what


def test_a_thread_that_finds_no_processor_is_queued():
    """On one processor with a busy process that the kernel prefers, a thread that computes is not
    asleep."""
    seen, ready, go = [], threading.Event(), threading.Event()

    def compute():
        os.sched_setaffinity(0, {processor})
        os.nice(19)
        ready.set()
        go.wait()
        begun = time.monotonic()
        while time.monotonic() - begun < 1:
            pass
        seen.append(threads.spent_by_thread(threading.get_native_id()))

    processor = min(os.sched_getaffinity(0))
    busy = f"import os\nos.sched_setaffinity(0, {{{processor}}})\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE) as load:
        try:
            load.stdout.readline()
            thread = threading.Thread(target=compute)
            thread.start()
            ready.wait()
            before = threads.spent_by_thread(thread.native_id)
            go.set()
            thread.join()
        finally:
            load.kill()
    spent = seen[0].since(before)
    assert spent.queued > spent.running
    assert sum(spent) / SECOND > 0.8
    assert judged(1.0, spent) is None
