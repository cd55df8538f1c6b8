"""The line that every run ends with, and those of `lanai run -v`."""

import io
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pairs import first_of
from warm import lanai

from lanai_firmware.compiler import build
from lanai_hdl.config import lanai41
from lanai_hdl.machine import MACHINE_ID, MACHINE_VERSION, SRAM_HOST, Control, host_offset
from lanai_sim.engines.base import Access
from lanai_sim.job import progress
from lanai_sim.job.job import Job
from lanai_sim.job.progress import Progress, pace
from lanai_sim.job.result import Exit
from lanai_sim.job.summary import MORE, Summary, Traffic, describe, read
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.kernel.kernel import Deadlock
from lanai_sim.machine.fabrics.switches import pair

RUN = [sys.executable, "-c", "from lanai_sim.cli import main; raise SystemExit(main())", "run", "-n", "2"]
BARRIER = ["python", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"]


def test_shares_and_counts():
    nics = [Traffic(1000, {"TX_PACKETS": 3, "TX_FLITS": 30, "SLOTS_CPU_USED": 500, "SLOTS_CPU_WAITED": 100})] * 2
    spent = [{"PIO": 1_000_000, "waiting": 7_000_000}, {"PIO": 0, "waiting": 8_000_000}]
    lines = Summary(2_000_000, [12_000_000, 12_000_000], spent, nics).lines()
    assert lines == [
        "2 ranks took 10.000 us of simulated time, after 2.000 us in which the NICs booted",
        "the ranks' time: PIO 5.0 %, waiting 75.0 %, host work 20.0 %",
        "the links: 6 packets in 60 words; no errors",
        "the NICs' processors: used 50.0 % of all LBUS slots and waited for one in 10.0 %",
        MORE,
    ]


def test_one_line_tells_the_time_and_of_troubles():
    nics = [Traffic(1000, {"TX_PACKETS": 3})] * 2
    assert Summary(2_000_000, [12_000_000, 11_000_000], [{}, {}], nics).closing() == [
        "2 ranks took 10.000 us of simulated time; 6 packets, no errors (-v: more, -q: nothing)"
    ]
    assert Summary(0, [10], [{}], [Traffic(10, {"RX_CRC_ERRORS": 2})]).closing() == [
        "1 rank took 10 ps of simulated time; 0 packets, RX_CRC_ERRORS 2 (-v: more, -q: nothing)"
    ]
    left = Summary(0, [10], left={"datatype": 2}).closing()
    assert left[0] == "1 rank took 10 ps of simulated time (-v: more, -q: nothing)"
    assert left[1].startswith("not freed when MPI ended: 2 datatypes (")


def test_troubles_are_told_by_name():
    lines = Summary(0, [10], [{}], [Traffic(10, {"RX_CRC_ERRORS": 2, "LBUS_FAULTS": 1})]).lines()
    assert lines[2] == "the links: 0 packets in 0 words; RX_CRC_ERRORS 2, LBUS_FAULTS 1"


def test_what_optional_blocks_counted_is_told_of_all_nics_together():
    nics = [Traffic(10, {}, blocks={"remote": {"REMOTE_PACKETS": count, "REMOTE_STALE": 0}}) for count in (2, 3)]
    summary = Summary(0, [10], [{}], nics)
    assert summary.lines()[4] == "the NICs' block remote: REMOTE_PACKETS 5"
    assert summary.figures()["run.remote_packets"] == 5
    assert summary.figures()["run.remote_stale"] == 0
    assert Summary(0, [10], [{}], [Traffic(10, {}, blocks={"a": {"B": 0}})]).lines()[4].endswith("nothing counted")


def test_the_adapters_counters_are_those_of_the_run(tmp_path):
    file = tmp_path / "figures.json"
    drop = ("--fault", "drop * rate=0.2 seed=1")
    for options in ((), drop):
        done = lanai(
            "run",
            "-v",
            "-n",
            "2",
            "--device",
            "mbcf",
            "--json",
            file,
            *options,
            sys.executable,
            *BARRIER[1:],
            timeout=500,
        )
        assert done.returncode == 0, done.stderr
        figures = json.loads(file.read_text())["figures"]
        assert figures["run.remote_packets"] >= figures["run.remote_served"] > 0
        assert (figures["run.remote_timeouts"] > 0) == (options == drop)
        assert ("REMOTE_TIMEOUTS" in done.stderr) == (options == drop)


def test_a_run_that_never_began_says_nothing():
    assert Summary().lines() == Summary().closing() == []


def test_the_same_as_figures():
    nics = [Traffic(1000, {"TX_PACKETS": 3, "SLOTS_CPU_USED": 5, "RX_CRC_ERRORS": 1}, 400)] * 2
    found = Summary(2_000_000, [5_000_000, 12_000_000], [{"PIO": 3_000_000, "waiting": 4_000_000}], nics).figures()
    assert {name: value for name, value in found.items() if value} == {
        "run.simulated_us": 10,
        "run.boot_us": 2,
        "run.nic_cycles": 1000,
        "run.nic_cycles_evaluated": 400,
        "run.pio_us": 3,
        "run.waiting_us": 4,
        "run.host_work_us": 6,
        "run.tx_packets": 6,
        "run.slots_cpu_used": 10,
        "run.rx_crc_errors": 2,
    }
    assert found["run.tx_flits"] == 0


def test_figures_are_written(tmp_path):
    file = tmp_path / "figures.json"
    subprocess.run([*RUN, "--json", str(file), *BARRIER], capture_output=True, text=True, check=True)
    record = json.loads(file.read_text())
    config = record["config"]
    assert (config["device"], config["ranks"], record["code"]) == ("ideal", 2, 0)
    assert config["program"] == BARRIER
    assert "nic" not in config
    assert record["figures"]["run.simulated_us"] > 1  # a datagram's latency


@pytest.mark.parametrize(("options", "lines"), [([], 1), (["-v"], 2), (["--quiet"], 0)])
def test_it_is_printed_unless_told_not_to(options, lines):
    done = subprocess.run([*RUN, *options, *BARRIER], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == lines
    assert all(line.startswith("lanai: ") for line in done.stderr.splitlines())


def test_slots_are_those_up_to_the_end_of_the_last_rank():
    """No figure says how far an engine lets each NIC go on."""
    ends, khz = (2_000_000, 3_000_001), 66_000
    here = Summary(ends=ends, nics=(Traffic(190, {}), Traffic(205, {}))).up_to_the_end(khz)
    there = Summary(ends=ends, nics=(Traffic(199, {}), Traffic(200, {}))).up_to_the_end(khz)
    assert here == there
    assert [nic.slots for nic in here.nics] == [199, 199]


# A stopped run's report of the NICs: traps with their place in the firmware, what still moves, what went wrong.


NIC = lanai41()


def after(rung, run=True):
    """The line of nic 0 after a host has rung it and waited for ever."""
    image = build(Path(__file__).with_name("trapper.py"), NIC)
    cluster = Cluster(pair(), NIC)

    def program(bus):
        bus.write_block(SRAM_HOST + image.base, image.loaded)
        bus.write(host_offset("CONTROL"), int(Control.RUN) if run else 0)
        if rung:
            bus.write(host_offset("DOORBELL"), rung)
        bus.wait_change(bus.allocate(4096), 0, 0)

    cluster.spawn(0, program)
    with pytest.raises(Deadlock):
        cluster.run()
    line = describe(cluster.engine, 0, image, cluster.still)
    cluster.close()
    return line


def test_a_trap_is_told_with_its_place():
    line = after(1)
    assert "nic 0: its processor has TRAPPED at 0x" in line
    assert "access outside the SRAM" in line
    assert "trapper.py:1" in line  # line 1x


def test_firmware_that_stops_itself_is_told_with_its_words():
    line = after(2)
    assert "TRAPPED" in line
    assert "main" in line


def test_a_waiting_processor_is_no_trouble():
    line = after(0)
    assert "its processor waits; " in line
    assert line.endswith("0 packets sent, 0 received")


def test_a_processor_in_reset_is_told():
    assert "held in reset" in after(0, run=False)


def test_an_adapter_is_told_by_what_it_has_carried_out():
    """Its packets are none of those that went to the NIC's memory."""
    program = "from mpi4py.MPI import COMM_WORLD as w\nw.sendrecv(1, 1 - w.rank)\nw.recv()"
    result = Job((sys.executable, "-c", program), 2, "mbcf").run()
    assert result.code == Exit.DEADLOCK
    lines = [line for line in result.report.splitlines() if line.startswith("  nic ")]
    assert len(lines) == 2
    for line in lines:
        assert re.search(r"[1-9]\d* packets sent, [1-9]\d* requests? of others carried out$", line)


def test_events_of_others_are_not_taken_for_answers():
    """The NIC answers accesses that a rank had begun when the run ended, while the registers are
    read."""
    cluster = Cluster(pair(), NIC)
    cluster.engine.pio(0, [Access(0, False, host_offset("CYCLES"), tag=tag) for tag in (1, 2, 3)])
    asked = [host_offset(name) for name in ("ID", "VERSION", "SRAM_SIZE")]
    expected = [MACHINE_ID, MACHINE_VERSION, NIC.sram_size]
    assert read(cluster.engine, 0, asked) == expected
    cluster.close()


# The line on the terminal that tells how a long run is getting on.


MS = 10**9


def test_the_pace_of_a_run():
    assert pace(4 * MS, None, 8.0) == "4.000 ms simulated in 8 s: 500.000 us a second"


def test_a_limit_says_how_long_it_takes_at_most():
    assert pace(5 * MS, 20 * MS, 10.0).endswith("a second; at most 30 s more")
    assert "more" not in pace(0, 20 * MS, 3.0)


@pytest.mark.parametrize(("after", "lines"), [(0.01, True), (60.0, False)])
def test_a_short_run_tells_nothing(monkeypatch, after, lines):
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "AFTER", after)
    monkeypatch.setattr(progress, "PERIOD", 0.01)
    line = Progress(lambda: "half way")
    time.sleep(0.1)
    line.finish()
    assert ("half way" in terminal.getvalue()) == lines
    assert terminal.getvalue().endswith("\r\x1b[K") == lines


def test_the_line_of_a_run(monkeypatch):
    """It is asked for while the run begins and while it goes on."""
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "AFTER", 0.01)
    monkeypatch.setattr(progress, "PERIOD", 0.01)
    monkeypatch.setenv("COLUMNS", "200")
    text = "import time; from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); time.sleep(0.3)"
    job = Job((sys.executable, "-c", text), 2).but(max_sim_time="20ms", progress=True, clock="real")
    assert job.run().code == 0
    assert re.search(
        r"us simulated in \d+ s: .* a second; at most [\d,]+ s more \| 0: runs \| 1: runs", terminal.getvalue()
    )


