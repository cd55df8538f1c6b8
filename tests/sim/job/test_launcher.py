"""`lanai run` without NICs: datagrams, time, ends of every kind. Each test starts real
processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pairs import first_of

from lanai_host.errors import UserError
from lanai_sim.job.result import Exit
from openlanai import Job

PRELUDE = """
import os, sys
from lanai_host.operation import Wait
from lanai_host.simulator.client import SimulatorClient
client = SimulatorClient.from_environment()
rank, size, transport = client.rank, client.size, client.transport
send = transport.post
def receive(tag=0): return transport.collect(Wait("receive", None, tag))
"""


def ranks(body, count=2, **options):
    return Job((sys.executable, "-c", PRELUDE + body), count).but(**options).run()


def alive(marker):
    """Processes whose command line holds `marker`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in line and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


def test_datagrams_arrive_after_the_latency_in_order_of_time_and_source():
    result = ranks(
        """
if rank:
    client.charge(1000 * (3 - rank))
    send(0, b"from %d" % rank)
    send(0, b"again %d" % rank)
else:
    assert receive() == [(2, b"from 2"), (2, b"again 2")]
    assert client.clock == 1_001_000
    assert receive() == [(1, b"from 1"), (1, b"again 1")]
    assert client.clock == 1_002_000
transport.close()
""",
        3,
    )
    assert (result.code, result.report) == (0, "")
    assert result.sim_time == 1_002_000


def test_a_run_is_the_same_beside_a_load():
    body = """
import random
chance = random.Random(rank)
for step in range(200):
    client.charge(chance.randrange(10_000))
    send(chance.randrange(size), bytes(chance.randrange(64)))
    if step % 7 == 0:
        transport.collect(None)
transport.close()
"""
    quiet = ranks(body, 4)
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        loaded = ranks(body, 4)
    finally:
        for process in load:
            process.kill()
            process.wait()
    assert quiet.code == 0
    assert quiet.clocks == loaded.clocks


def test_deadlock_names_every_rank_its_call_peer_and_tag():
    result = ranks('transport.collect(Wait("MPI_Recv", 1 - rank, 40 + rank, 3))')
    assert result.code == Exit.DEADLOCK
    assert "deadlock" in result.report
    assert "rank 0 at 0 ps: waits in MPI_Recv, peer 1, tag 40" in result.report
    assert "rank 1 at 0 ps: waits in MPI_Recv, peer 0, tag 41" in result.report


def test_a_rank_that_has_left_is_named_in_the_deadlock():
    result = ranks("transport.close() if rank else receive(7)")
    assert result.code == Exit.DEADLOCK
    assert "rank 1 at 0 ps: has finalized" in result.report


def test_abort_ends_all_with_its_code():
    result = ranks("client.abort(9) if rank else receive()")
    assert result.code == 9
    assert "rank 1 aborted with code 9" in result.report


def test_abort_with_a_negative_code():
    result = ranks("client.abort(-1) if rank else receive()")
    assert result.code == 255
    assert "rank 1 aborted with code -1" in result.report


def test_a_crash_ends_the_others():
    result = ranks("os.kill(os.getpid(), 11) if rank else receive()")
    assert result.code == 128 + signal.SIGSEGV
    assert "rank 1" in result.report
    assert "SIGSEGV" in result.report


def test_exit_code_of_a_rank_is_the_runs():
    assert ranks("sys.exit(5) if rank else receive()").code == 5


def test_a_crash_before_the_start_is_told():
    result = Job((sys.executable, "-c", "import no_such_module"), 2).run()
    assert result.code == 1
    assert "exited with code 1" in result.report


def test_exit_without_finalize_is_an_error():
    result = ranks("None if rank else receive()")
    assert result.code == Exit.NOT_FINALIZED
    assert "without MPI_Finalize" in result.report


def test_a_program_that_never_calls_us_just_runs():
    result = Job(("true",), 3).run()
    assert (result.code, result.report) == (0, "")


def test_an_unknown_program_is_refused():
    with pytest.raises(UserError, match="no-such-program"):
        Job(("no-such-program",), 2).run()


