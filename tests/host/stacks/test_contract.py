"""The device contract on every messaging system: alone where that is quick, else under `lanai
run`."""

import sys
import threading
from functools import cache
from pathlib import Path
from queue import Queue

import pytest
import warm
from implementations import implementations
from pairs import first_of

from lanai_host.abi.observe import ObservedDevice
from lanai_host.config import HostConfig
from lanai_host.device import Device
from lanai_host.operation import ANY_TAG
from lanai_host.stacks import names
from lanai_host.stacks.ideal.device import IdealDevice
from lanai_sim.studies.benches.one_sided import measure

from ..mpi.ranks import LateDevice, ThreadTransport
from .contract import CASES, DeviceContract, tags_and_contexts_keep_messages_apart
from .mpi_np.np_world import World

PROGRAM = Path(__file__).with_name("contract.py")
QUICK = {"ideal", "t3d"}  # the others' runs are among the slow tests
SHELL = ("t3d", "--nic", "t3d_shell")  # the same system on NICs of another kind
STRIDED = (*SHELL, "--option", "strided=4")  # blocks of derived types are put from where they lie


class TestIdeal(DeviceContract):
    """Two threads of this process."""

    device = IdealDevice

    def run(self, case):
        boxes = [Queue(), Queue()]
        devices = [self.device(rank, 2, ThreadTransport(rank, boxes), HostConfig()) for rank in range(2)]
        failures = []

        def rank_main(device):
            try:
                case(device)
                device.close()
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=rank_main, args=(device,), daemon=True) for device in devices]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        for failure in failures:
            raise failure


class TestLate(TestIdeal):
    """Its sends read their buffers and end later, as a NIC's do."""

    device = LateDevice


class Unwritten:
    """An observer that notes nothing."""

    def request(self, *_):
        return 0

    def begun(self, *_):
        pass

    def look(self):
        pass


class TestObserved(TestIdeal):
    """The contract on the device that a traced rank has."""

    @staticmethod
    def device(*arguments):
        return ObservedDevice(IdealDevice(*arguments), Unwritten())


class TestMpiNp(DeviceContract):
    """The firmware in plain Python, on the model of the NIC."""

    def run(self, case):
        World(2).run(case)


class TestMpiNpHostMatching(DeviceContract):
    """Messages meet their receives on the host (NP-33)."""

    def run(self, case):
        World(2, host=HostConfig(host_matching=True)).run(case)


class TestMpiNpOfTheThesis(DeviceContract):
    """Short bodies go by DMA into a busy channel (NP-43), each request takes a semaphore (NP-54)."""

    def run(self, case):
        World(2, host=HostConfig(pio_when_empty=True, semaphore=True)).run(case)


@cache
def run_of(*device):
    """Lines that each rank printed, and what was wrong."""
    options = ("-q", "-n", 2, "--device", *device)
    done = warm.lanai("run", *options, sys.executable, PROGRAM, timeout=500)
    return done.stdout.splitlines(), f"exit code {done.returncode}\n{done.stderr}"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "device",
    [
        *(pytest.param((name,), marks=() if name in QUICK else pytest.mark.slow, id=name) for name in names()),
        pytest.param(SHELL, marks=pytest.mark.ci, id="t3d_shell"),
        pytest.param(STRIDED, marks=pytest.mark.ci, id="t3d_shell, strided puts"),
    ],
)
def test_every_device_under_lanai_run(device, case):
    """One run of all cases on the gateware, at which each test looks."""
    lines, wrong = run_of(*device)
    assert lines.count(case) == 2, wrong


def test_every_device_belongs_to_a_messaging_system_that_is_run():
    devices = implementations(Device) - {ObservedDevice}  # is around one of the others
    packages = {cls.__module__.split(".")[2].replace("_", "-") for cls in devices}
    assert packages <= set(names())


def test_the_contract_can_fail():
    """A device that ignores the tag of a receive is noticed."""

    class Forgetful(IdealDevice):
        def receive(self, source, tag, context, body):
            return super().receive(source, ANY_TAG, context, body)

    class Broken(TestIdeal):
        device = Forgetful

    with pytest.raises(AssertionError):
        Broken().run(tags_and_contexts_keep_messages_apart)


# One-sided communication on the systems whose adapter reaches the memory of others: every byte right, and nothing
# needed of the target's processor.


ONE_SIDED_PROGRAM = Path(__file__).with_name("one_sided.py")
FAULTS = [
    word for kind in ("drop", "corrupt", "duplicate", "reorder") for word in ("--fault", f"{kind} * rate=0.01 seed=3")
]


def run(device, ranks, *options):
    options = ("-q", "-n", ranks, "--device", device, *options)
    return warm.lanai("run", *options, sys.executable, ONE_SIDED_PROGRAM, timeout=900)


@pytest.mark.parametrize(
    ("device", "choice"),
    [
        ("sci", "private=register"),
        ("lanai2", "place=64"),
        pytest.param("sci", "private=emulate", marks=pytest.mark.slow),
        pytest.param("sci", "longest_get=1000", marks=pytest.mark.slow),
        pytest.param("mbcf", "requests=1", marks=pytest.mark.slow),
        pytest.param("mbcf", "fifo_pages=1", marks=pytest.mark.slow),
    ],
)
def test_one_sided_communication_of_all_kinds(device, choice):
    done = run(device, 4, "--ranks-per-node", "2", "--option", *choice.split())
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.ci
def test_windows_are_not_told_that_a_peer_was_not_there_yet():
    """At the start of the last of five ranks on three nodes, the segment of the first does not exist:
    the device says hello later, and no window has failed."""
    done = run("sci", 5, "--ranks-per-node", "2")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("device", ["mbcf", "sci"])
def test_one_sided_communication_with_faults_of_all_kinds(device):
    done = run(device, 3, *FAULTS)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("device", first_of("sci", "mbcf"))
def test_a_target_that_computes_is_reached_as_soon_as_one_that_waits(device):
    """Put and flush take at most 5 us while the target computes for 10 ms."""
    found = measure(device)
    assert found["busy_put_flush_us"] == pytest.approx(found["put_flush_us"], rel=1e-3)
    assert found["busy_fetch_op_us"] == pytest.approx(found["fetch_op_us"], rel=1e-3)
    assert found["private_put_flush_us"] < 1.1 * found["put_flush_us"]
    assert max(found.values()) < 5


# Windows on every messaging system, whether it moves their data itself or MPI does it by messages.

PROGRAM_FENCES = Path(__file__).with_name("fences.py")


@pytest.mark.parametrize(
    "sizes", ["1,4096", pytest.param("0,100,1024,1025,4095,4097,9001,60000", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("device", names())
def test_puts_and_gets_arrive_whole(device, sizes):
    run = warm.lanai("run", "-q", "-n", 3, "--device", device, sys.executable, PROGRAM_FENCES, sizes, timeout=300)
    assert (run.stdout, run.stderr) == ("all there\n" * 3, "")