# Ranks that poll in vain: they are reported once, and the run ends if a rank has failed that they poll for.


PROGRAM = """\
import os, sys
from lanai_host.mpi import polling
polling.VAIN = 500
from mpi4py import MPI
world, how = MPI.COMM_WORLD, sys.argv[1]
if world.rank == 1:
    if how == "raises":
        raise ValueError(how)
    if how == "exits":
        os._exit(0)
    if how == "ends":
        sys.exit(4)
    world.Recv(bytearray(1), 0, 8)
elif world.rank == 2:
    world.Recv(bytearray(1), 0, 8)
elif how == "exits":
    request = world.Irecv(bytearray(1), 1, 9)
    while not request.Test():
        pass
else:
    while not world.Iprobe(1, 9):
        pass
"""
HINT = "lanai: hint: rank 0 polls in MPI_Iprobe at {}:21, peer 1, tag 9, probe on MPI_COMM_WORLD; nothing has come in "


def play(tmp_path, how, device="ideal", **options):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    return Job((sys.executable, str(program), how), 3, device).but(**options).run(), program


@pytest.mark.parametrize("device", first_of("ideal", "mpi-np"))
def test_a_rank_that_failed_ends_the_run_of_those_that_poll_for_it(tmp_path, capfd, device):
    result, program = play(tmp_path, "raises", device, max_wall=100)
    assert result.code == 1
    head, polls, *_ = result.report.splitlines()
    assert head == f"rank 1 left by ValueError at {program}:8 and finalized; ranks 0, 2 wait for it"
    assert polls.endswith(f"polls in MPI_Iprobe at {program}:21, peer 1, tag 9, probe on MPI_COMM_WORLD")
    assert capfd.readouterr().err.count(HINT.format(program)) == 1


def test_so_does_one_that_exits_without_finalizing(tmp_path):
    result, program = play(tmp_path, "exits", max_wall=100)
    assert result.code == Exit.NOT_FINALIZED
    assert "without MPI_Finalize; the other ranks cannot go on without it" in result.report
    assert f"polls in MPI_Test at {program}:18, peer 1, tag 9, for MPI_Irecv" in result.report


@pytest.mark.parametrize("how", first_of("ends", "waits"))
def test_else_a_line_tells_of_it(tmp_path, capfd, how):
    """Another rank may still do something, as far as is known."""
    result, program = play(tmp_path, how, max_sim_time="1s")
    assert result.code == Exit.TIME_LIMIT
    errors = capfd.readouterr().err
    assert errors.count(HINT.format(program)) == 1
    assert ("; rank 1 has ended" in errors) == (how == "ends")
    assert ("rank 1 left with exit code 4" in result.report) == (how == "ends")
