"""Very many, very long, not there: what is beyond a limit waits or is an error, and everything else
goes on."""

import ctypes
import mmap
import random
import re

import pytest

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import Kind, Record
from lanai_host.body import Run
from lanai_host.bus.base import BusError
from lanai_host.config import HostCost, free
from lanai_host.device import SendMode
from lanai_host.errors import DeviceLost
from lanai_host.operation import ANY_SOURCE, ErrorKind
from lanai_host.stacks.mpi_np import operations as lending
from lanai_host.stacks.mpi_np.endpoint import Notice

from .np_world import Buffer, World, irecv, isend, pattern, recv, send, wait

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


# A NIC that writes garbage where records belong: whatever is under way ends with a clear error, never a crash or a
# hang.


RECORD = int(sizeof(Record))
SEQUENCE = int(offset_of(Record, "sequence"))


def forge(device, data):
    """Put `data` where the NIC would write its next record, with the sequence number that makes it
    one."""
    endpoint = device.endpoint
    start = endpoint.place * RECORD
    endpoint.copyblock.view[start : start + RECORD] = data
    endpoint.copyblock.view[start + SEQUENCE : start + SEQUENCE + 2] = endpoint.sequence.to_bytes(2, "big")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": 77}, "kind 77 and error 0, of which one is unknown"),
        ({"kind": 0}, "kind 0 and error 0, of which one is unknown"),
        ({"kind": Kind.RECEIVED, "error": 99}, "kind 2 and error 99, of which one is unknown"),
        ({"kind": Kind.RECEIVED, "length": 51}, "tells of 51 bytes in a buffer of 50"),
        ({"kind": Kind.RECEIVED, "source": 9, "length": 50}, "tells of source 9 in a world of 1 ranks"),
    ],
)
def test_damaged_record_is_named(fields, message):
    def program(device):
        operation, _ = irecv(device, 0, 50, tag=3)
        forge(device, pack(Record, {"operation": operation.number, **fields}))
        device.progress()
        wait(device, (operation, None))
        assert operation.error.kind is ErrorKind.NIC_LOST
        assert re.search(f"the NIC of rank 0 wrote a damaged record, which.*{message}", operation.error.text)

    World(1).run(program)


@pytest.mark.parametrize("fields", [{"kind": Kind.SENT, "source": 1}, {"kind": Kind.RECEIVED}])
def test_a_record_about_something_else_does_not_end_a_send(fields):
    """It tells of another rank, or of a receive: the number may have been another operation's before."""

    def program(device):
        if device.rank == 0:
            send, _ = isend(device, 0, bytes(70_000))
            (number,) = device.records.share.active
            device.records.handle(Notice(**dict.fromkeys(Notice._fields, 0) | fields | {"operation": number}))
            assert not send.done
            assert number in device.records.share.active

    World(2).run(program)


def test_what_begins_after_an_unknown_record_ends_at_once():
    def program(device):
        forge(device, b"\xee" * RECORD)
        device.progress()
        for _ in range(3):
            pairs = [isend(device, 0, b"x"), irecv(device, 0, 1)]
            for operation, _ in pairs:
                assert operation.done
                assert operation.error.kind is ErrorKind.NIC_LOST
                assert "start the job again" in operation.error.text
                assert not device.cancel(operation)
            with pytest.raises(DeviceLost, match="start the job again"):
                device.probe(0, 0, 0, False)

    World(1).run(program)


@pytest.mark.parametrize("seed", range(3))
def test_random_records_only_ever_raise_a_named_error(seed):
    """Records of random bytes, half of them of a kind that exists: none of them goes past `Records`
    but as DeviceLost."""
    rng = random.Random(seed)
    refused = 0

    def program(device):
        nonlocal refused
        operation, _ = irecv(device, 0, 50, tag=3)
        for _ in range(200):
            fields = {"kind": rng.choice([*Kind, rng.randrange(256)]), "error": rng.choice([0, rng.randrange(12)])}
            fields |= {"operation": rng.choice([operation.number, rng.randrange(1 << 16)]), "source": rng.randrange(4)}
            fields |= {"length": rng.randrange(100)}
            if fields["kind"] == Kind.ARRIVED:
                continue  # believed: it makes the device ask the NIC, whose answer is the next record
            forge(device, pack(Record, fields))
            try:
                device.progressing.look()
            except DeviceLost:
                refused += 1
                device.endpoint.broken = None  # on to the next
        forge(device, b"\xee" * RECORD)
        device.progress()
        assert operation.done

    World(1).run(program)
    assert 0 < refused < 200
