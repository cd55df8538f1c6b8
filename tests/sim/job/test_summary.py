"""The line that every run ends with, and those of `lanai run -v`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from warm import lanai

from lanai_firmware.compiler import build
from lanai_hdl.config import lanai41
from lanai_hdl.machine import MACHINE_ID, MACHINE_VERSION, SRAM_HOST, Control, host_offset
from lanai_sim.engines.base import Access
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


def test_events_of_others_are_not_taken_for_answers():
    """The NIC answers accesses that a rank had begun when the run ended, while the registers are
    read."""
    cluster = Cluster(pair(), NIC)
    cluster.engine.pio(0, [Access(0, False, host_offset("CYCLES"), tag=tag) for tag in (1, 2, 3)])
    asked = [host_offset(name) for name in ("ID", "VERSION", "SRAM_SIZE")]
    expected = [MACHINE_ID, MACHINE_VERSION, NIC.sram_size]
    assert read(cluster.engine, 0, asked) == expected
    cluster.close()
