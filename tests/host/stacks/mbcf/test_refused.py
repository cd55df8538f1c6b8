"""Messages whose remote write is refused while others are under way: they go by FIFO, and what is
behind them comes behind them. No notice tells of bytes that are not there."""

from functools import cache

import pytest
from pairs import first_of

from lanai_hdl.remote.tables import COMMANDS
from lanai_host.bus.base import PAGE_SIZE
from lanai_host.operation import ErrorKind

from ..adapters import Left, World
from .test_order import Block, finish, meet, send

CONTEXT = 1
SIZES = (9000, 4, 100, 9000, 0, 3000, 64, 20_000)  # by puts from memory, in their notices, by copies
LONG = (40_000, 4, 700_000, 150_000)  # in several puts, the first of them short; more than there are command buffers
SEEDS = range(12)


@cache
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
            lending.withdraw(lent)


def unmap_one(device):
    """One page that is lent cannot be read any more."""
    nic = device._bus.nic
    for lent in device._adapter.lending._lent.values():
        if lent.users:
            nic.memory[lent.pinned.pages[len(lent.pinned.pages) // 2] // PAGE_SIZE] = None
            return


@pytest.mark.parametrize("harm", [withdraw_all, unmap_one])
@pytest.mark.parametrize(("sizes", "at"), first_of((SIZES, 1), (SIZES, 4), (LONG, 1), (LONG, 3)))
def test_memory_that_is_gone_at_the_sender(harm, sizes, at):
    """All sends are begun without waiting; before one of them the memory of those under way is
    harmed."""
    refused, counts = 0, []
    for seed in SEEDS:

        def sender(device):
            asked(device)
            before = told(device)
            sends = []
            for number, size in enumerate(sizes):
                if number == at:
                    harm(device)
                sends.append(send(device, 1, content(number, size)))
            for one in sends:
                finish(device, one)
            written, queued = (now - then for now, then in zip(told(device), before, strict=True))
            counts.append((written, queued))

        def receiver(device):
            for number, (receive, block) in enumerate(receives(device, sizes)):
                finish(device, receive)
                assert (receive.length, block.data) == (sizes[number], content(number, sizes[number]))

        World(2, seed).play([sender, receiver])
        written, queued = counts.pop()
        refused += written + queued - len(sizes)
    assert refused > 0, "some that were begun as writes went by FIFO"


@pytest.mark.parametrize(
    ("sizes", "taken_back"), [(LONG[:2], 0), *first_of((SIZES, 0), (SIZES, 1), (SIZES, 3), (SIZES, 5), (LONG[2:], 0))]
)
def test_a_receive_is_taken_back_while_writes_are_under_way(sizes, taken_back):
    """Its message goes to the next receive, and so on; the last message to one that is posted then."""
    outcomes = set()
    for seed in range(24):

        def sender(device):
            asked(device)
            sends = [send(device, 1, content(number, size)) for number, size in enumerate(sizes)]
            for one in sends:
                finish(device, one)
            meet(device, 1)

        def receiver(device, seed=seed):
            kept = receives(device, [max(sizes)] * len(sizes))
            for _ in range(seed % 12):
                device.progress()
            receive, block = kept[taken_back]
            cancelled = device.cancel(receive)
            outcomes.add(cancelled)
            before = block.data
            if cancelled:
                del kept[taken_back]
                last = Block(size=max(sizes))
                kept.append((device.receive(0, 1, CONTEXT, last.body), last))
            for number, (one, theirs) in enumerate(kept):
                finish(device, one)
                assert one.length == sizes[number]
                assert theirs.data[: one.length] == content(number, sizes[number])
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


class Slow(World):
    """Commands take effect once all ranks wait."""

    def __init__(self, ranks, seed):
        super().__init__(ranks, seed)
        self.chance.random = float  # 0.0

    def step(self):
        pass


def test_long_messages_to_two_peers_leave_one_after_the_other():
    """Each has more puts than there are command buffers. The last of them has begun when its call ends (MB-26)."""
    for seed in SEEDS:

        def sender(device):
            for peer in (1, 2):
                finish(device, device.receive(peer, 2, CONTEXT, Block().body))
            sends = []
            for peer in (1, 2):
                sends.append(send(device, peer, content(peer, LONG[2])))
                assert device._sending._writing.unfinished is None
            for one in sends:
                finish(device, one)
            assert told(device)[0] == len(sends), "all by remote write"

        def receiver(device):
            for receive, block in receives(device, LONG[2:3]):
                finish(device, receive)
                assert block.data == content(device.rank, LONG[2])

        Slow(3, seed).play([sender, receiver, receiver])


def begin_long(device):
    """Begin a long message as a later call does, if the message had to wait: the call does not stay until it leaves."""
    leaves, device._sending.leaves = device._sending.leaves, lambda _send: False
    long = send(device, 1, content(0, LONG[2]))
    device._sending.leaves = leaves
    return long


def test_the_notice_of_a_long_message_waits_for_what_has_not_begun():
    """All puts that had buffers have ended, and requests have taken the buffers."""

    def sender(device):
        asked(device)
        long = begin_long(device)
        assert device._sending._writing.unfinished is not None
        block = Block(size=100)
        posted = [device.receive(1, 3, CONTEXT, block.body) for _ in range(COMMANDS)]
        for _ in range(COMMANDS):
            device._bus.world.carry_out(device.rank)
        for one in (long, *posted):
            finish(device, one)

    def receiver(device):
        for receive, block in receives(device, LONG[2:3]):
            finish(device, receive)
            assert block.data == content(0, LONG[2])
        for one in [send(device, 0, content(0, 100), tag=3) for _ in range(COMMANDS)]:
            finish(device, one)

    Slow(2, 1).play([sender, receiver])


def test_a_peer_is_lost_while_a_long_message_to_it_has_begun_in_part():
    """No more of it leaves, and messages to others do."""

    def sender(device):
        asked(device)
        long = begin_long(device)
        begun = device._sending._writing.unfinished[1]
        puts = begun.puts
        device._sending.lose(1, "it is lost")
        finish(device, send(device, 2, b"there"))
        assert (long.error.kind, begun.begun < LONG[2]) == (ErrorKind.PEER_FAILED, True)
        assert puts == COMMANDS

    def lost(device):
        [(receive, _block)] = receives(device, LONG[2:3])
        finish(device, device.receive(2, 4, CONTEXT, Block().body))
        assert not receive.done
        raise Left

    def other(device):
        block = Block(size=5)
        finish(device, device.receive(0, 1, CONTEXT, block.body))
        assert block.data == b"there"
        finish(device, send(device, 1, b"", tag=4))

    Slow(3, 1).play([sender, lost, other])
