"""Very many, very long, not there: what is beyond a limit waits or is an error, and everything else
goes on."""

import ctypes
import mmap

import pytest

from lanai_host.body import Run
from lanai_host.bus.base import BusError
from lanai_host.config import HostCost, free
from lanai_host.device import SendMode
from lanai_host.operation import ANY_SOURCE, ErrorKind
from lanai_host.stacks.mpi_np import operations as lending

from .np_calls import Buffer, irecv, isend, pattern, recv, send, wait
from .np_world import World

HUGE = 2_200_000_000  # bytes, beyond 2**31


class Untouched:
    """Memory that exists in the address space only."""

    def __init__(self, size):
        self.store = mmap.mmap(-1, size)
        self.place = ctypes.c_char.from_buffer(self.store)
        self.body = Run(ctypes.addressof(self.place), size)


def test_more_than_one_message_can_be_is_refused_by_name():
    """And a receive with room for that much takes what comes."""

    def program(device):
        other = 1 - device.rank
        huge = Untouched(HUGE)
        sent = device.send(other, 0, 0, huge.body, SendMode.STANDARD)
        assert sent.done
        assert sent.error.kind is ErrorKind.BAD_REQUEST
        assert sent.error.text == f"{HUGE} bytes are more than the {96 << 20} of one message; send them in parts"
        received = device.receive(other, 1, 0, huge.body)
        send(device, other, pattern(9000), tag=1)
        wait(device, (received, huge))
        assert (received.error, received.length) == (None, 9000)
        assert huge.store[:9000] == pattern(9000)

    World(2).run(program)


def test_what_is_not_lent_at_once_waits(monkeypatch):
    monkeypatch.setattr(lending, "MOST_BYTES", 100_000)

    def program(device):
        other = 1 - device.rank
        received = [irecv(device, other, 40_000, tag=tag) for tag in range(6)]
        sent = [isend(device, other, pattern(40_000, tag), tag=tag) for tag in range(6)]
        assert 0 < max(device.share.memory.lent.values()) <= 100_000
        assert not sent[-1][0].done
        wait(device, *sent, *received)
        assert [buffer.data for _, buffer in received] == [pattern(40_000, tag) for tag in range(6)]
        assert not any(device.share.memory.lent.values())

    World(2).run(program)


def test_a_receive_that_waits_for_page_entries_gives_its_memory_back_when_its_rank_is_lost():
    def program(device):
        if device.rank:
            return
        share = device.share
        entries = share.table.free.copy()
        share.table.free.clear()
        operation, _ = irecv(device, ANY_SOURCE, 40_000)
        assert not operation.done
        assert any(share.memory.lent.values())
        share.lost[1] = "rank 1 has gone"
        later, _ = irecv(device, ANY_SOURCE, 40_000)
        assert [one.error.kind for one in (operation, later)] == [ErrorKind.PEER_FAILED] * 2
        assert not any(share.memory.lent.values())
        share.table.free.extend(entries)

    World(2).run(program)


def test_memory_that_cannot_be_pinned_is_an_error_and_nothing_else():
    def program(device):
        other = 1 - device.rank
        pin = device.bus.pin

        def refuse(address, size, writable):
            raise BusError("cannot pin: not all mapped")

        device.bus.pin = refuse
        bad = [isend(device, other, bytes(5000)), irecv(device, other, 5000), irecv(device, ANY_SOURCE, 5000)]
        for (operation, buffer), what in zip(
            bad, ("read the send", "write the receive", "write the receive"), strict=True
        ):
            assert operation.done
            assert operation.error.kind is ErrorKind.BUS_ERROR
            assert f"cannot {what} buffer, 5000 bytes at {buffer.address:#x}" in operation.error.text
        device.bus.pin = pin
        good = [irecv(device, ANY_SOURCE, 5000), isend(device, other, pattern(5000))]
        wait(device, *good)
        assert good[0][1].data == pattern(5000)

    World(2).run(program)


@pytest.mark.ci
@pytest.mark.parametrize("count", [200])
def test_so_many_requests_outstanding(count):
    """Posted from the last to the first, so that almost all wait; each gets its own message."""

    def program(device):
        other = 1 - device.rank
        received = [irecv(device, other, 4, tag=tag) for tag in reversed(range(count))]
        sent = [isend(device, other, tag.to_bytes(4, "big"), tag=tag) for tag in range(count)]
        wait(device, *sent, *received)
        assert [buffer.data for _, buffer in received] == [tag.to_bytes(4, "big") for tag in reversed(range(count))]

    World(2).run(program)


def test_pages_stay_pinned_and_are_found_again():
    """PM's pinned-page cache: what was pinned is not pinned again, until others have needed the
    room; oldest use goes first."""

    def program(device):
        pins = device.share.memory.pins
        if device.rank:
            for tag in range(7):
                recv(device, 0, 8192, tag=tag)
            return None
        a, b, c = Buffer(pattern(8192)), Buffer(pattern(8192, 1)), Buffer(pattern(8192, 2))
        seen = []
        for tag, buffer in enumerate((a, a, b, a, c, b, a)):
            operation = device.send(1, tag, 0, buffer.body, SendMode.STANDARD)
            wait(device, (operation, buffer))
            seen.append((pins.hits, pins.misses, pins.kept_pages))
        return seen

    seen = World(2, host=free().but(pinned_cache_pages=4)).run(program)[0]
    # a pinned; found; b pinned; a found; c pinned for b's room; b for a's; a for c's
    assert seen == [(0, 1, 2), (1, 1, 2), (1, 2, 4), (2, 2, 4), (2, 3, 4), (2, 4, 4), (2, 5, 4)]


def test_without_a_cache_each_message_pins_and_unpins():
    """NP-49."""
    told = []

    def program(device):
        if device.rank:
            for tag in range(3):
                recv(device, 0, 8192, tag=tag)
            return
        device.report_charges(lambda what, count, cost: told.append(what))
        buffer = Buffer(pattern(8192))
        for tag in range(3):
            wait(device, (device.send(1, tag, 0, buffer.body, SendMode.STANDARD), buffer))
        assert (device.share.memory.pins.hits, device.share.memory.pins.misses) == (0, 3)

    World(2, host=free().but(pinned_cache_pages=0)).run(program)
    assert (told.count(HostCost.PIN_PAGE), told.count(HostCost.UNPIN_PAGE)) == (3, 3)
