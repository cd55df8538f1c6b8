"""Messages whose remote write is refused while others are under way: they go by FIFO, and what is
behind them comes behind them. No notice tells of bytes that are not there."""

import pytest

from lanai_host.bus.base import PAGE_SIZE, run_now

from .adapters import World
from .test_order import Block, finish, meet, send

CONTEXT = 1
SIZES = (9000, 4, 100, 9000, 0, 3000, 64, 20_000)  # by puts from memory, in their notices, by copies
SEEDS = range(12)


def content(number, size):
    return bytes((17 * number + 7 * at + at // 251) % 255 + 1 for at in range(size))


def receives(device, sizes):
    """Posted, and asked for before rank 0 is `asked`."""
    blocks = [Block(size=size) for size in sizes]
    posted = [device.receive(0, 1, CONTEXT, block.body) for block in blocks]
    finish(device, send(device, 0, b"", tag=2))
    return list(zip(posted, blocks, strict=True))


def asked(device):
    """Until rank 1's requests are here. Nothing by FIFO is sent, which would make them stale."""
    finish(device, device.receive(1, 2, CONTEXT, Block().body))


def told(device):
    return device.read_counter("mbcf_written"), device.read_counter("mbcf_queued")


def withdraw_all(device):
    """The kernel takes back what is lent for puts, whether they are under way or not."""
    lending = device._adapter.lending
    for lent in list(lending._lent.values()):
        if lent.users:
            run_now(lending.withdraw(lent))


def unmap_one(device):
    """One page that is lent cannot be read any more."""
    nic = device._bus.nic
    for lent in device._adapter.lending._lent.values():
        if lent.users:
            nic.memory[lent.pinned.pages[len(lent.pinned.pages) // 2] // PAGE_SIZE] = None
            return


@pytest.mark.parametrize("harm", [withdraw_all, unmap_one])
@pytest.mark.parametrize("at", [1, 4])
def test_memory_that_is_gone_at_the_sender(harm, at):
    """All sends are begun without waiting; before one of them the memory of those under way is
    harmed."""
    refused, counts = 0, []
    for seed in SEEDS:

        def sender(device):
            asked(device)
            before = told(device)
            sends = []
            for number, size in enumerate(SIZES):
                if number == at:
                    harm(device)
                sends.append(send(device, 1, content(number, size)))
            for one in sends:
                finish(device, one)
            written, queued = (now - then for now, then in zip(told(device), before, strict=True))
            counts.append((written, queued))

        def receiver(device):
            for number, (receive, block) in enumerate(receives(device, SIZES)):
                finish(device, receive)
                assert (receive.length, block.data) == (SIZES[number], content(number, SIZES[number]))

        World(2, seed).play([sender, receiver])
        written, queued = counts.pop()
        refused += written + queued - len(SIZES)
    assert refused > 0, "some that were begun as writes went by FIFO"


@pytest.mark.parametrize("taken_back", [0, 1, 3, 5])
def test_a_receive_is_taken_back_while_writes_are_under_way(taken_back):
    """Its message goes to the next receive, and so on; the last message to one that is posted then."""
    outcomes = set()
    for seed in range(24):

        def sender(device):
            asked(device)
            sends = [send(device, 1, content(number, size)) for number, size in enumerate(SIZES)]
            for one in sends:
                finish(device, one)
            meet(device, 1)

        def receiver(device, seed=seed):
            kept = receives(device, [max(SIZES)] * len(SIZES))
            for _ in range(seed % 12):
                device.progress()
            receive, block = kept[taken_back]
            cancelled = device.cancel(receive)
            outcomes.add(cancelled)
            before = block.data
            if cancelled:
                del kept[taken_back]
                last = Block(size=max(SIZES))
                kept.append((device.receive(0, 1, CONTEXT, last.body), last))
            for number, (one, theirs) in enumerate(kept):
                finish(device, one)
                assert one.length == SIZES[number]
                assert theirs.data[: one.length] == content(number, SIZES[number])
            meet(device, 0)
            assert not cancelled or block.data == before, "no peer writes to it any more"

        World(2, seed).play([sender, receiver])
    assert True in outcomes


def test_a_short_message_does_not_overtake_a_long_one():
    """Its bytes ride in its notice, which leaves behind that of the long one."""
    for seed in SEEDS:

        def sender(device):
            asked(device)
            for one in [send(device, 1, content(number, size)) for number, size in enumerate((9000, 4))]:
                finish(device, one)

        def receiver(device):
            for number, (receive, block) in enumerate(receives(device, (9000, 4))):
                finish(device, receive)
                assert block.data == content(number, len(block.data))

        World(2, seed).play([sender, receiver])
