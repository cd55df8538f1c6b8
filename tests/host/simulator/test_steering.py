"""A thread's mask of processors is narrow while it sleeps, and only then."""

import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest
import sanitizer

from lanai_host.c_module import text_of
from lanai_host.compilers import Language, find
from lanai_host.simulator.protocol import HEADER, Status
from lanai_host.simulator.spin import PARTS, Chunk, SpinWait, Steering

from . import transport_program

WHOLE = os.sched_getaffinity(0)
SHARED = min(WHOLE)


def mask(thread=0):
    return os.sched_getaffinity(thread)


def until(condition):
    give_up = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.001)


class Sleeper(threading.Thread):
    """Sleeps once, and says which masks it had before and after."""

    def __init__(self, sock, processor, own=WHOLE):
        super().__init__()
        self.sock, self.processor, self.own = sock, processor, own
        self.masks = []

    def run(self):
        os.sched_setaffinity(0, self.own)
        self.masks.append(mask())
        self.got = SpinWait().sleep(self.sock, Chunk(16), self.processor)
        self.masks.append(mask())


@contextmanager
def sleeping(processor=SHARED, own=WHOLE, narrow=frozenset({SHARED})):
    """A thread in its sleep, with this mask."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        thread = Sleeper(ours, processor, own)
        thread.start()
        until(lambda: thread.masks and mask(thread.native_id) == narrow and asleep(thread))
        yield thread
        theirs.send(b"wake up")
        thread.join()
        assert thread.got == 7


def asleep(thread):
    with open(f"/proc/self/task/{thread.native_id}/syscall") as file:
        return file.read().split()[0] == "45"  # recvfrom


@pytest.mark.skipif(len(WHOLE) < 2, reason="one processor")
def test_the_mask_is_narrow_in_the_sleep_only():
    with sleeping() as thread:
        pass
    assert thread.masks == [WHOLE, WHOLE]


@pytest.mark.skipif(len(WHOLE) < 2, reason="one processor")
def test_others_have_the_whole_mask_meanwhile():
    seen = []
    with sleeping():
        seen.append(mask())
        other = threading.Thread(target=lambda: seen.append(mask()))
        other.start()
        other.join()
        child = os.fork()
        if not child:
            os._exit(0 if mask() == WHOLE else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert seen == [WHOLE, WHOLE]


@pytest.mark.skipif(len(WHOLE) < 2, reason="one processor")
@pytest.mark.parametrize("processor", [max(WHOLE), 5000, 70000, -1])
def test_a_processor_outside_the_mask_changes_nothing(processor):
    with sleeping(processor, {SHARED}) as thread:
        pass
    assert thread.masks == [{SHARED}, {SHARED}]


@pytest.mark.skipif(len(WHOLE) < 2, reason="one processor")
def test_a_mask_that_someone_sets_in_the_sleep_stays():
    with sleeping() as thread:
        os.sched_setaffinity(thread.native_id, {max(WHOLE)})
    assert thread.masks == [WHOLE, {max(WHOLE)}]


@pytest.mark.skipif(len(WHOLE) < 2, reason="one processor")
def test_a_mask_that_someone_widens_in_the_sleep_stays():
    """With the mask from before the sleep it would be narrower."""
    with sleeping(own=WHOLE) as thread:
        os.sched_setaffinity(thread.native_id, WHOLE)
    assert thread.masks == [WHOLE, WHOLE]


FORKS = """
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
static int ran, child;
static int processors(void) {
    unsigned long mask[WORDS] = {0};
    int count = 0;
    get_mask(mask);
    for (int i = 0; i < WORDS; i++) count += __builtin_popcountl(mask[i]);
    return count;
}
static void handler(int number) {
    (void)number;
    int pid = fork(), status;
    if (!pid) _exit(processors());
    waitpid(pid, &status, 0);
    child = WEXITSTATUS(status);
    ran = processors();
}
int main(int count, char **arguments) {
    int socks[2], whole = processors();
    char bytes[8];
    struct sigaction action = {.sa_handler = handler};
    struct itimerval soon = {.it_value = {.tv_usec = 50000}};
    if (count != 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, socks) || sigaction(SIGALRM, &action, NULL) ||
        setitimer(ITIMER_REAL, &soon, NULL))
        return 2;
    if (spin_sleep(socks[0], bytes, sizeof bytes, arguments[1][0] - '0') != -EINTR) return 3;
    return 10 * (ran != 1) + 20 * (child != whole) + 40 * (processors() != whole);
}
"""


@pytest.mark.skipif(len(WHOLE) < 2, reason="one processor")
@pytest.mark.skipif(SHARED > 9, reason="one digit")
def test_a_child_that_a_handler_in_c_forks_has_the_whole_mask(tmp_path):
    """The handler itself has the narrow one."""
    text = text_of((*PARTS, (PARTS[0][0], "spin"))) + FORKS
    program = tmp_path / "forks"
    find(Language.C).run(["-Wall", "-Wextra", "-x", "c", "-o", str(program), "-", "-ldl"], "building forks", text)
    assert subprocess.run([program, str(SHARED)], timeout=500).returncode == 0


def answer(processor):
    return HEADER.pack(0, Status.OK, processor + 1, 0)


@pytest.mark.skipif(len(WHOLE) < 2, reason="one processor")
def test_a_handler_in_python_sees_the_whole_mask():
    """It runs while the wait lasts, which goes on after it."""
    ours, theirs = socket.socketpair()
    wait, chunk, seen = SpinWait(), Chunk(64), []

    def handler(number, frame):
        seen.append(mask())
        theirs.send(answer(-1))

    def look_and_interrupt(thread):
        until(lambda: mask(thread) == {SHARED})
        seen.append(mask(thread))
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with ours, theirs:
            theirs.send(answer(SHARED))
            assert wait.receive(ours, chunk) == HEADER.size
            other = threading.Thread(target=look_and_interrupt, args=(threading.get_native_id(),))
            other.start()
            assert wait.receive(ours, chunk) == HEADER.size
            other.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [{SHARED}, WHOLE]
    assert mask() == WHOLE


@pytest.mark.skipif(len(WHOLE) < 2, reason="one processor")
def test_an_answer_says_which_processor_is_shared():
    ours, theirs = socket.socketpair()
    wait, chunk, thread = SpinWait(), Chunk(64), threading.get_native_id()

    def answer_once_narrow():
        until(lambda: mask(thread) == {SHARED})
        theirs.send(answer(-1))

    with ours, theirs:
        theirs.send(answer(SHARED))
        wait.receive(ours, chunk)
        other = threading.Thread(target=answer_once_narrow)
        other.start()
        wait.receive(ours, chunk)  # lasts until the mask was narrow
        other.join()
    assert mask() == WHOLE


@pytest.mark.skipif(len(WHOLE) < 2, reason="one processor")
def test_a_context_without_a_processor_changes_nothing():
    steering = Steering()
    with steering:
        assert mask() == WHOLE
    steering.processor = SHARED
    with steering:
        assert mask() == {SHARED}
        assert steering.here() == SHARED
    assert mask() == WHOLE


# The transport's shared memory under a thread sanitizer: ranks are threads of one process.


def build(folder, change=lambda text: text):
    """The program, with the sanitizer. `change` is made to the sources."""
    return sanitizer.build(transport_program.written(folder, "transport_threads.c", change))


def run(binary, folder):
    return sanitizer.run(binary, folder / "memory")


@pytest.mark.slow
def test_ranks_do_not_race(tmp_path):
    binary = build(tmp_path)
    runs = []
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        runs.append(run(binary, folder))
    assert [(one.returncode, one.stderr) for one in runs] == [(0, "")] * 3
    assert len({one.stdout for one in runs}) == 1


@pytest.mark.slow
def test_a_race_would_be_seen(tmp_path):
    """Without the lock around `hub_take`."""

    def unlocked(text):
        start = text.index("datagram *hub_take")
        end = text.index("\n}", start)
        body = text[start:end].replace("take_lock(o);", "").replace("drop_lock(o);", "")
        return text[:start] + body + text[end:]

    assert "data race" in run(build(tmp_path, unlocked), tmp_path).stderr
