"""The line that every run ends with, and those of `lanai run -v`."""

import json
import subprocess
import sys

import pytest
from warm import lanai

from lanai_sim.job.summary import MORE, Summary, Traffic

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
            timeout=60,
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
