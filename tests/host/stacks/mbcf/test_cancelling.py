"""Sends that are taken back, in many interleavings: each is cancelled or received, never both and
never neither, also while the receiver only computes."""

import pytest

from lanai_hdl.remote.tables import COMMANDS
from lanai_host.body import Run
from lanai_host.device import SendMode
from lanai_host.operation import Wait

from ..adapters import World, memory

DATA = 1  # a tag
CONTEXT = 0
WHY = Wait("test")
WORK = 5_000_000  # picoseconds
MESSAGES = 10  # more than a FIFO of one page holds, many times
SIZES = [0, 1, 40, 900, 3000, 20_000]


def content(number, size):
    return bytes([number]) * size


def run_of(block, size):
    return Run(block.address, size)


class Sender:
    """Begins sends to rank 1 and takes back what it can."""

    def __init__(self, chance, count):
        self.chance, self.count = chance, count
        self.cancelled, self.sent = [], []
        self.over = False

    def __call__(self, device):
        chance, pending = self.chance, []
        for number in range(self.count):
            size = chance.choice(SIZES)
            block = memory(size, content(number, size))
            mode = chance.choice([SendMode.SYNCHRONOUS, SendMode.SYNCHRONOUS, SendMode.STANDARD])
            pending.append((number, device.send(1, DATA, CONTEXT, run_of(block, size), mode), block))
            for _ in range(chance.randrange(3)):
                device.progress()
            if chance.random() < 0.5:
                device.cancel(chance.choice(pending)[1])
        for _, operation, _ in pending:
            device.cancel(operation)
            device.cancel(operation)  # once more changes nothing
        for number, operation, _ in pending:
            while not operation.done:
                device.wait([operation], WHY)
            assert operation.error is None
            (self.cancelled if operation.cancelled else self.sent).append(number)
        self.over = True


class Receiver:
    """Computes, and receives some of the messages; at last all that there are."""

    def __init__(self, chance, takes, sender):
        self.chance, self.takes, self.sender = chance, takes, sender
        self.received = []

    def __call__(self, device):
        while True:
            for _ in range(self.chance.randrange(4)):
                device.work(WORK)
            if self.chance.random() < self.takes:
                device.progress()
                self.take(device)
            elif self.sender.over:
                break
        while len(self.received) < len(self.sender.sent):
            device.progress()
            self.take(device)

    def take(self, device):
        take = self.chance.random() < 0.5
        arrived = device.probe(0, DATA, CONTEXT, take)
        if arrived is None:
            return False
        block = memory(arrived.length)
        body = run_of(block, arrived.length)
        operation = device.receive_taken(arrived, body) if take else device.receive(0, DATA, CONTEXT, body)
        while not operation.done:
            device.wait([operation], WHY)
        data = bytes(block.view[: arrived.length])
        number = data[0] if data else None
        assert data == content(number or 0, arrived.length)
        self.received.append((number, arrived.length))
        return True


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("options", [{}, {"fifo_pages": 1, "ask_from": 0}], ids=["room", "small"])
def test_each_send_is_cancelled_or_received(seed, options):
    world = World(2, seed)
    sender = Sender(world.chance, 12)
    receiver = Receiver(world.chance, world.chance.choice([0, 0.1, 0.6]), sender)
    world.play([sender, receiver], **options)
    assert len(sender.sent) == len(receiver.received)
    known = [number for number, _ in receiver.received if number is not None]
    assert known == [number for number in sender.sent if number in known]  # in order
    assert not set(known) & set(sender.cancelled)


def test_who_only_computes_gives_back_all_that_is_synchronous():
    world = World(2, 1)
    told = []

    def sender(device):
        sends = []
        for mode in (SendMode.SYNCHRONOUS, SendMode.STANDARD, SendMode.SYNCHRONOUS):
            block = memory(3000, content(1, 3000))
            sends.append((device.send(1, DATA, CONTEXT, run_of(block, 3000), mode), block))
        for operation, _ in sends:
            device.cancel(operation)
            while not operation.done:
                device.wait([operation], WHY)
        told.extend(operation.cancelled for operation, _ in sends)

    def receiver(device):
        while not told:
            device.work(WORK)

    world.play([sender, receiver])
    assert told == [True, False, True]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("seed", range(10))
def test_who_only_computes_gives_back_more_than_it_has_command_buffers(seed):
    """The answers that find no free buffer leave as others end, which the receiver sees in the interrupt alone."""
    world = World(2, seed)
    sends = []

    def sender(device):
        for _ in range(3 * COMMANDS):
            sends.append((device.send(1, DATA, CONTEXT, run_of(block, 8), SendMode.SYNCHRONOUS), block))
        for operation, _ in sends:
            device.cancel(operation)
        world.held.add(1)
        asked.append(True)
        for _ in range(1000):
            world.give_way(0)
        world.held.clear()
        for operation, _ in sends:
            while not operation.done:
                device.wait([operation], WHY)
        over.append(True)

    def receiver(device):
        while not asked:
            world.give_way(1)
        for _ in range(20_000):
            if over:
                return
            device.work(WORK)
        pytest.fail("messages do not go back while this rank computes")

    block, asked, over = memory(8, bytes(8)), [], []
    world.play([sender, receiver])
    assert all(operation.cancelled for operation, _ in sends)


def test_a_message_to_oneself_comes_back_until_it_is_received():
    def program(device):
        blocks = [memory(8, bytes(8)) for _ in range(3)]
        first, second = (device.send(0, DATA, CONTEXT, run_of(block, 8), SendMode.SYNCHRONOUS) for block in blocks[:2])
        assert device.cancel(first)
        assert first.done
        assert first.cancelled
        receive = device.receive(0, DATA, CONTEXT, run_of(blocks[2], 8))
        assert receive.done
        assert second.done
        assert not device.cancel(second)
        assert device.probe(0, DATA, CONTEXT, take=False) is None

    World(1, 1).play([program])


@pytest.mark.timeout(60)
@pytest.mark.parametrize("seed", range(10))
def test_who_only_computes_gives_back_though_there_was_no_room_for_its_answer(seed):
    """MPI_Wait of a send that is taken back is local: it returns whatever the receiver does. The answer stands behind
    messages of the receiver's own that the sender's FIFO has refused, many times."""
    world = World(2, seed)
    block, filled, over = memory(3000, bytes(3000)), [], []

    def sender(device):
        while not filled:
            world.give_way(0)
        operation = device.send(1, DATA, CONTEXT, run_of(block, 8), SendMode.SYNCHRONOUS)
        device.cancel(operation)
        while not operation.done:
            device.wait([operation], WHY)
        over.append(operation.cancelled)
        for _ in range(MESSAGES):
            assert take(device)

    def take(device):
        receive = device.receive(1, DATA, CONTEXT, run_of(block, 3000))
        while not receive.done:
            device.wait([receive], WHY)
        return receive.error is None

    def receiver(device):
        for _ in range(MESSAGES):
            device.send(0, DATA, CONTEXT, run_of(block, 3000), SendMode.STANDARD)
        for _ in range(200):
            device.progress()
            world.give_way(1)
        filled.append(True)
        for _ in range(20_000):
            if over:
                return
            device.work(WORK)
        pytest.fail("a message does not go back while this rank computes")

    world.play([sender, receiver], fifo_pages=1, ask_from=0)
    assert over == [True]
