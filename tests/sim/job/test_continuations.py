"""Waits that the engine begins and ends by itself after writes, and turns of a run in C: all is as if Python did it."""

import re
import sys
from dataclasses import replace

import pytest

from lanai_hdl.machine import PIO_WINDOW_SIZE
from lanai_host.config import pentium2_266
from lanai_sim.job import launcher
from lanai_sim.job.native_loop import NativeLoop
from lanai_sim.job.nic_world import NicWorld
from lanai_sim.job.rank import Rank
from lanai_sim.kernel.cluster import Cluster
from openlanai import Job

RING = """
from mpi4py import MPI
world = MPI.COMM_WORLD
for turn in range(6):
    got = world.sendrecv((world.rank, turn), dest=(world.rank + 1) % world.size, source=(world.rank - 1) % world.size)
    assert got == ((world.rank - 1) % world.size, turn)
    world.Barrier()
"""
TURNS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
word = bytearray(4)
for turn in range(12):
    for rank in (0, 1) if world.rank < 2 else ():
        world.Send(word, dest=1 - rank) if world.rank == rank else world.Recv(word, source=rank)
world.Barrier()
"""
LATE = """
from mpi4py import MPI
world = MPI.COMM_WORLD
word = bytearray(4)
for turn in range(4):
    if world.rank:
        for size in (40_000, 4):
            world.Send(bytearray(size), dest=0)
            world.Recv(word, source=0)
    else:
        for size in (40_000, 4):
            world.Recv(bytearray(size), source=1)
            world.Send(word, dest=1)
"""
STUCK = TURNS + "world.Recv(word, source=(world.rank + 1) % world.size)\n"
RESET = """
from mpi4py import MPI
from lanai_hdl.machine import Control, host_offset
from lanai_host.abi.context import abi
world = MPI.COMM_WORLD
word = bytearray(4)
for turn in range(5):
    for rank in (0, 1):
        world.Send(word, dest=1 - rank) if world.rank == rank else world.Recv(word, source=rank)
    if turn == 3 and world.rank:
        abi.world.process.device.bus.write(host_offset("CONTROL"), int(Control.RESET))
"""


class OpenWorld(NicWorld):
    """Each rank may reach all of its NIC, to break it."""

    def boot(self):
        super().boot()
        for access in self.accesses:
            access.grant = replace(access.grant, reach=[range(PIO_WINDOW_SIZE)])
            access._allow(access.grant)


def played(monkeypatch, in_engine, program, ranks, device, in_c=False, **options):
    """Return what the ranks were answered by Python and what the job ended with; how many continuations ended in the
    engine, and how often some were taken back."""
    monkeypatch.setattr(Cluster, "takes_continuations", in_engine)
    monkeypatch.setattr(NativeLoop, "used", in_c)
    answers: dict[int, list[object]] = {}
    ends = []
    backs = []
    answer, wake, take_back = Rank.answer, Cluster._wake, Cluster.take_back

    def note(rank, payload=b"", status=0):
        configured = b'"rank_config"' in payload or payload[:1] == b"{"
        answers.setdefault(rank.number, []).append((rank.clock, rank.pio, rank.waited, status, configured or payload))
        answer(rank, payload, status)

    def count(cluster, tag, now, time, value):
        ends.append(now != time)
        wake(cluster, tag, now, time, value)

    def count_back(cluster):
        backs.append(take_back(cluster))
        return backs[-1]

    monkeypatch.setattr(Cluster, "take_back", count_back)
    monkeypatch.setattr(Rank, "answer", note)
    monkeypatch.setattr(Cluster, "_wake", count)
    job = Job((sys.executable, "-c", program), ranks, device, capture=True).but(**options)
    result = launcher.run(job, OpenWorld)
    monkeypatch.setattr(Rank, "answer", answer)
    monkeypatch.setattr(Cluster, "_wake", wake)
    monkeypatch.setattr(Cluster, "take_back", take_back)
    report = re.sub(r"pid \d+", "pid", result.report)
    said = (result.code, report, result.sim_time, result.clocks, result.notes, result.exits, result.ending)
    # How many depends on where a run was cut.
    traffic = [replace(nic, evaluated=0) for nic in result.summary.nics]
    return answers, said, replace(result.summary, nics=traffic), sum(ends), sum(backs)


def answers_of(answers):
    """Return how many answers Python gave."""
    return sum(map(len, answers.values()))


def host(watchdog):
    return pentium2_266().but(watchdog=watchdog)


CASES = {
    "two ranks": (TURNS, 2, {}),
    "three ranks": (RING, 3, {}),
    "eight ranks, two on each NIC": (RING, 8, {"ranks_per_node": 2}),
    "ranks at the same time": (RING, 4, {"ranks_per_node": 4}),
    "a timeout falls into most waits": (LATE, 2, {"host": host(3_000_000)}),
    "a timeout falls into a few waits": (TURNS, 3, {"host": host(40_000_000)}),
    "a deadlock": (STUCK, 3, {}),
    "the limit of time": (TURNS, 2, {"max_sim_time": 2_000_000_000}),
    "a rank is killed": (TURNS, 3, {"kills": ["kill rank1 at=2ms"], "survive": True, "host": host(50_000_000)}),
    "a NIC is reset": (RESET, 2, {"host": host(50_000_000)}),
}
TAKEN_BACK = [case for case in CASES if "timeout" in case or "deadlock" in case or "reset" in case]
QUICK = ("two ranks", "a deadlock")
OTHERS = ("bip", "mbcf", "t3d", "sci", "ccu")
ONE_A_NIC = ("bip", "t3d")  # they put one rank on a NIC
IN_MEMORY = [("ranks at the same time", "sci")]  # messages between its ranks of one NIC do not pass the NIC
LATER = {  # the ranks of ccu begin after 5.8 ms
    ("ccu", "the limit of time"): {"max_sim_time": 6_300_000_000},
    ("ccu", "a rank is killed"): {"kills": ["kill rank1 at=6.2ms"]},
}


def together():
    """Each case on each device: two on mpi-np are quick, the others are for .ci/run."""
    for case, (_, _, options) in CASES.items():
        for device in ("mpi-np", *OTHERS):
            if ("ranks_per_node" not in options or device not in ONE_A_NIC) and (case, device) not in IN_MEMORY:
                quick = case in QUICK and device == "mpi-np"
                yield pytest.param(case, device, marks=() if quick else pytest.mark.ci)


@pytest.mark.parametrize(("case", "device"), list(together()))
def test_the_engine_does_what_python_would(case, device, monkeypatch):
    program, ranks, options = CASES[case]
    options = {**options, **LATER.get((device, case), {})}
    *here, ended, back = played(monkeypatch, True, program, ranks, device, **options)
    *there, never, none = played(monkeypatch, False, program, ranks, device, **options)
    asked, *in_c, _, _ = played(monkeypatch, True, program, ranks, device, in_c=True, **options)
    assert (never, none) == (0, 0)
    assert back > 0 if case in TAKEN_BACK else ended + back > 0
    for mine, other in zip(here, there, strict=True):
        assert mine == other
    assert in_c == there[1:]
    if case in QUICK and device != "sci":
        assert answers_of(asked) < answers_of(there[0]) - ranks
