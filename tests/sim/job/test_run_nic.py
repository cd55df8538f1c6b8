"""`lanai run` on NICs: real mpi4py processes, libmpi, driver, firmware, Verilated gateware."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pairs import first_of

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_host.stacks import names
from lanai_sim.job.data import WaveConfig
from lanai_sim.job.function import run
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


# Channels that share pools, on the gateware: an mpi4py program whose messages lie in host memory while others come.


LATE = """
from mpi4py import MPI
world = MPI.COMM_WORLD
me, ranks = world.rank, range(world.size)
for size in (10, 3000):
    sent = [world.Isend(bytes([16 * me + tag]) * size, rank, tag) for rank in ranks for tag in range(3)]
    world.Barrier()
    for tag in (2, 1, 0):
        for rank in reversed(ranks):
            buffer = bytearray(size)
            world.Recv(buffer, rank, tag)
            assert buffer == bytes([16 * rank + tag]) * size, (rank, tag)
    MPI.Request.Waitall(sent)
print("all right")
"""


def test_late_receives_through_one_room(capfd):
    command = (sys.executable, "-c", LATE)
    result = Job(command, 3, "mpi-np", options=McpConfig(resident=1)).run()
    assert (result.code, result.report) == (0, "")
    assert capfd.readouterr().out.count("all right") == 3


# A random MPI program is run twice with other bytes of rank 0: all that the other ranks see but for what rank 0 sends
# them, and every time, is equal. So no rank learns anything of another one's memory on any device.


DEFAULT = ("mpi-np", "mbcf")
SEEDS = 4  # of each device in .ci/run


def story(seed, secret):
    """The ranks draw the same script from `seed`, and what they send from that and, rank 0, from `secret`."""
    import random
    import zlib

    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    script, content = random.Random(seed), random.Random(f"{seed} {rank} {secret if rank == 0 else ''}")
    seen = []

    def see(what, data=b"", sender=None):
        """Note the time, and the data unless they are of rank 0."""
        seen.append((what, zlib.crc32(data) if 0 not in (sender, rank) else None, MPI.Wtime()))

    def talk():
        """Messages, each with a tag of its own: some into more room than they need, some into less."""
        messages = [
            (
                *script.sample(range(size), 2),
                script.choice([0, 1, 60, 700, 5000, 20_000]),
                script.choice([0, 0, 0, 7, -3]),
            )
            for _ in range(5)
        ]
        received, sent = [], []
        for tag, (source, dest, length, more) in enumerate(messages):
            if dest == rank:
                room, any_source = max(length + more, 0), script.random() < 0.3
                buffer = bytearray(b"\xee" * (room + 16))
                named = MPI.ANY_SOURCE if any_source else source
                request = comm.Irecv([memoryview(buffer)[:room], MPI.BYTE], named, tag)
                received.append((request, buffer, room, source))
            else:
                script.random()
            if source == rank:
                sent.append(comm.Isend([content.randbytes(length), MPI.BYTE], dest, tag))
        for request, buffer, room, source in received:
            status = MPI.Status()
            try:
                request.Wait(status)
            except MPI.Exception as error:
                see(("error", error.Get_error_class()))
            else:
                count = status.Get_count(MPI.BYTE)
                see((status.source, status.tag, count), buffer[:count], source)
                see("rest", buffer[count:])
            see("behind", buffer[room:])
        MPI.Request.Waitall(sent)

    def collect():
        length = script.choice([1, 300, 6000])
        mine = content.randbytes(length)
        all_of = bytearray(length * size)
        comm.Allgather([mine, MPI.BYTE], [all_of, MPI.BYTE])
        see("allgather", all_of[length:])
        root = script.randrange(1, size)
        buffer = bytearray(mine)
        comm.Bcast([buffer, MPI.BYTE], root)
        see("bcast", buffer)

    def access():
        """Every rank changes its own part of all windows, rank 0 too."""
        part = 64
        window = MPI.Win.Allocate(part * size, comm=comm)
        memory = window.tomemory()
        memory[:] = bytes(part * size)
        window.Fence()
        target, length = script.randrange(size), script.choice([1, 8, 64])
        window.Put([content.randbytes(length), MPI.BYTE], target, part * rank)
        window.Fence()
        see("window", bytes(memory[part:]))
        brought = bytearray(part)
        window.Get([brought, MPI.BYTE], target, part * (size - 1))
        window.Fence()
        see("got", brought)
        window.Free()

    for _ in range(6):
        script.choice([talk, talk, collect, access])()
    comm.Barrier()
    see("end")
    return seen


@pytest.mark.parametrize(
    ("device", "seed"),
    [
        pytest.param(device, seed, marks=() if device in DEFAULT and seed == 0 else pytest.mark.ci)
        for device in names()
        for seed in range(SEEDS)
    ],
)
def test_other_ranks_see_the_same_whatever_the_bytes_of_one_are(device, seed):
    first, second = (run(story, 4, device, args=(seed, secret)) for secret in ("one", "other"))
    assert all(len(seen) > 6 for seen in first)
    assert first == second
