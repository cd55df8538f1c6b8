"""Ranks and NICs that are lost while messages are under way, as MPI programs see it: an error or the
end of the job, never a hang."""

import sys
from dataclasses import replace

import pytest
from pairs import first_of

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.machine import PIO_WINDOW_SIZE
from lanai_host.config import pentium2_266
from lanai_host.errors import UserError
from lanai_sim.job import launcher
from lanai_sim.job.nic_world import NicWorld
from lanai_sim.job.result import Exit
from lanai_sim.machine import faults
from openlanai import Job

SIZES = {"eager": 4, "eager from host memory": 3000, "rendezvous": 300_000}

START = """
import os, signal, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
other = 1 - world.rank
size = SIZE

def control(value):
    from lanai_hdl.machine import host_offset
    from lanai_host.abi.context import abi
    abi.world.process.device.bus.write(host_offset("CONTROL"), value)

def reset_own_nic():
    from lanai_hdl.machine import Control
    control(int(Control.RESET))

def hold_own_nic():
    control(0)

def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""
FIVE_EACH_WAY = """
buffers = [bytearray(size) for _ in range(5)]
requests = [world.Irecv(buffer, source=other, tag=9) for buffer in buffers]
requests += [world.Isend(bytes(size), dest=other, tag=9) for _ in range(5)]
"""


class OpenWorld(NicWorld):
    """Each rank may reach all of its NIC, to break it."""

    def boot(self):
        super().boot()
        for access in self.accesses:
            access.grant = replace(access.grant, reach=[range(PIO_WINDOW_SIZE)])


def play(body, size=4, ranks=2, **options):
    command = (sys.executable, "-c", START.replace("SIZE", str(size)) + body)
    host = pentium2_266().but(watchdog=2_000_000_000)
    return launcher.run(Job(command, ranks, "mpi-np").but(host=host, **options), OpenWorld)


RETURN = (
    """
world.Set_errhandler(MPI.ERRORS_RETURN)
"""
    + FIVE_EACH_WAY
    + """
if world.rank == 0:
    reset_own_nic()
told = set()
for request in requests:
    try:
        request.Wait()
    except MPI.Exception as error:
        told.add((error.error_class, str(error)))
print(f"rank {world.rank} {sorted(told)}", flush=True)
try:
    world.Send(b"more", dest=other)
except MPI.Exception as error:
    print(f"rank {world.rank} goes on: {error}", flush=True)
"""
)


def test_with_errors_return_the_program_goes_on(capfd):
    result = play(RETURN, 3000)
    assert (result.code, result.report) == (0, "")
    lines = sorted(line for line in capfd.readouterr().out.splitlines() if line)
    seen = "the NIC of rank 0 was reset: it has forgotten what it was booted for"
    for rank, line in enumerate(line for line in lines if "goes on" not in line):
        assert line.startswith(f"rank {rank} [(")
        assert seen in line
        assert "start the job again" in line
    assert "rank 1 has gone" not in lines[0]
    assert len([line for line in lines if "goes on" in line and seen in line]) == 2


def test_else_the_job_ends_with_the_text(capfd):
    body = FIVE_EACH_WAY + "if world.rank == 0: reset_own_nic()\nMPI.Request.Waitall(requests)"
    body = body.replace("\nMPI.Request", "\nworld.Set_errhandler(MPI.ERRORS_ARE_FATAL)\nMPI.Request")
    result = play(body, 3000)
    assert result.code != 0
    assert "the NIC of rank 0 was reset" in result.report + capfd.readouterr().err


@pytest.mark.parametrize("who", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("protocol", first_of(*SIZES))
def test_a_rank_that_dies_in_the_midst_ends_the_job(protocol, who):
    """Before it has looked at what it asked for: its NIC goes on with its memory, which is no
    more."""
    result = play(FIVE_EACH_WAY + f"if world.rank == {who}: die()\nMPI.Request.Waitall(requests)", SIZES[protocol])
    assert result.code == 137
    assert f"rank {who} (pid" in result.report
    assert "was killed by SIGKILL" in result.report


SURVIVE = """
world.Set_errhandler(MPI.ERRORS_RETURN)
MPI.COMM_SELF.Set_errhandler(MPI.ERRORS_RETURN)
if world.rank == 1:
    requests = [world.Isend(bytes(size), dest=rank) for rank in (0, 2)]
    requests += [world.Irecv(bytearray(size), source=0)]
    die()
buffer = bytearray(size)
requests = [world.Isend(bytes(size), dest=1), world.Irecv(buffer, source=1), world.Irecv(bytearray(size), source=1)]
told = []
for request in requests:
    try:
        request.Wait()
    except MPI.Exception as error:
        told.append(str(error))
