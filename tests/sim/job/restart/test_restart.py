"""Ranks that are killed, at simulated times and from outside, and ranks restarted from snapshots:
on `ideal`. `test_campaign` has many kills on every device."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_host.config import HostConfig
from lanai_host.errors import UserError
from lanai_sim.job.restart.plan import Checkpoint, Kill, parse_checkpoint, parse_kill, unfit
from lanai_sim.job.result import Exit
from openlanai import Job

MS = 10**9
FREE = HostConfig().but(snapshot=0, log_byte=0, restart=0)
PRELUDE = """
import os, random, signal, sys, time
from lanai_host.operation import Wait
from lanai_host.simulator.client import SimulatorClient
print("begins")
client = SimulatorClient.from_environment()
rank, size, transport = client.rank, client.size, client.transport
send = transport.post
def receive(tag=0): return transport.collect(Wait("receive", None, tag))
"""
RING = """
value, arrived = rank, []
chance = random.Random(rank)  # which an ordinary fork would leave alone, but not os.urandom
for step in range(30):
    client.charge(chance.randrange(30_000_000))
    send((rank + 1) % size, b"%d" % (value + step))
    while not arrived:
        arrived += [int(text) for source, text in receive()]
    value = (value * 31 + arrived.pop(0)) % 1_000_003
    print(step, value, chance.random())
    if rank == 1 and step % 7 == 0:
        sys.stdout.flush()
