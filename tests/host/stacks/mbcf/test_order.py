"""The primitive that carries a message, and what is asked for, in fixed orders of sends and receives."""

import pytest

from lanai_hdl.remote.packets import Op
from lanai_host.body import Run
from lanai_host.config import HostCost
from lanai_host.device import Pending, SendMode
from lanai_host.operation import ANY_SOURCE, ErrorKind, Wait

from ..adapters import Left, World, memory

CONTEXT = 1


class Block:
    """Memory of the program's own, as a body."""

    def __init__(self, data=b"", size=0):
        self.memory = memory(max(len(data), size), data)
        self.body = Run(self.memory.address, max(len(data), size))

    @property
    def data(self):
        return bytes(self.memory.view[: self.body.size])


def send(device, dest, data, tag=1):
    block = Block(data)
    operation = device.send(dest, tag, CONTEXT, block.body, SendMode.STANDARD)
    operation.keep = block
    return operation


def finish(device, operation):
    while not operation.done:
        device.wait([operation], Wait("test"))
    assert operation.error is None


def meet(device, peer):
    """Both have come so far; the receive that waits here is asked for by no other rank."""
    block = Block(size=0)
    arrived = device.receive(peer, 99, CONTEXT + 1, block.body)
    finish(device, device.send(peer, 99, CONTEXT + 1, Block().body, SendMode.STANDARD))
    finish(device, arrived)


@pytest.mark.parametrize("size", [0, 64, 65])
def test_a_short_message_rides_in_its_notice(size, monkeypatch):
    """One command instead of two, up to `MbcfOptions.inline` bytes."""
    begun = []

    def sender(device):
        while not device._sending.boxes[1].requests.look():
            device.progress()
        monkeypatch.setattr(device._jobs, "add", lambda job, add=device._jobs.add: (begun.append(job.op), add(job)))
        block = Block(bytes(range(size)))
        operation = device.send(1, 1, CONTEXT, block.body, SendMode.STANDARD)
        assert operation.done == (size <= 64)
        if operation.done:  # its memory is the program's again
            block.memory.view[:size] = bytes(size)
        finish(device, operation)

    def receiver(device):
        block = Block(size=size)
        receive = device.receive(0, 1, CONTEXT, block.body)
        finish(device, receive)
        assert block.data == bytes(range(size))

    World(2, 1).play([sender, receiver], ask_from=0)
    assert begun == ([Op.APPEND] if size <= 64 else [Op.WRITE, Op.APPEND])


@pytest.mark.parametrize("size", [1, 100, 30_000])
def test_time_decides_and_not_size(size):
    data = bytes(range(256)) * 120
    data = data[:size]
    counted = {}

    def sender(device):
        meet(device, 1)
        before = device.read_counter("mbcf_written")
        finish(device, send(device, 1, data))  # its receive is posted
        counted["posted first"] = device.read_counter("mbcf_written") - before
        before = device.read_counter("mbcf_queued")
        finish(device, send(device, 1, data, tag=2))  # its receive is not
        counted["sent first"] = device.read_counter("mbcf_queued") - before
        meet(device, 1)

    def receiver(device):
        first, second = Block(size=size), Block(size=size)
        receive = device.receive(0, 1, CONTEXT, first.body)
        meet(device, 0)
        finish(device, receive)
        meet(device, 0)
        finish(device, device.receive(0, 2, CONTEXT, second.body))
        assert (first.data, second.data) == (data, data)

    for seed in range(2):
        World(2, seed).play([sender, receiver])
        assert counted["sent first"] == 1
        # Where a message by FIFO came after the request, the request is stale: then the FIFO has it.
        assert counted["posted first"] in (0, 1)


