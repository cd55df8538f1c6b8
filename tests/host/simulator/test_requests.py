"""Records between rank and simulator: what is cut short is refused by name."""

import pytest

from lanai_host.errors import UserError
from lanai_host.simulator import requests
from lanai_host.simulator.requests import (
    PIN,
    PIO_WRITE,
    Format,
    Pin,
    PioWrite,
    pack_wait_any,
    split_pio_write,
    split_wait_any,
)

FORMATS = [one for one in vars(requests).values() if isinstance(one, Format)]


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.record.__name__)
def test_every_record_comes_back(one):
    record = one.record(*range(1, 1 + len(one.record._fields)))
    assert one.unpack(one.pack(record)) == record
    assert one.split(one.pack(record, b"rest")) == (record, b"rest")
    name, size = one.record.__name__, one.size
    for wrong in (size - 1, size + 1):
        with pytest.raises(UserError, match=f"{name} of {wrong} bytes; it has {size}"):
            one.unpack(bytes(wrong))
    with pytest.raises(UserError, match=f"{name} of {size - 1} bytes"):
        one.split(bytes(size - 1))


def test_the_bytes_are_those_of_the_wire():
    assert PIN.pack(Pin(0x1122, 3, 1)) == bytes.fromhex("2211000000000000 0300000000000000 01000000")
    assert PIO_WRITE.pack(PioWrite(4), b"data") == b"\4\0\0\0data"


def test_a_wrong_size_is_caught():
    with pytest.raises(AssertionError, match="PioWrite has 8 bytes, not 4"):
        Format(PioWrite, "Q", 4)
    with pytest.raises(AssertionError, match="fields of PioWrite"):
        Format(PioWrite, "HH", 4)


def test_a_wait_names_its_words():
    payload = pack_wait_any([(0x1000, 7), (0x2000, 0)], 55, b"why")
    assert split_wait_any(payload) == ((2, 55), [(0x1000, 7), (0x2000, 0)], b"why")
    with pytest.raises(UserError, match="WaitAny of 2 words has 12 bytes after its head"):
        split_wait_any(payload[:24])


@pytest.mark.parametrize("payload", [b"\4\x90\0\0", b"\4\x90\0\0data"])
def test_a_write_is_split_without_a_record(payload):
    (offset,), data = PIO_WRITE.split(payload)
    assert split_pio_write(payload) == (offset, data)


def test_a_write_that_is_too_short_is_refused():
    with pytest.raises(UserError, match="PioWrite of 3 bytes; it has 4"):
        split_pio_write(b"\4\0\0")
