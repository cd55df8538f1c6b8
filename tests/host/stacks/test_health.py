"""The NICs that count as dead: told from registers alone."""

import pytest

from lanai_firmware.programs.ccu.layout import READY
from lanai_hdl.machine import Control, host_offset
from lanai_host.bus.base import Bus
from lanai_host.stacks.ccu.daemon import Attachment as CcuAttachment
from lanai_host.stacks.health import LOOK, LOOKS, examine
from lanai_host.stacks.loader import EPOCH
from lanai_host.stacks.mpi_np.driver import Attachment

OURS = Attachment(3, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, epoch=77, routes=(0,) * 4)
OF_A_DAEMON = CcuAttachment(0, (), 0, 0, 0, 0, False, 0, (0,), 3_000_000_000)
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
