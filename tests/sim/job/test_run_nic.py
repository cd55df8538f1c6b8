"""`lanai run` on NICs: real mpi4py processes, libmpi, driver, firmware, Verilated gateware."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pairs import first_of

from lanai_sim.job.data import WaveConfig
from lanai_sim.kernel.kernel import FOREVER
from openlanai import Job

EXAMPLES = Path(__file__).parents[3] / "examples" / "mpi"
PING = """
import mmap
from mpi4py import MPI
world = MPI.COMM_WORLD
word = bytearray(4)
# Whole pages: the offset of a buffer in its page costs time, and malloc may change it.
long = memoryview(mmap.mmap(-1, 9000))
if world.rank == 0:
    long[:] = bytes(range(250)) * 36
if world.rank == 0:
    world.Send(b"ping", dest=1, tag=7)
    world.Recv(word, source=1, tag=8)
    world.Send(long, dest=1, tag=9)
else:
    world.Recv(word, source=0, tag=7)
    assert word == b"ping", word
    world.Send(b"pong", dest=0, tag=8)
    world.Recv(long, source=0, tag=9)
    assert long == bytes(range(250)) * 36
print(world.rank, MPI.Wtime())
"""


def ping(**options):
    command = (sys.executable, "-c", PING)
    return Job(command, 2, "mpi-np").but(**options).run()


@pytest.mark.ci
def test_a_message_goes_through_every_layer_and_costs_the_same_beside_a_load(capfd):
    quiet = ping()
    assert (quiet.code, quiet.report) == (0, "")
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        loaded = ping(skip=False)
    finally:
        for process in load:
            process.kill()
            process.wait()
    assert loaded.clocks == quiet.clocks
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 4
    assert len(set(lines)) == 2  # each rank printed the same time twice


def test_deadlock_on_nics_is_told():
    body = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.recv(source=1 - w.rank, tag=5)"
    command = (sys.executable, "-c", body)
    result = Job(command, 2, "mpi-np").run()
    assert result.code == 3
    assert "rank 0" in result.report
    assert "tag 5" in result.report
    assert "nic 1: its processor waits" in result.report


@pytest.mark.parametrize(("ranks", "program"), first_of((5, "pi"), (4, "ring")))
def test_several_ranks_share_a_nic(ranks, program, capfd):
    command = (sys.executable, str(EXAMPLES / f"{program}.py"))
    fabric = "switch" if program == "ring" else "switches:3"
    result = Job(command, ranks, "mpi-np", ranks_per_node=2).but(fabric=fabric).run()
    assert (result.code, result.report) == (0, "")
    assert f"{ranks}" in capfd.readouterr().out


@pytest.mark.slow  # compiles the gateware once more, for tracing
def test_waveform_holds_the_window_asked_for(tmp_path):
    file = tmp_path / "nic.vcd.gz"
    assert ping(wave=WaveConfig(str(file), (0, 1), 1_600_000_000, FOREVER)).code == 0
    told = gzip.decompress((tmp_path / "nic.1.vcd.gz").read_bytes()).decode()
    assert "packet_sent" in told
    assert re.search(r"^sEAGER\w*_ch\d+_tag8_len4_seq\d+ ", told, re.M)  # rank 1's pong
    assert re.search(r"^sRECV_REQ_ch", told, re.M)
    assert "link_tx__kind_text" in told
    file = tmp_path / "window.vcd"
    assert ping(wave=WaveConfig(str(file), (1,), 1_000_000, 3_000_000)).code == 0
    times = [int(line[1:]) for line in file.read_text().splitlines() if line.startswith("#")]
    assert 130 <= len(times) <= 135  # two microseconds of slots
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".raw")] == []


REVERSE = """
import sys
from mpi4py import MPI
world, count = MPI.COMM_WORLD, int(sys.argv[1])
here = [bytearray(1) for _ in range(count)]
if world.rank == 0:
    receives = [world.Irecv(here[tag], 1, tag) for tag in range(count)]
    world.Barrier()
    begin = MPI.Wtime()
    MPI.Request.Waitall(receives)
    assert [one[0] for one in here] == [tag % 251 for tag in range(count)]
    print((MPI.Wtime() - begin) / count)
else:
    world.Barrier()
    MPI.Request.Waitall([world.Isend(bytes([tag % 251]), 0, tag) for tag in reversed(range(count))])
"""


@pytest.mark.ci
def test_receives_met_in_reverse_order_do_not_cost_in_proportion_to_their_number(capfd):
    """Far more than the NIC has entries for; a cost in proportion would be four times as much a
    message."""

    def each(count):
        command = (sys.executable, "-c", REVERSE, str(count))
        result = Job(command, 2, "mpi-np").run()
        assert (result.code, result.report) == (0, "")
        return float(capfd.readouterr().out)

    assert each(400) < 2 * each(100)
