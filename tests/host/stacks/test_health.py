"""The NICs that count as dead: told from registers alone."""

import re
import sys
from pathlib import Path

import pytest
import warm

import openlanai
from lanai_firmware.programs.ccu.layout import READY
from lanai_hdl.machine import Control, host_offset
from lanai_host.bus.base import Bus
from lanai_host.stacks.ccu.daemon import Attachment as CcuAttachment
from lanai_host.stacks.health import LOOK, LOOKS, examine
from lanai_host.stacks.loader import EPOCH
from lanai_host.stacks.mpi_np.driver import Attachment
from openlanai import Job

OURS = Attachment(3, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, epoch=77, routes=(0,) * 4)
OF_A_DAEMON = CcuAttachment(0, (), 0, 0, 0, 0, False, False, turn=3_000_000_000, routes=(0,))
DEPTHS = 0x04040404


class Registers(Bus):
    """A NIC whose doorbell is never looked at. `rates`: descriptors that an engine does between two
    looks, until it stops."""

    def __init__(self, rates, until=LOOKS):
        self.words = {EPOCH: OURS.epoch, host_offset("CONTROL"): int(Control.RUN), host_offset("QUEUE_DEPTHS"): DEPTHS}
        self.rates, self.until, self.time = rates, until, 0

    @property
    def now(self):
        return self.time

    def read(self, offset):
        for name, (begin, rate) in self.rates.items():
            if offset == host_offset(name):
                return int(begin + min(self.time // LOOK, self.until) * rate) & 0xFFFFFFFF
        return self.words.get(offset, 0)

    def write(self, offset, value):
        if offset == host_offset("CONTROL") and value & Control.RESET:
            self.words.clear()
        self.words[offset] = value

    def elapse(self, picoseconds):
        self.time += picoseconds

    def write_block(self, offset, data): ...
    def read_block(self, offset, size): ...
    def allocate(self, size): ...
    def pin(self, address, size, writable): ...
    def unpin(self, pinned): ...
    def wait_any(self, watched, why=None, timeout=0): ...


def finding(bus):
    return examine(bus, OURS)


@pytest.mark.parametrize("engine", ["HDMA_DONE", "SEND_DONE", "RECV_DONE"])
@pytest.mark.parametrize("begin", [0, 0xFFFF_FFF0])
def test_a_nic_that_works_for_others_is_alive(engine, begin):
    """Its doorbell bit stays set, but descriptors get done that were not queued when the looking
    began."""
    assert finding(Registers({engine: (begin, 1)})) is None


@pytest.mark.parametrize("until", [0, 4])
def test_a_nic_that_only_finishes_what_was_queued_is_silent(until):
    """Queues of four empty themselves, whatever became of the firmware."""
    rates = dict.fromkeys(("HDMA_DONE", "SEND_DONE", "RECV_DONE"), (5, 1))
    found = finding(Registers(rates, until))
    assert found == "is silent: for 2000 us its firmware neither looked at the doorbell nor moved anything"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ({}, "is silent: for 5000 us its firmware neither looked at the doorbell nor moved anything"),
        ({"SCRATCH0": 0, "CONTROL": 0}, "was reset: it has forgotten what it was booted for"),
        (
            {"SCRATCH0": 5},
            f"was booted again, or does not answer on its bus: SCRATCH0 reads 0x00000005, not {READY:#x}",
        ),
        ({"CONTROL": 0}, "was stopped: its processor is held in reset"),
        ({"TRAP_CAUSE": 99, "TRAP_PC": 16}, "stopped: its processor trapped at 0x10: cause 99"),
    ],
)
def test_a_boot_that_leaves_no_number_is_known_by_the_word_of_its_firmware(found, text):
    """A daemon whose turns may take 3 ms more is given that time."""
    nic = Registers({})
    nic.words |= {host_offset("SCRATCH0"): READY}
    nic.words |= {host_offset(name): value for name, value in found.items()}
    assert examine(nic, OF_A_DAEMON) == text
    assert examine(nic, OF_A_DAEMON) == text, "the next rank of this NIC"


# `lanai run` on systems that one failure ends: bip and t3d. They run the same each time, and end with errors.


PROGRAM = Path(__file__).with_name("messages.py")


def on(device, *arguments):
    return warm.lanai("run", "-q", "-n", 2, "--device", device, *arguments, timeout=500)


