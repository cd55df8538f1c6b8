"""A NIC that writes garbage where records belong: whatever is under way ends with a clear error,
never a crash or a hang."""

import random
import re

import pytest

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import Kind, Record
from lanai_host.errors import DeviceLost
from lanai_host.operation import ErrorKind
from lanai_host.stacks.mpi_np.endpoint import Notice

from .np_calls import irecv, isend, wait
from .np_world import World

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
