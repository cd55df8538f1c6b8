"""The device contract on every messaging system: alone where that is quick, else under `lanai
run`."""

import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from queue import Queue

import pytest

from lanai_host.config import HostConfig
from lanai_host.operation import ANY_TAG
from lanai_host.stacks.ideal.device import IdealDevice

from ..mpi.ranks import LateDevice, ThreadTransport
from .contract import DeviceContract, tags_and_contexts_keep_messages_apart
from .mpi_np.np_world import World

PROGRAM = Path(__file__).with_name("contract.py")


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


class TestMpiNp(DeviceContract):
    """The firmware in plain Python, on the model of the NIC."""

    def run(self, case):
        World(2).run(case)


class TestMpiNpHostMatching(DeviceContract):
    """Messages meet their receives on the host (NP-33)."""

    def run(self, case):
        World(2, host=HostConfig(host_matching=1)).run(case)


@cache
def run_of(device, *options):
    """Lines that each rank printed, and what was wrong."""
    command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", "2", "--device", device, *options]
    done = subprocess.run(
        [*command, sys.executable, str(PROGRAM)], capture_output=True, text=True, check=False, timeout=500
    )
    return done.stdout.splitlines(), f"exit code {done.returncode}\n{done.stderr}"


class UnderLanaiRun(DeviceContract):
    """One run of all cases on the gateware, at which each test looks."""

    arguments = ("ideal",)

    def run(self, case):
        lines, wrong = run_of(*self.arguments)
        assert lines.count(case.__name__) == 2, wrong


class TestIdealRun(UnderLanaiRun):
    """The shared-memory transport of `lanai run`."""


class TestT3dRun(UnderLanaiRun):
    arguments = ("t3d",)


@pytest.mark.slow
class TestMpiNpRun(UnderLanaiRun):
    arguments = ("mpi-np",)


@pytest.mark.slow
class TestCcuRun(UnderLanaiRun):
    arguments = ("ccu",)


def test_the_contract_can_fail():
    """A device that ignores the tag of a receive is noticed."""

    class Forgetful(IdealDevice):
        def receive(self, source, tag, context, body):
            return super().receive(source, ANY_TAG, context, body)

    class Broken(TestIdeal):
        device = Forgetful

    with pytest.raises(AssertionError):
        Broken().run(tags_and_contexts_keep_messages_apart)