def test_receives_are_asked_for_again_behind_a_message_by_fifo():
    """MB-23: the request that was sent before it came is stale; the next message is written all the same."""
    size, counted = 5000, []

    def sender(device):
        finish(device, send(device, 1, bytes(size), tag=1))
        told = Block()
        finish(device, device.receive(1, 3, CONTEXT, told.body))
        before = [device.read_counter(f"mbcf_{way}") for way in ("written", "queued")]
        finish(device, send(device, 1, bytes(size), tag=2))
        after = [device.read_counter(f"mbcf_{way}") for way in ("written", "queued")]
        counted.extend(count - since for count, since in zip(after, before, strict=True))

    def receiver(device):
        first, second = Block(size=size), Block(size=size)
        waits = device.receive(0, 2, CONTEXT, second.body)
        finish(device, device.receive(0, 1, CONTEXT, first.body))
        finish(device, send(device, 0, b"", tag=3))
        finish(device, waits)

    World(2, 1).play([sender, receiver])
    assert counted == [1, 0]


@pytest.mark.parametrize(("request_list", "written"), [(False, 0), (True, 3)])
def test_requests_that_do_not_match_are_thrown_away_or_kept(request_list, written):
    """MB-16: three receives, and their messages in another order."""
    size, tags = 5000, (3, 1, 2)
    counted, got = [], {}

    def sender(device):
        for _ in range(2000):  # until all three requests are here
            device.progress()
        for operation in [send(device, 1, bytes([tag]) * size, tag) for tag in tags]:
            finish(device, operation)
        counted.append(device.read_counter("mbcf_written"))

    def receiver(device):
        blocks = {tag: Block(size=size) for tag in (1, 2, 3)}
        for receive in [device.receive(0, tag, CONTEXT, block.body) for tag, block in blocks.items()]:
            finish(device, receive)
        got.update({tag: block.data for tag, block in blocks.items()})

    World(2, 1).play([sender, receiver], request_list=request_list)
    assert got == {tag: bytes([tag]) * size for tag in tags}
    assert counted == [written]


def test_requests_that_were_kept_are_of_no_use_behind_a_message_by_fifo():
    """The receiver asks again then (MB-23), and each message comes once and to its own receive."""
    size, got = 5000, []

    def sender(device):
        for _ in range(2000):
            device.progress()
        for tag in (2, 9, 1):  # 9: nobody has asked for it
            finish(device, send(device, 1, bytes([tag]) * size, tag))
        assert not device._sending.boxes[1].kept

    def receiver(device):
        blocks = {tag: Block(size=size) for tag in (1, 2, 9)}
        receives = [device.receive(0, tag, CONTEXT, blocks[tag].body) for tag in (1, 2)]
        for receive in receives:
            finish(device, receive)
        finish(device, device.receive(0, 9, CONTEXT, blocks[9].body))
        got.extend(block.data == bytes([tag]) * size for tag, block in blocks.items())

    for seed in range(4):
        World(2, seed).play([sender, receiver], request_list=True)
    assert got == [True] * 12


@pytest.mark.parametrize(
    ("posted_first", "sent", "received", "copies"),
    [(True, (1,), (1,), 0), (False, (1,), (1,), 1), (False, (1, 2), (2, 1), 2 + 1)],
    ids=["write", "eager", "crossed"],
)
def test_messages_pass_as_many_buffers_as_the_paper_says(posted_first, sent, received, copies):
    """At their receiver: none if a message is written, the FIFO if it was sent first, one more if another one is
    received before it."""
    size, copied = 5000, []

    def sender(device):
        while posted_first and not device._sending.boxes[1].requests.look():
            device.progress()
        for operation in [send(device, 1, bytes(size), tag) for tag in sent]:
            finish(device, operation)

    def receiver(device):
        device.report_charges(lambda what, count, cost: copied.append(count if what is HostCost.COPY else 0))
        for tag in received:
            block = Block(size=size)
            finish(device, device.receive(0, tag, CONTEXT, block.body))

    World(2, 1).play([sender, receiver])
    assert sum(copied) // size == copies  # beside requests, which are 32 bytes each


