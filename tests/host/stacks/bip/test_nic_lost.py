"""A NIC that is reset or stops while messages are under way: whatever waits ends with an error that says so, here and
at the peer, and what has arrived is right."""

import re
from functools import partial

import pytest

from lanai_firmware.programs.bip.program import FIRMWARE
from lanai_hdl.machine import Control, host_offset
from lanai_host.operation import ErrorKind
from lanai_host.stacks.base import Placement
from lanai_host.stacks.bip.attachment import BipOptions
from lanai_host.stacks.bip.device import Bip
from lanai_host.stacks.bip.stack import STACK
from lanai_host.stacks.health import examine

from ..mpi_np.np_calls import STANDARD, SYNCHRONOUS, pattern
from ..mpi_np.np_cluster import Rank, Ranks

NEVER_TAG = 99  # of messages that no rank sends
MESSAGES = {"short": (4, STANDARD, 12), "long": (30_000, STANDARD, 4), "synchronous": (200, SYNCHRONOUS, 8)}
SEEN = {int(Control.RESET): "was reset: it has forgotten what it was booted for",
        0: "was stopped: its processor is held in reset"}  # fmt: skip


class BipRanks(Ranks):
    """The same with the firmware of BIP."""

    def __init__(self):
        super().__init__()
        self.image = FIRMWARE.image(self.nic)

    def boot(self, bus, rank):
        placement = Placement(self.count, 1, self.net.route, self.nic)
        return STACK.boot(bus, self.image, BipOptions(), placement, rank)[rank]

    def _rank(self, rank, program):
        def live(bus):
            attachment = self.boot(bus, rank)
            device = Bip(bus, attachment, self.host, partial(examine, place=hex))
            self.meet(bus)
            return program(Rank(self, bus, device))

        return live


def survivor(size, mode, count):
    """Both ranks: messages both ways, then one that never comes. Returns the errors."""

    def program(me):
        other = 1 - me.rank
        received = [me.receive(other, size, tag) for tag in range(count)] + [me.receive(other, size, NEVER_TAG)]
        sent = [me.send(other, pattern(size, tag), tag, mode) for tag in range(count)]
        me.finish(*sent, *received)
        for tag, (operation, buffer) in enumerate(received[:count]):
            assert operation.error is not None or buffer.data == pattern(size, tag)
        late = [me.send(other, b"x", mode=mode), me.receive(other, 1)]
        me.finish(*late)
        errors = [operation.error for operation, _ in [received[-1], *late]]
        assert all(error is not None for error in errors), errors
        me.device.close()
        return {(error.kind, error.text) for error in errors}

    return program


@pytest.mark.parametrize("delay", [3_000_000, pytest.param(60_000_000, marks=pytest.mark.ci), 400_000_000])
@pytest.mark.parametrize("messages", [*MESSAGES])
@pytest.mark.parametrize("control", [int(Control.RESET), pytest.param(0, marks=pytest.mark.ci)])
def test_a_nic_that_is_lost_ends_everything_with_an_error(messages, delay, control):
    def saboteur(bus, ranks):
        bus.elapse(delay)
        bus.write(host_offset("CONTROL"), control)

    program = survivor(*MESSAGES[messages])
    ours, theirs = BipRanks().run(program, program, saboteur=saboteur)
    ((kind, text),) = ours
    assert kind is ErrorKind.NIC_LOST
    assert re.fullmatch(f"the NIC of rank 0 {SEEN[control]}. .*start the job again", text)
    assert theirs == {(ErrorKind.RANK_LOST, f"rank 0 has gone: {text}")}, "also if its NIC met a packet that was cut"


def test_a_program_that_only_tests_is_told_too():
    def program(me):
        operation, _ = me.receive(1 - me.rank, 4)
        while not operation.done:
            me.device.progress()
            me.bus.elapse(1_000_000)
        return operation.error.kind

    def saboteur(bus, ranks):
        bus.write(host_offset("CONTROL"), int(Control.RESET))

    ours, theirs = BipRanks().run(program, program, saboteur=saboteur)
    assert ours is ErrorKind.NIC_LOST
    assert theirs is ErrorKind.RANK_LOST