def test_a_python_file_is_not_a_program(tmp_path):
    script = tmp_path / "hello.py"
    script.write_text("print('hello')")
    with pytest.raises(UserError, match="write: python"):
        Job((str(script),), 2).run()


def test_a_fork_may_not_call(capfd):
    result = ranks(
        """
child = os.fork()
if child == 0:
    try:
        transport.collect(None)
    except Exception as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
transport.close()
""",
        1,
    )
    assert result.code == 0
    assert "is a fork of rank 0" in capfd.readouterr().out


def test_a_second_program_in_the_place_of_a_rank_is_refused(capfd):
    program = f"{sys.executable} -c '{PRELUDE}\ntransport.close()'"
    result = Job(("sh", "-c", f"{program} && {program}"), 2).but(max_wall=300.0).run()
    assert (result.code, "exited with code 1" in result.report) == (1, True)
    assert "rank 1 has finalized; a rank is one MPI program: give the next one" in capfd.readouterr().err


def test_limits_of_time():
    poll = "while True: client.charge(1000000); transport.collect(None)"
    simulated = ranks(poll, max_sim_time=50_000_000)
    assert simulated.code == Exit.TIME_LIMIT
    assert "--max-sim-time" in simulated.report
    assert simulated.sim_time <= 52_000_000
    real = ranks("import time; time.sleep(60)", max_wall=1.5)
    assert real.code == Exit.TIME_LIMIT
    assert "--max-wall" in real.report


def test_prefix_and_long_lines(capfd):
    result = Job((sys.executable, "-c", "print('a' * 100000); print('b')"), 1, prefix=True).run()
    assert result.code == 0
    lines = capfd.readouterr().out.splitlines()
    assert all(line.startswith("[0] ") for line in lines)
    assert "[0] b" in lines
    assert sum(line.count("a") for line in lines) == 100_000


def test_all_output_of_a_talkative_program_comes_through(capfd):
    body = "import sys\nfor _ in range(200): sys.stdout.write('x' * 65535 + chr(10))"
    assert Job((sys.executable, "-c", body), 2).run().code == 0
    assert len(capfd.readouterr().out) == 2 * 200 * 65536


@pytest.mark.parametrize("number", first_of(signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
def test_no_orphan_stays(number, tmp_path):
    marker = f"marker-{os.getpid()}-{number}"
    body = f"import subprocess, time; open(r'{tmp_path}/up', 'a').write('x'); time.sleep(100) # {marker}"
    lanai = subprocess.Popen(
        [sys.executable, "-m", "lanai_sim", "run", "-n", "2", "python", "-c", body],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job is born deaf to it
    )
    try:
        for _ in range(600):
            if (tmp_path / "up").exists() and len((tmp_path / "up").read_text()) == 2:
                break
            time.sleep(0.1)
        lanai.send_signal(number)
        lanai.wait(20)
    finally:
        lanai.kill()
    for _ in range(50):
        if not alive(marker):
            break
        time.sleep(0.1)
    assert not alive(marker)
    if number == signal.SIGINT:
        assert lanai.returncode == Exit.INTERRUPTED


def test_a_file_that_cannot_be_executed_is_told(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x00 no program")
    program.chmod(0o755)
    with pytest.raises(UserError, match=r"cannot start '.*/program': Exec format error"):
        Job((str(program),), 2).run()


def test_a_rank_lies_at_the_same_addresses_and_dies_with_the_simulator(capfd):
    """Both are set between fork and exec without any Python, as this process may have threads."""
    body = """
import ctypes
libc, number = ctypes.CDLL(None), ctypes.c_int()
libc.prctl(2, ctypes.byref(number))  # PR_GET_PDEATHSIG
print(number.value, hex(libc.personality(0xFFFFFFFF) & 0x40000))
"""
    assert Job((sys.executable, "-c", body), 2).run().code == 0
    assert capfd.readouterr().out.splitlines() == [f"{signal.SIGKILL.value} 0x40000"] * 2