def test_sends_that_are_not_done_are_listed():
    """In the queue, in records, written, and synchronous ones that have met no receive."""
    seen = []

    def sender(device):
        block = Block(b"once")
        waits = device.send(1, 7, CONTEXT, block.body, SendMode.SYNCHRONOUS)
        seen.extend(device.pending())
        finish(device, waits)
        seen.extend(device.pending())

    def receiver(device):
        block = Block(size=4)
        finish(device, device.receive(0, 7, CONTEXT, block.body))

    World(2, 1).play([sender, receiver])
    assert seen == [Pending(True, 1, 7, CONTEXT, 4)]


def test_nothing_is_asked_for_behind_a_receive_from_any_source():
    seen = []

    def receiver(device):
        blocks = [Block(size=4) for _ in range(3)]
        before = device.receive(1, 1, CONTEXT, blocks[0].body)
        anyone = device.receive(ANY_SOURCE, 2, CONTEXT, blocks[1].body)
        behind = device.receive(1, 3, CONTEXT, blocks[2].body)
        seen.append([device._requesting.asked(one) for one in (before, anyone, behind)])
        meet(device, 1)
        for one in (before, anyone, behind):
            finish(device, one)

    def sender(device):
        meet(device, 0)
        for tag in (1, 2, 3):
            finish(device, send(device, 0, b"data", tag))

    World(2, 3).play([receiver, sender], ask_from=0)
    assert seen == [[True, False, False]]


@pytest.mark.parametrize(
    ("sizes", "asked"),
    [
        ((64, 0, 64), (False, False, False)),
        ((64, 65, 64), (True, True, False)),
        ((65, 64, 65), (True, True, True)),
    ],
)
def test_a_short_receive_is_asked_for_only_with_a_larger_one_behind_it(sizes, asked):
    """So that what is outstanding are still the oldest receives, without a gap."""
    data = [bytes([number]) * size for number, size in enumerate(sizes, start=1)]
    seen = []

    def receiver(device):
        blocks = [Block(size=size) for size in sizes]
        receives = [device.receive(1, 1, CONTEXT, block.body) for block in blocks]
        seen.extend(device._requesting.asked(receive) for receive in receives)
        meet(device, 1)
        for receive in receives:
            finish(device, receive)
        assert [block.data for block in blocks] == data

    def sender(device):
        meet(device, 0)
        for one in data:
            finish(device, send(device, 0, one))

    World(2, 3).play([receiver, sender])
    assert tuple(seen) == asked


def test_a_receive_is_taken_back_while_its_peer_is_outside_the_library():
    """The peer has the request, and writes to the memory too late: its message comes by FIFO."""
    data = b"to the second receive"

    def receiver(device):
        kept, taken = Block(size=40), Block(size=40)
        receive = device.receive(1, 1, CONTEXT, kept.body)
        assert device._requesting.asked(receive)
        assert device.cancel(receive)
        receive = device.receive(1, 1, CONTEXT, taken.body)
        meet(device, 1)
        finish(device, receive)
        assert taken.data[: len(data)] == data
        assert kept.data == bytes(40)

    def sender(device):
        meet(device, 0)
        finish(device, send(device, 0, data))

    for seed in range(5):
        World(2, seed).play([receiver, sender], ask_from=0)


def test_operations_with_a_peer_that_is_lost_end_with_an_error():
    """Rank 1 ends without a word, so that its memory is out of reach."""
    ended = []

    def left(device):
        block = Block(size=4)
        receive = device.receive(1, 1, CONTEXT, block.body)
        device.wait(None, Wait("test"))
        sends = [send(device, 1, b"data") for _ in range(2)]
        while not (receive.done and sends[1].done):
            device.wait([receive], Wait("test"))
            sends.append(send(device, 1, b"more"))
        again = device.receive(1, 1, CONTEXT, block.body)
        ended.extend([receive.error.kind, sends[-1].error.kind, again.error.kind])
        assert device.impaired

    def leaves(device):
        finish(device, send(device, 0, b"go", tag=3))
        raise Left

    World(2, 1).play([left, leaves])
    assert ended == [ErrorKind.PEER_FAILED] * 3