other = 2 - world.rank
back = bytearray(size)
world.Sendrecv(bytes([world.rank]) * size, dest=other, recvbuf=back, source=other)
assert back == bytes([other]) * size
print(f"rank {world.rank}: {len(told)} errors: {told[-1]}", flush=True)
"""


@pytest.mark.parametrize(
    "protocol", ["rendezvous", *(pytest.param(name, marks=pytest.mark.slow) for name in SIZES if name != "rendezvous")]
)
def test_survivors_go_on_if_asked_to(protocol, capfd):
    """The last receive at least fails; the job's code is that of the dead."""
    result = play(SURVIVE, SIZES[protocol], 3, survive=True)
    assert result.code == 137
    assert "was killed by SIGKILL" in result.report
    lines = sorted(capfd.readouterr().out.splitlines())
    assert [line[:8] for line in lines] == ["rank 0: ", "rank 2: "]
    for line in lines:
        assert "rank 1 has gone: rank 1 (pid" in line
        assert "was killed by SIGKILL" in line


def test_survival_needs_nics():
    command = (sys.executable, "-c", START.replace("SIZE", "4") + "if world.rank: die()\nworld.recv(source=1)")
    with pytest.raises(UserError, match="--survive-death needs NICs"):
        Job(command, 2, survive=True).run()


COUNTED = """
world.Set_errhandler(MPI.ERRORS_RETURN)
for _ in range(20):
    world.Sendrecv(b"all", dest=other, recvbuf=bytearray(3), source=other)
if world.rank == 0:
    BREAK
try:
    world.Recv(bytearray(3), source=0)
except MPI.Exception:
    pass
"""


@pytest.mark.parametrize(("how", "kept"), [("hold_own_nic()", True), ("reset_own_nic()", False)])
def test_a_reset_does_not_hide_what_a_nic_counted(how, kept):
    """The closing figures hold what a dead NIC counted until the driver reset it, or say that they
    do not."""
    summary = play(COUNTED.replace("BREAK", how), 3).summary
    sent = [nic.counts["TX_PACKETS"] for nic in summary.nics]
    flaws = [line for line in summary.lines() if line.startswith("not in these figures")]
    assert sent[1] >= 20
    assert (sent[0] >= 20) == kept
    assert flaws == ([] if kept else ["not in these figures: what nic 0 counted before it was reset"])


# Recovery on the gateware: an mpi4py program over wires that lose, damage, double and reorder packets.


TRAFFIC = """
from mpi4py import MPI
world = MPI.COMM_WORLD
me, ranks = world.rank, range(world.size)
def data(a, b, size):
    return bytes((7 * a + 3 * b + i) & 255 for i in range(size))
sizes = [0, 4, 900, 3000, 20000]
for turn in range(TURNS):
    received = [(a, size, tag, bytearray(size)) for a in ranks for tag, size in enumerate(sizes)]
    requests = [world.Irecv(buffer, source=a, tag=tag) for a, size, tag, buffer in received]
    sent = [data(me, b, size) for b in ranks for size in sizes]
    requests += [world.Isend(sent[b * len(sizes) + tag], dest=b, tag=tag) for b in ranks for tag in range(len(sizes))]
    MPI.Request.Waitall(requests)
    for a, size, tag, buffer in received:
        assert buffer == data(a, me, size), (turn, a, tag)
world.Barrier()
print("all right")
"""
BAD = ("drop", "corrupt", "duplicate", "reorder")


def traffic(ranks, turns, fault_texts, **firmware):
    command = (sys.executable, "-c", TRAFFIC.replace("TURNS", str(turns)))
    planned = tuple(faults.parse(text) for text in fault_texts)
    return Job(command, ranks, "mpi-np", options=McpConfig(**firmware)).but(faults=planned).run()


def test_right_data_over_bad_wires(capfd):
    rates = [f"{kind} * rate=0.02 seed={seed}" for seed, kind in enumerate(BAD)]
    result = traffic(2, 1, rates, recovery=1)
    assert (result.code, result.report) == (0, "")
    assert {note.split()[1] for note in result.notes} == set(BAD), "each kind must have struck"
    assert capfd.readouterr().out.count("all right") == 2


def test_without_recovery_the_run_ends_with_a_report():
    result = traffic(2, 1, ["drop nic0 packet=6"])
    assert result.code == Exit.DEADLOCK
    assert "rank 1" in result.report
    assert result.notes == ("fault: drop of 1 from nic0",)


@pytest.mark.slow
def test_lost_peer_is_an_mpi_error(capfd):
    """A cable that stays dead: every rank gets an error, none hangs."""
    result = traffic(2, 1, ["down nic0 from=3ms to=10s"], recovery=1, retries=2, retry_cycles=8192)
    assert result.code not in (0, Exit.DEADLOCK)
    told = capfd.readouterr().err
    assert "PEER_FAILED" in told or "does not answer" in told


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_storm(seed):
    rates = [f"{kind} * rate=0.04 seed={10 * seed + n}" for n, kind in enumerate(BAD)]
    assert traffic(4, 3, rates, recovery=1).code == 0