@pytest.mark.parametrize("device", ["bip", "t3d"])
def test_two_runs_are_the_same(device):
    runs = [on(device, sys.executable, PROGRAM, "2000") for _ in range(2)]
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * 2
    assert runs[0].stdout == runs[1].stdout


@pytest.mark.parametrize("device", ["bip", "t3d"])
@pytest.mark.parametrize("size", [8, 2000])
def test_a_damaged_packet_ends_in_an_error_and_not_in_wrong_bytes(device, size):
    run = on(device, "--fault", "corrupt nic0 packet=3", sys.executable, PROGRAM, str(size))
    assert run.returncode == 3, "the other rank waits for the one that failed"
    text = rf"the NIC of rank 1 met \d packets or accesses that failed; {device} has no recovery"
    assert re.search(text, run.stderr)


AFTER_A_FAILURE = """
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
memory = np.zeros(60_000, "u1")
start = MPI.Wtime()

def look(source):
    while MPI.Wtime() < start + 2e-3:
        try:
            world.Iprobe(source)
        except MPI.Exception as error:
            assert " has no recovery" in str(error)

if world.rank == 0:
    world.Isend(np.full(60_000, 7, "u1"), 1)
    look(1)
else:
    try:
        world.Recv(memory, 0)
    except MPI.Exception:
        memory[:] = 0
    look(0)
    print("written afterwards:", np.count_nonzero(memory))
"""


@pytest.mark.parametrize("device", ["bip", "t3d"])
def test_nothing_is_written_to_a_buffer_whose_receive_has_failed(device):
    """The third packet of the message is damaged. The packets after it must not reach memory that the program has
    back."""
    run = on(device, "--fault", "corrupt nic0 packet=3", sys.executable, "-c", AFTER_A_FAILURE)
    assert run.stdout == "written afterwards: 0\n"


PROBES = """
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.Isend(bytes(100), 1, tag=1)
else:
    for probe in (world.Probe, world.Mprobe, world.Iprobe):
        try:
            probe(MPI.ANY_SOURCE, 2)
        except MPI.Exception as error:
            print(error.Get_error_class() == MPI.ERR_OTHER, " has no recovery" in str(error))
"""


@pytest.mark.parametrize("device", ["bip", "t3d"])
def test_probes_end_when_the_nic_has_failed(device):
    """No message can come any more. Nothing else would end a probe that waits."""
    run = on(device, "--fault", "corrupt nic0 packet=1", sys.executable, "-c", PROBES)
    assert run.stdout == "True True\n" * 3


@pytest.mark.parametrize("device", ["bip", "t3d"])
def test_a_deadlock_is_reported(device):
    body = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.recv(source=1 - w.rank, tag=5)"
    run = on(device, sys.executable, "-c", body)
    assert run.returncode == 3
    assert "tag 5" in run.stderr


# The bytes of a message leave while its sender computes right behind MPI_Isend. Its receive waits for it.


BEGUN_PROGRAM = Path(__file__).with_name("late_sender.py")
SIZES = (0, 100, 5000, 23_040, 65_536, 300_000)
COMPUTING = 4000  # microseconds
# The longest message that leaves in the call, or by itself after it. A longer one needs a later call of its sender.
ALL = SIZES[-1]
QUICK = ("ideal", "t3d")
LONGEST = {
    "ideal": ALL,
    "mpi-np": ALL,  # the NIC goes on (NP-23)
    "lanai2": ALL,  # the receiver reads
    "mbcf": ALL,  # the call transmits, and finishes (MB-26)
    "ccu": ALL,  # the call ends when all of it is in the daemon's queue (CC-17)
    "bip": 100,  # beyond `short`: the next grant needs a call
    "t3d": 100,  # beyond `short`: the receiver's reply needs a call (T3-10, T3-15)
    "sci": 100,  # beyond `eager`: the receiver's answer needs a call
}


def arrivals(device, *options):
    """Microseconds from the begin of MPI_Isend until the message is there, by its size."""
    command = ("run", "-q", "-n", 2, "--device", device, "--compute", "counted", *options)
    done = warm.lanai(*command, sys.executable, BEGUN_PROGRAM, *SIZES, timeout=500)
    assert done.returncode == 0, done.stderr
    return {size: int(time) for size, time in (map(int, line.split()) for line in done.stdout.splitlines())}


