"""Limits of real time and signals end a busy run as promptly as a quiet one, with the same
report."""

import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pairs import first_of

from lanai_firmware.compiler import build
from lanai_hdl.config import lanai41
from lanai_hdl.machine import SRAM_HOST, Control, host_offset
from lanai_sim.engines.base import NEVER, Access, Layout
from lanai_sim.engines.pysim import PysimEngine
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.job import launcher, output
from lanai_sim.job.nic_world import NicWorld
from lanai_sim.job.output import Output
from lanai_sim.job.result import Ending, Exit
from lanai_sim.job.system_calls import Times
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.kernel.kernel import Interrupted, Kernel, WallLimit
from lanai_sim.machine.fabrics.switches import pair
from openlanai import Job

NIC = lanai41()
PAIR = pair()
MILLISECOND = 1_000_000_000  # picoseconds
BUSY = """
from mpi4py import MPI
world, data = MPI.COMM_WORLD, bytearray(4)
print("begun", flush=True)
while True:
    if world.rank == 0:
        world.Send(data, 1); world.Recv(data, 1)
    else:
        world.Recv(data, 0); world.Send(data, 0)
"""


def busy(kernel):
    async def tick():
        while True:
            await kernel.until(kernel.now + 1)

    kernel.spawn(tick())


def test_a_kernel_that_never_waits_sees_its_deadline():
    kernel = Kernel()
    busy(kernel)
    kernel.deadline = time.monotonic() + 0.1
    with pytest.raises(WallLimit):
        kernel.run()
    assert time.monotonic() < kernel.deadline + 5


def test_a_kernel_sees_a_signal_at_its_next_turn():
    kernel = Kernel()
    busy(kernel)
    kernel.at(1000, 0, lambda number: setattr(kernel, "signal", number), signal.SIGTERM)
    with pytest.raises(Interrupted, match="SIGTERM"):
        kernel.run()
    assert kernel.now == 1000
    assert kernel.deadline == math.inf


@pytest.mark.parametrize(
    "make", first_of(lambda layout: RtlEngine(layout, skip=False), PysimEngine), ids=["rtl", "pysim"]
)
def test_an_engine_call_is_bounded(make):
    """The NICs are evaluated for ever, with nothing to report."""
    engine = make(Layout(NIC, 2, PAIR.cables))
    if isinstance(engine, PysimEngine):
        engine.run(10)
        assert engine.cut_short is False
        assert engine.run(100_000) == (True, ())  # still before it is cut
    else:
        engine.pio(0, [Access(10**12, True, host_offset("SCRATCH1"), 1)])  # until then nothing is still for good
        assert engine.run(NEVER) == (False, ())
        assert engine.cut_short
        first = engine.slot(0)
        assert engine.run(first + 10) == (False, ())
        assert (engine.cut_short, engine.slot(0)) == (False, first + 10)
    engine.close()


def test_a_deadline_reaches_an_engine_at_work():
    spinner = build(Path(__file__).with_name("spinner.py"), NIC)
    cluster = Cluster(PAIR, NIC)
    cluster.kernel.deadline = time.monotonic() + 0.5

    def program(bus):
        bus.write_block(SRAM_HOST + spinner.base, spinner.loaded)
        bus.write(host_offset("CONTROL"), int(Control.RUN))
        bus.wait_change(bus.allocate(4096), 0, 0)

    cluster.spawn(0, program)
    with pytest.raises(WallLimit):
        cluster.run()
    cluster.close()


class LateWorld(NicWorld):
    """Its run has taken --max-wall at a moment of simulated time, long after its ranks have begun."""

    def begin(self):
        super().begin()
        begun = self.kernel.now
        self.kernel.at(begun + 3 * MILLISECOND, 0, self.end, self.kernel.deadline)

    def end(self, deadline):
        assert math.isfinite(deadline)
        self.kernel.deadline = time.monotonic()