transport.close()
print("ends", value)
"""


def play(body, capfd, count=3, **options):
    """The result, and what each rank printed."""
    result = Job((sys.executable, "-c", PRELUDE + body), count, prefix=True).but(**options).run()
    lines = capfd.readouterr().out.splitlines()
    return result, [[line for line in lines if line.startswith(f"[{rank}]")] for rank in range(count)]


def test_a_kill_without_snapshots_ends_the_run_at_its_time(capfd):
    result, _ = play(RING, capfd, kills=(Kill(1, MS // 5),))
    assert result.code == 128 + signal.SIGKILL
    assert re.fullmatch(r"rank 1 \(pid \d+\) was killed by SIGKILL", result.report)
    assert result.clocks[1] == MS // 5


def test_restarted_ranks_print_what_they_would_have_printed(capfd):
    body = RING.replace("if rank == 1 and step", "if rank == 2 and step == 9 and not os.path.exists(MARK):\n"
                        "        open(MARK, 'x').close(); os.kill(os.getpid(), signal.SIGKILL)\n"
                        "    if rank == 1 and step")  # fmt: skip
    quiet, expected = play(RING, capfd)
    mark = f"/tmp/lanai-test-{os.getpid()}"
    kills = (Kill(0, 0), Kill(1, MS // 5), Kill(1, MS // 5), Kill(2, MS // 4), Kill(0, 60 * MS))
    try:
        result, found = play(
            body.replace("MARK", repr(mark)), capfd, kills=kills, checkpoint=Checkpoint(MS // 10), host=FREE
        )
    finally:
        Path(mark).unlink(missing_ok=True)
    assert (result.code, result.report) == (0, "")
    assert found == expected
    assert [note.split(" at ")[0] for note in result.notes].count("rank 1 was killed") == 2
    assert re.fullmatch(r"\d+ snapshots of ranks, [\d,]+ bytes? logged", result.notes[-2])
    assert result.notes[-1].startswith("fault 'kill rank0 at 60.000 ms' did not happen: the rank ended at ")
    assert result.sim_time >= quiet.sim_time


def test_snapshots_at_no_cost_change_no_time(capfd):
    quiet, expected = play(RING, capfd)
    kept, found = play(RING, capfd, checkpoint=Checkpoint(MS // 10), host=FREE)
    assert (kept.clocks, found) == (quiet.clocks, expected)


def test_a_report_of_a_deadlock_tells_restarts(capfd):
    body = "if rank: client.charge(5000)\nreceive()\n"
    result, _ = play(body, capfd, 2, kills=(Kill(1, 3000), Kill(1, 6000)), checkpoint=Checkpoint(MS), host=FREE)
    assert result.code == Exit.DEADLOCK
    assert "  rank 0 at 0 ps: waits in receive" in result.report
    assert "  rank 1 (restarted 2 times) at 6.000 ns: waits in receive" in result.report


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("kill 2 at=3ms", "write, for example: kill rank2 at=3ms"),
        ("kill rank2", "write, for example: kill rank2 at=3ms"),
        ("kill rank2 in=3ms", "write, for example: kill rank2 at=3ms"),
        ("kill rank2 at=3", "'3' is not a time"),
    ],
)
def test_kills_that_are_not_understood(text, wrong):
    with pytest.raises(UserError, match=wrong):
        parse_kill(text)
    assert parse_kill("kill rank2 at=3ms") == Kill(2, 3 * MS)


@pytest.mark.parametrize("text", ["2ms", "every=2", "every=0ms", "each=2ms", ""])
def test_checkpoints_that_are_not_understood(text):
    with pytest.raises(UserError, match=re.escape(repr(text))):
        parse_checkpoint(text)
    assert parse_checkpoint("every=2ms") == Checkpoint(2 * MS)


def test_kills_that_cannot_be():
    with pytest.raises(UserError, match=r"fault 'kill rank3 at 0 ps': there are ranks 0 to 2"):
        Job(("true",), 3, kills=(Kill(3, 0),)).run()
    with pytest.raises(UserError, match=r"the run ends at 1\.000 ms, as --max-sim-time says"):
        Job(("true",), 3, kills=(Kill(2, 2 * MS),), max_sim_time=MS).run()
    with pytest.raises(UserError, match="--checkpoint cannot be combined with --trace"):
        Job(("true",), 3, checkpoint=Checkpoint(MS), trace="x").run()


THREAD = "import threading; threading.Thread(target=input, daemon=True).start()"
SEVERAL_SOCKETS = "import socket; ends = socket.socketpair()"


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("pass", ""),
        (THREAD, "it has 2 threads, and a copy has one; run the program with one thread a rank"),
        ("import mmap; memory = mmap.mmap(-1, 4096)", "it shares memory (MAP_SHARED), which a copy would change too"),
        ("log = open(FILE, 'a')", "which a copy would do again; open it without O_APPEND"),
        ("log = open(FILE, 'w')", ""),
        ("import os; child = os.posix_spawn('/bin/cat', ['cat'], {})", "which a copy does not have"),
        ("import os; ends = os.pipe()", "and what passes there passes once"),
        (SEVERAL_SOCKETS, "it has a socket of its own"),
    ],
)  # fmt: skip
def test_what_cannot_be_copied_is_named(what, why, tmp_path):
    program = what.replace("FILE", repr(str(tmp_path / "file"))) + "\nprint('there', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-Sc", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"there\n"
        found = unfit(process.pid)
        process.stdin.close()
    assert why in found if why else not found


def test_what_cannot_be_copied_is_refused(capfd):
    result, _ = play("import mmap\nmemory = mmap.mmap(-1, 4096)\n" + RING, capfd, 1, checkpoint=Checkpoint(MS // 10))
    assert result.code == Exit.USER_ERROR
    assert result.report.startswith("rank 0 cannot be snapshotted: it shares memory (MAP_SHARED), ")


def test_a_program_that_does_not_repeat_itself_is_told_so(capfd):
    body = "client.charge(1 + os.getpid())\n" + RING
    result, _ = play(body, capfd, 2, kills=(Kill(1, MS // 5),), checkpoint=Checkpoint(10 * MS))
    assert result.code == Exit.USER_ERROR
    assert "rank 1 was killed and does not repeat what it did before: " in result.report
    assert "its program depends on more than its messages" in result.report