@pytest.mark.parametrize(
    ("device", "options"),
    [
        *(pytest.param(name, (), marks=() if name in QUICK else pytest.mark.ci, id=name) for name in LONGEST),
        pytest.param("mbcf", ("--option", "requests=0"), marks=pytest.mark.ci, id="mbcf by FIFO"),
        pytest.param("t3d", ("--nic", "t3d_shell"), marks=pytest.mark.ci, id="t3d by its shell"),
    ],
)
def test_a_begun_message_leaves_while_its_sender_computes(device, options):
    found = arrivals(device, *options)
    assert list(found) == list(SIZES)
    for size, time in found.items():
        alone = 200 + size / 25  # microseconds, of the slowest
        if size <= LONGEST[device]:
            assert time < alone, f"{size} bytes"
        else:
            assert COMPUTING < time < COMPUTING + alone, f"{size} bytes"


# Ranks on the remote-memory adapter greet all others in a small job, and in a large one those that they talk to.


INIT = "from mpi4py import MPI"


def lanai(device, ranks, greet, *program):
    options = ("-v", "-n", ranks, "--device", device, "--option", f"greet={greet}")
    run = warm.lanai("run", *options, sys.executable, *program, timeout=300)
    assert run.returncode == 0, run.stderr
    return run


def packets(device, greet):
    run = lanai(device, 8, greet, "-c", INIT)
    return int(re.search(r"the links: (\d+) packets", run.stderr)[1])


@pytest.mark.parametrize("device", ["mbcf", "sci"])
def test_the_start_of_a_large_job_takes_fewer_packets(device):
    """The barrier at the end talks to 3 ranks, and not to all 7."""
    assert packets(device, 7) < packets(device, 8)


@pytest.mark.parametrize("device", ["mbcf", "sci"])
def test_messages_between_ranks_that_have_not_greeted_arrive(device):
    assert "all there" in lanai(device, 4, 0, PROGRAM, "0,4097").stdout


# Two ranks exchange messages while the NIC of a third one is reset, which sends to one of them.


LOSING_PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Set_errhandler(MPI.ERRORS_RETURN)
rank, good, got, long = world.rank, bytes(range(256)) * 4, bytearray(1024), bytearray(20_000)

def exchange():
    for sender in (0, 2):
        if rank == sender:
            world.Send(good, 2 - rank)
        else:
            world.Recv(got, 2 - rank)
            assert got == good
            got[:] = bytes(1024)

def told(what):
    kinds = {MPI.ERR_OTHER: "own", MPI.ERR_PROC_ABORTED: "peer"}
    try:
        return what()
    except MPI.Exception as error:
        print(kinds.get(error.Get_error_class(), "?"), error)

if rank == 1:
    while told(lambda: world.Send(long, 0) or True):
        pass
else:
    receive = world.Irecv(long, 1) if rank == 0 else MPI.REQUEST_NULL
    done = False
    for _ in range(120):
        exchange()
        if rank == 0 and receive != MPI.REQUEST_NULL and (done := told(receive.Test)):
            receive = world.Irecv(long, 1)
    if rank == 0 and receive != MPI.REQUEST_NULL:
        told(receive.Wait)
    print("all exchanged")
"""
DEVICES = [("mbcf", {}), ("sci", {}), ("lanai2", {}), ("t3d", {"nic": "t3d_shell"})]
MOMENTS = [150_000_000, *(pytest.param(150_000_000 + n * 700_000, marks=pytest.mark.ci) for n in range(1, 4))]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("device", "machine"), DEVICES)
def test_a_packet_that_a_reset_cuts_is_not_in_the_way_of_others(device, machine, moment, reset):
    reset(moment)
    job = Job([sys.executable, "-c", LOSING_PROGRAM], 3, device, max_sim_time="500ms", capture=True)
    result = job.but(machine=openlanai.Machine(host={"watchdog": 2_000_000_000}, **machine)).run()
    assert str(result.ending) == "finished", result.report
    first, victim, other = (one.stdout.splitlines() for one in result.outputs)
    assert other == ["all exchanged"]
    assert first[-1] == "all exchanged"
    assert first[0].startswith("peer ")
    assert "rank 1" in first[0]
    assert len(first) == 2
    assert victim[0].startswith("own ")
    assert "the NIC of rank 1 was reset" in victim[0]
