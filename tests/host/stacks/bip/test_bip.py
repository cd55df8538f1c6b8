"""`lanai run --device bip`: MPI programs run on it, the same each time; what it cannot do is refused."""

import re
import sys
from functools import partial
from pathlib import Path

import pytest
import warm

from lanai_firmware.programs.bip.program import FIRMWARE
from lanai_hdl.machine import Control, host_offset
from lanai_host.operation import ErrorKind
from lanai_host.stacks.base import Placement
from lanai_host.stacks.bip.attachment import BipOptions
from lanai_host.stacks.bip.device import Bip
from lanai_host.stacks.bip.stack import STACK
from lanai_host.stacks.health import examine

from ..mpi_np.np_cluster import Rank, Ranks
from ..mpi_np.np_world import STANDARD, SYNCHRONOUS, pattern

PROGRAM = Path(__file__).parents[1] / "messages.py"
SIZES = "0,3,255,256,257,9001"


def lanai(*arguments):
    return warm.lanai("run", *arguments, timeout=500)


def on_bip(ranks, *options, sizes=SIZES):
    return lanai("-q", "-n", ranks, "--device", "bip", *options, sys.executable, PROGRAM, sizes)


@pytest.mark.parametrize("ranks", [1, 3])
def test_messages_of_all_kinds_arrive_whole_and_in_order(ranks):
    run = on_bip(ranks)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.fullmatch(r"all there after 0\.0\d+ s\n", run.stdout)


@pytest.mark.parametrize(
    "option",
    [
        "credits=1",
        *(pytest.param(n, marks=pytest.mark.ci) for n in ("short=0", "short=484", "credits=3", "packet=512")),
    ],
)
def test_no_option_changes_a_byte(option):
    run = on_bip(2, "--option", option, sizes="100,2001")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.ci
def test_messages_of_several_landings():
    run = on_bip(2, sizes="300001")
    assert (run.returncode, run.stderr) == (0, "")


STREAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
count = 100
if world.rank == 0:
    requests = [world.isend(n, 1, n) for n in range(count)]
    late = [world.Isend(bytes(1000 + n), 1, count) for n in range(3)]
    world.recv(source=1)
    MPI.Request.Waitall(requests + late)
else:
    assert [world.recv(source=0, tag=n) for n in reversed(range(count))] == list(reversed(range(count)))
    for n in range(3):
        status = MPI.Status()
        world.Recv(bytearray(2000), 0, count, status)
        assert status.Get_count() == 1000 + n
    world.send(None, 0)
print("there")
"""


@pytest.mark.parametrize("credit", [1, 14])
def test_more_messages_than_credit_arrive_in_any_order(credit):
    """A rank that waits for one reads all, so credit comes back."""
    run = lanai("-q", "-n", 2, "--device", "bip", "--option", f"credits={credit}", sys.executable, "-c", STREAM)
    assert (run.returncode, run.stdout, run.stderr) == (0, "there\n" * 2, "")


ODD = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
kind = MPI.INT.Create_vector(500, 2, 5).Commit()
sent, got = np.arange(2500, dtype="i4"), np.zeros(2500, dtype="i4")
if world.rank == 0:
    world.Ssend([sent, 1, kind], 1)
    world.Send([sent[:1000], MPI.INT], 1)
    world.Send(sent, 1)
else:
    world.Recv([got, 1, kind], 0)
    assert all(got[n] == (n if n % 5 < 2 else 0) for n in range(2497))
    got[:] = 0
    world.Recv([got, 1, kind], 0)
    assert [got[5 * n + m] for n in range(500) for m in range(2)] == list(range(1000))
    try:
        world.Recv(got[:100], 0)
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_TRUNCATE
    assert list(got[:100]) == list(range(100))
print("there")
"""


def test_long_messages_in_pieces_and_cut_off():
    run = lanai("-q", "-n", 2, "--device", "bip", sys.executable, "-c", ODD)
    assert (run.returncode, run.stdout, run.stderr) == (0, "there\n" * 2, "")


ONE_SIDED = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
memory = np.zeros(4000, "i4")
window = MPI.Win.Create(memory, comm=world)
peer = (world.rank + 1) % world.size
window.Fence()
window.Put(np.full(1000, world.rank + 1, "i4"), peer)
window.Fence()
assert (memory[:1000] == (world.rank - 1) % world.size + 1).all()
window.Lock(0)
window.Accumulate(np.ones(1, "i4"), 0, target=(3999 * 4, 1, MPI.INT))
window.Unlock(0)
world.Barrier()
if world.rank == 0:
    window.Lock(0)
    assert memory[3999] == world.size
    window.Unlock(0)
window.Free()
print("there")
"""


def test_one_sided_communication_by_messages():
    run = lanai("-q", "-n", 3, "--device", "bip", sys.executable, "-c", ONE_SIDED)
    assert (run.returncode, run.stdout, run.stderr) == (0, "there\n" * 3, "")


def test_long_sends_that_nobody_receives_are_a_deadlock():
    """A short one would be done: the NICs have room for it."""
    body = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.Send(bytes(3000), 1 - w.rank, 6)"
    run = lanai("-q", "-n", 2, "--device", "bip", sys.executable, "-c", body)
    assert run.returncode == 3
    assert "tag 6" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--ranks-per-node", "2"), "bip puts one rank on a NIC, not 2; leave out --ranks-per-node"),
        (("--option", "short=485"), "BipOptions.short=485 must be a whole number from 0 to 484"),
        (("--option", "packet=1022"), "BipOptions.packet=1022 must be a multiple of 4: packets are whole words"),
        (("--option", "credits=15"), "BipOptions.credits=15 must be a whole number from 1 to 14"),
        (("--option", "slots=8"), "has no key 'slots'"),
        (("--nic-option", "hdma_queue=2"), "bip queues 3 descriptors for a packet, but the NIC has hdma_queue=2"),
    ],
)
def test_what_it_cannot_do_is_refused(arguments, text):
    run = lanai("-n", "2", "--device", "bip", *arguments, sys.executable, PROGRAM, "0")
    assert (run.returncode, run.stdout) == (2, "")
    assert text in run.stderr


# A NIC that is reset or stops while messages are under way: whatever waits ends with an error that says so, here and
# at the peer, and what has arrived is right.


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
            bus.examine = partial(examine, bus, attachment)
            device = Bip(bus, attachment, self.host)
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


# Unusual messages give on `bip` what they give on `ideal`, which has no NIC.


ODD_MESSAGES = Path(__file__).with_name("odd_messages.py")
OPTIONS = ("short=256", "short=0", "short=484", "credits=1", "credits=2", "packet=512")


def digests(seed, ranks, *device):
    run = warm.lanai("run", "-q", "-n", ranks, *device, sys.executable, ODD_MESSAGES, seed, timeout=500)
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(r"[0-9a-f]{16}( [0-9a-f]{16})*\n", run.stdout)
    return run.stdout


@pytest.mark.parametrize(
    ("seed", "ranks"),
    [
        (1, 2),
        *(pytest.param(seed, 2 + seed % 4, marks=pytest.mark.ci) for seed in range(2, 6)),
        *(pytest.param(seed, 2 + seed % 7, marks=pytest.mark.slow) for seed in range(6, 26)),
    ],
)
def test_as_without_a_nic(seed, ranks):
    option = OPTIONS[seed % len(OPTIONS)]
    assert digests(seed, ranks, "--device", "bip", "--option", option) == digests(seed, ranks, "--device", "ideal")