def test_max_wall_ends_a_busy_run_on_nics(capfd):
    command = (sys.executable, "-c", BUSY)
    result = launcher.run(Job(command, 2, "mpi-np", max_wall=3600), LateWorld)
    assert result.code == Exit.TIME_LIMIT
    assert "the run has taken --max-wall=3600 s" in result.report
    assert "begun" in capfd.readouterr().out
    for rank in (0, 1):
        assert f"  rank {rank} at " in result.report
        assert f"  nic {rank}: " in result.report


@pytest.mark.parametrize("limit", [{"max_sim_time": 1_000_000_000}, {"max_wall": 1e-3}], ids=["simulated", "real"])
def test_a_limit_within_the_boot_is_reported(limit):
    command = (sys.executable, "-c", BUSY)
    result = Job(command, 2, "mpi-np", snapshot=False).but(**limit).run()
    assert result.code == Exit.TIME_LIMIT
    assert "no rank has begun: the NICs are booting" in result.report
    assert "  nic 1: " in result.report


@pytest.mark.parametrize("number", first_of(signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
def test_a_signal_ends_a_busy_run_with_its_report(number):
    script = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "signal.signal(signal.SIGHUP, signal.SIG_DFL);"
        "from lanai_sim.cli import main; sys.exit(main())"
    )
    lanai = subprocess.Popen(
        [sys.executable, "-c", script, "run", "-n", "2", "--device", "mpi-np", "python", "-c", BUSY],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert lanai.stdout.readline() == "begun\n"
        lanai.send_signal(number)
        _, errors = lanai.communicate(timeout=500)
    finally:
        lanai.kill()
    assert lanai.returncode == Exit.INTERRUPTED
    assert f"lanai: interrupted by {number.name}" in errors
    assert "  rank 0 at " in errors
    assert "  nic 1: " in errors
    assert "Traceback" not in errors


def test_a_limit_may_leave_out_the_time_for_which_the_machine_had_other_work(monkeypatch):
    job = Job((sys.executable, "-c", "import time\nfrom mpi4py import MPI\ntime.sleep(1.5)"), 2, max_wall=1.0)
    monkeypatch.setattr(launcher, "times", lambda thread: Times(0.0, 1e6 if thread != "thread-self" else 0.0))
    assert launcher.Run(job).execute().ending is Ending.WALL_LIMIT
    assert launcher.Run(job, own_time=True).execute().ending is Ending.FINISHED
    monkeypatch.setattr(launcher, "times", lambda thread: Times(2.0, 1e6 if thread != "thread-self" else 0.0))
    assert launcher.Run(job, own_time=True).execute().ending is Ending.WALL_LIMIT, "it has run for 2 s"


@pytest.mark.parametrize(("fork", "ending"), [(True, Ending.FINISHED), (False, Ending.WALL_LIMIT)])
def test_that_of_the_process_that_forks_ranks_is_left_out_too(fork, ending, monkeypatch):
    """It imports what they need: seconds, on a machine with much other work."""
    job = Job(
        (sys.executable, "-c", "import time\nfrom mpi4py import MPI\ntime.sleep(1.5)"), 2, max_wall=1.0, fork=fork
    )
    forking, find = set(), launcher.parent_of

    def noted(pid):
        forking.add(find(pid))
        return find(pid)

    monkeypatch.setattr(launcher, "parent_of", noted)
    monkeypatch.setattr(launcher, "times", lambda thread: Times(0.0, 1e6 if thread in forking else 0.0))
    assert launcher.Run(job, own_time=True).execute().ending is ending


@pytest.mark.ci
@pytest.mark.parametrize("device", ["ideal", pytest.param("mpi-np", marks=pytest.mark.by_hand)])
def test_what_others_print_before_an_abort_is_the_same_beside_other_work(device, busy_machine):
    body = (
        "from mpi4py import MPI\nworld = MPI.COMM_WORLD\nif not world.rank: world.Abort(5)\n"
        "for _ in range(5): sum(range(1_000_000))\nprint('computed', flush=True)\nworld.Recv(bytearray(1), 0)"
    )
    result = Job((sys.executable, "-c", body), 2, device, capture=True).run()
    assert (result.code, result.ending) == (5, Ending.ABORTED)
    assert result.outputs[1].stdout == "computed\n"


# Runs under a limit on the size of files, which counts for memory that processes share.


PROGRAM = "from mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(1))"


def ran(blocks, device):
    command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", "2", "--device", device, "python", "-c", PROGRAM]
    whole = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # Python keeps bytecode that the limit has cut
    return subprocess.run(
        ["sh", "-c", f'ulimit -f {blocks} && exec "$@"', "sh", *command],
        env=whole, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_a_limit_that_is_too_low_is_named(device):
    done = ran(8, device)
    assert (done.returncode, done.stdout) == (2, "")
    for line in done.stderr.splitlines():
        assert re.fullmatch(r"lanai: error: cannot (map|share) .* memory .*; raise .*`ulimit -f`|lanai: rank .*", line)


def test_messages_have_as_much_memory_as_the_limit_leaves():
    done = ran(1_000_000, "ideal")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n2\n", "")


# Tracebacks that several ranks print: each whole, and equal ones once.


HEAD = b"Traceback (most recent call last):\n"
ONE = HEAD + b'  File "a.py", line 1, in <module>\nValueError: [[0]\n [0]]\n'
OTHER = HEAD + b'  File "a.py", line 2, in <module>\nKeyError: 3\n'


def printed(capfd, texts, *, prefix=False, capture=False):
    """Return what is passed on of ranks that print these texts, a line of each rank in turn; and the output."""
    out, ends = Output(prefix, capture, show=True), []
    for rank in range(len(texts)):
        reads, writes = os.pipe()
        out.add(os.fdopen(reads, "rb"), rank, "stderr")
        ends.append(writes)
    out.start()
    lines = [text.splitlines(keepends=True) for text in texts]
    for number in range(max(map(len, lines))):
        for end, mine in zip(ends, lines, strict=True):
            os.write(end, b"".join(mine[number : number + 1]))
    for end in ends:
        os.close(end)
    out.finish()
    return capfd.readouterr().err, out


@pytest.fixture(autouse=True)
def hold(monkeypatch):
    monkeypatch.setattr(output, "HOLD_SECONDS", 1000.0)  # a slow machine is not to cut a traceback in two


def test_they_do_not_mix(capfd):
    text, _ = printed(capfd, [ONE, OTHER])
    assert text in ((ONE + OTHER).decode(), (OTHER + ONE).decode())


def test_equal_ones_are_told_once(capfd):
    text, _ = printed(capfd, [ONE, OTHER, ONE, ONE])
    assert text.count(ONE.decode()) == text.count(OTHER.decode()) == 1
    assert text.endswith("lanai: ranks 0, 2, 3 printed the same traceback: [0]]\n")


def test_what_comes_before_is_not_held_back(capfd):
    text, _ = printed(capfd, [b"begins\n" + ONE, b"begins\n"])
    assert text == "begins\nbegins\n" + ONE.decode()


def test_a_traceback_of_a_rank_that_goes_on_is_passed_on(capfd, monkeypatch):
    monkeypatch.setattr(output, "HOLD_SECONDS", 0.01)
    out, (reads, writes) = Output(prefix=False), os.pipe()
    out.add(os.fdopen(reads, "rb"), 0, "stderr")
    out.start()
    os.write(writes, ONE)
    text = ""
    while text != ONE.decode():  # else the test's own limit ends it
        text += capfd.readouterr().err
    os.close(writes)
    out.finish()
    assert capfd.readouterr().err == ""


def test_with_the_rank_before_each_line_all_are_passed_on(capfd):
    text, _ = printed(capfd, [ONE, ONE], prefix=True)
    assert sorted(text.splitlines()) == sorted(
        f"[{rank}] {line}" for rank in (0, 1) for line in ONE.decode().splitlines()
    )


def test_all_that_is_captured_is_there(capfd):
    _, out = printed(capfd, [ONE, ONE], capture=True)
    assert [one.stderr for one in out.captured([0, 1])] == [ONE.decode()] * 2
