"""Messages that modelled NICs match, with so few cells and so little room that hosts match too."""

import pytest

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Op
from lanai_host.adapter.jobs import Job, ignored
from lanai_host.adapter.matching import envelope, headed
from lanai_host.body import Run
from lanai_host.device import SendMode
from lanai_host.operation import Wait
from lanai_host.stacks.lanai2.device import Lanai2

from ..adapters import World, memory
from ..random_traffic import compare


def total(devices, counter):
    return sum(device.read_counter(f"lanai2_{counter}") for device in devices)


@pytest.mark.parametrize("cells", [2, 5, 16])
@pytest.mark.parametrize("pages", [1, 16])
def test_random_traffic(cells, pages):
    overflow = placed = 0
    for seed in range(6):
        devices = compare(3, 12, seed, Lanai2, Remote(processes=1, match_cells=cells), fifo_pages=pages)
        assert total(devices, "sent") == 3 * 3 * 12
        assert total(devices, "long") > 10
        overflow += total(devices, "overflow")
        placed += total(devices, "placed")
    assert placed > 0
    assert (overflow > 500) == (cells < 16), overflow


JUNK, PLAIN = 3, 5  # contexts


def finish(device, *operations):
    for operation in operations:
        while not operation.done:
            device.wait([operation], Wait("test"))
        assert operation.error is None


def met(program):
    """The program, once both ranks have opened their FIFOs."""

    def run(device):
        block, other = memory(1), 1 - device.rank
        body = Run(block.address, 1)
        there = device.receive(other, 0, PLAIN, body)
        finish(device, device.send(other, 0, PLAIN, body, SendMode.STANDARD), there)
        program(device)

    return run


@pytest.mark.parametrize("cells", [2, 16])
def test_messages_that_came_before_their_receives_are_told_to_traces(cells):
    """By whose they are, whether the NIC or the host keeps them. A receive that was posted has none."""
    changes = []

    def sender(device):
        block = memory(4)
        body = Run(block.address, 4)
        finish(device, *(device.send(1, tag, PLAIN, body, SendMode.STANDARD) for tag in (*range(5), 9)))

    def receiver(device):
        device.report_room(lambda *change: changes.append(change))
        block = memory(4)
        body = Run(block.address, 4)
        finish(device, device.receive(0, 9, PLAIN, body))
        assert changes == [("unexpected messages", 0, 1, 1)] * 5
        finish(device, *(device.receive(0, tag, PLAIN, body) for tag in reversed(range(5))))

    World(2, 1, Lanai2, Remote(processes=1, match_cells=cells)).play([met(sender), met(receiver)])
    assert changes == [("unexpected messages", 0, 1, change) for change in [1] * 5 + [-1] * 5]


def test_a_nic_whose_cells_are_full_is_not_asked_to_match_again():
    """Each message would take one ask more: the next receive has no cell. Once one is free, the NIC matches."""
    by_host = []

    def sender(device):
        block = memory(4)
        body = Run(block.address, 4)
        for _ in range(2):
            finish(device, device.send(1, 9, PLAIN, body, SendMode.STANDARD), device.receive(1, 0, PLAIN, body))
        finish(device, *(device.send(1, tag, PLAIN, body, SendMode.STANDARD) for tag in (1, 2)))

    def receiver(device):
        block = memory(4)
        body = Run(block.address, 4)
        first, second = (device.receive(0, tag, PLAIN, body) for tag in (1, 2))
        for _ in range(2):
            finish(device, device.receive(0, 9, PLAIN, body))
            by_host.append(device._receiving.overflow)
            finish(device, device.send(0, 0, PLAIN, body, SendMode.STANDARD))
        finish(device, first, second)
        device.progress()
        by_host.append(device._receiving.overflow)

    World(2, 1, Lanai2, Remote(processes=1, match_cells=2)).play([met(sender), met(receiver)])
    assert by_host == [True, True, False]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cells", [2, 16])
def test_messages_that_found_no_room_are_sent_again_in_order(seed, cells):
    """The receiver takes nothing until its FIFO has refused a message."""
    count, got, senders = 30, [], []

    def sender(device):
        senders.append(device)
        blocks = [memory(1000, bytes([n]) * 1000) for n in range(count)]
        sends = [device.send(1, 9, PLAIN, Run(block.address, 1000), SendMode.STANDARD) for block in blocks]
        finish(device, *sends)

    def receiver(device):
        while not (senders and senders[0]._sending.peers[1].barred):
            device._bus.elapse(1_000_000)
        for _ in range(count):
            block = memory(1000)
            finish(device, device.receive(0, 9, PLAIN, Run(block.address, 1000)))
            got.append(bytes(block.view))

    remote = Remote(processes=1, match_cells=cells)
    World(2, seed, Lanai2, remote).play([met(sender), met(receiver)], fifo_pages=1)
    assert got == [bytes([n]) * 1000 for n in range(count)]


@pytest.mark.parametrize("seed", range(4))
def test_a_rank_that_sends_nonsense_harms_no_other(seed):
    """Each note, with and without `aside`: what was matched is a message of two bytes, the rest is nothing."""
    notes = [kind << 13 | 7 for kind in range(8) if kind != 1]  # one that is synchronous is no nonsense
    got = []

    def forger(device):
        token = device._sending._tokens[1]  # it needs no device to know
        for note in notes:
            for aside in (0, 1):
                data = headed(JUNK, note, b"zz")
                device._jobs.add(Job(Op.SEND, token, envelope(9, aside=aside), "nonsense", ignored, data))
        block = memory(4, b"real")
        finish(device, device.send(1, 9, PLAIN, Run(block.address, 4), SendMode.STANDARD))

    def victim(device):
        for context, count in ((PLAIN, 1), (JUNK, len(notes))):
            for _ in range(count):
                block = memory(8)
                operation = device.receive(0, 9, context, Run(block.address, 8))
                finish(device, operation)
                got.append(bytes(block.view[: operation.length]))

    World(2, seed, Lanai2, Remote(processes=1, match_cells=4)).play([met(forger), met(victim)])
    assert got == [b"real"] + [b"zz"] * len(notes)


@pytest.mark.parametrize("size", [8, 5000])
def test_a_synchronous_message_to_itself_is_over_once_it_is_received(size):
    def program(device):
        out, there = memory(size), memory(size)
        send = device.send(device.rank, 0, PLAIN, Run(out.address, size), SendMode.SYNCHRONOUS)
        finish(device, device.receive(device.rank, 0, PLAIN, Run(there.address, size)))
        assert send.done

    World(2, 1, Lanai2, Remote(processes=1, match_cells=2)).play([met(program)] * 2)
