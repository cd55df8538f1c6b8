"""Stores and loads through the aperture, by the driver, on the verilated gateware and as the reference model
has them."""

import random
from dataclasses import dataclass

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Op, Status
from lanai_hdl.remote.reference import (
    ReferenceCommand,
    ReferenceExposure,
    ReferenceMap,
    ReferenceNic,
    load,
    run,
    store,
)
from lanai_hdl.remote.tables import APERTURE_PAGES
from lanai_host.adapter import RemoteError, Token
from lanai_host.adapter.aperture import ApertureAccess
from lanai_sim.studies.remote_hosts import idle, play

REMOTE = Remote(streams=4)
NIC = lanai41().but(blocks=(REMOTE,))
PAGE = 4096
SIZE = (APERTURE_PAGES + 2) * PAGE  # more than can be mapped at once
NOP = ReferenceCommand(Op.NOP, 0, 0, 0, 0, 0, 0, 0)
FAULTS = ("drop * rate=0.02 seed=1", "corrupt * rate=0.02 seed=2 bit=70", "duplicate * rate=0.02 seed=3")


class RecordedBus:
    """Takes writes, and tells of them."""

    def __init__(self):
        self.writes = []

    def write_block(self, offset, data):
        self.writes.append((offset, data))


def test_the_reference_stores_where_the_map_says_and_tells_the_first_failure_once():
    here, there = (ReferenceNic(REMOTE, windows={0: 1}) for _ in range(2))
    nics = {0: here, 1: there}
    there.memory[0x10000] = bytearray(PAGE)
    there.pages[0, 5] = 0x10000
    there.exposures[0, 2] = ReferenceExposure(0, 2048, 7, 5, True, write=True)
    here.maps[0, 3] = ReferenceMap(1, 2, 7, 0)
    store(nics, 0, 0, 3, 16, b"abcd")
    assert there.memory[0x10000][16:20] == b"abcd"
    assert run(nics, 0, 0, NOP) == (Status.OK, 0)
    store(nics, 0, 0, 3, 2048, b"abcd")
    store(nics, 0, 0, 4, 0, b"abcd")
    assert run(nics, 0, 0, NOP) == (Status.RANGE, 0)
    assert run(nics, 0, 0, NOP) == (Status.OK, 0)


def test_the_reference_loads_what_is_there_and_tells_the_first_failure_once():
    here, there = (ReferenceNic(REMOTE, windows={0: 1}) for _ in range(2))
    nics = {0: here, 1: there}
    there.memory[0x10000] = bytearray(range(256)) * 16
    there.pages[0, 5], there.pages[0, 6] = 0x10000, 0x10001
    there.exposures[0, 2] = ReferenceExposure(0, 2 * PAGE, 7, 5, True, read=True)
    here.maps[0, 3], here.maps[0, 4] = ReferenceMap(1, 2, 7, 0), ReferenceMap(1, 2, 7, 1)
    assert load(nics, 0, 0, 3, 16) == bytes(range(16, 20))
    assert run(nics, 0, 0, NOP) == (Status.OK, 0)
    store(nics, 0, 0, 3, 16, b"abcd")  # it may only be read
    for page in (4, 5):  # the host refuses the one, and the other has no map
        assert load(nics, 0, 0, page, 0) == b"\xff" * 4
    assert run(nics, 0, 0, NOP) == (Status.RIGHT, 0)
    assert load(nics, 0, 0, 4, 0) == b"\xff" * 4
    assert run(nics, 0, 0, NOP) == (Status.BUS, 0)
    assert run(nics, 0, 0, NOP) == (Status.OK, 0)


@pytest.mark.parametrize(
    ("offset", "data", "message"),
    [
        (2, b"abcd", "offset: 2 bytes are not whole words of 4"),
        (0, b"abc", "data: 3 bytes are not whole words of 4"),
        (100, b"abcd", "offset=100: 4 bytes from there on are not within the target's 100"),
        (-4, b"abcd", "offset=-4: 4 bytes"),
    ],
)
def test_what_cannot_be_stored(offset, data, message):
    stores = ApertureAccess(RecordedBus(), REMOTE, 0)
    with pytest.raises(UserError, match=message):
        stores.store(Token(1, 2, 3, 0, 100), offset, data).send(None)


@pytest.mark.parametrize(
    ("offset", "size", "message"),
    [
        (2, 4, "offset: 2 bytes are not whole words of 4; `get` moves any bytes"),
        (0, 3, "size: 3 bytes are not whole words of 4; `get`"),
        (100, 4, "offset=100: 4 bytes from there on are not within the target's 100"),
        (-4, 4, "offset=-4: 4 bytes"),
    ],
)
def test_what_cannot_be_loaded(offset, size, message):
    with pytest.raises(UserError, match=message):
        ApertureAccess(RecordedBus(), REMOTE, 0).load(Token(1, 2, 3, 0, 100), offset, size).send(None)


def test_an_adapter_without_aperture_is_refused():
    access = ApertureAccess(RecordedBus(), Remote(), 0)
    with pytest.raises(UserError, match=r"no aperture; take Remote\(streams=4\), or `put`"):
        access.store(Token(1, 2, 3, 0, 100), 0, b"abcd").send(None)
    with pytest.raises(UserError, match=r"no aperture; take Remote\(streams=4\), or `get`"):
        access.load(Token(1, 2, 3, 0, 100), 0, 4).send(None)


@dataclass(frozen=True)
class Ended:
    """The outcome of a run of random stores."""

    statuses: set[Status]
    packets: int
    timeouts: int


def settled(host):
    """Return how the stores have ended."""
    try:
        host.remote.settle()
    except RemoteError as error:
        return error.status
    return Status.OK


def random_stores(host, chance, count):
    """Stores of all sizes to all pages, some of which are refused, and loads of some words; what
    settle raises."""
    good, content = host.tokens[1], bytearray(host.size)
    bad = {
        Status.KEY: Token(good.node, good.exposure, good.key ^ 1, good.first, good.size),
        Status.EXPOSURE: Token(good.node, 9, good.key, good.first, good.size),
        Status.RANGE: Token(good.node, good.exposure, good.key, good.first + SIZE, good.size),
    }
    statuses = set()
    for _ in range(count):
        refused = set()
        for _ in range(chance.randrange(1, 6)):
            size = 4 * chance.choice([1, 2, 3, 8, 16, 50, 1100])
            at, data = 4 * chance.randrange((SIZE - size) // 4), chance.randbytes(size)
            if chance.random() < 0.1:
                status = chance.choice(list(bad))
                host.remote.store(bad[status], at, data)
                refused.add(status)
            else:
                host.remote.store(good, at, data)
                content[at : at + size] = data
            at = 4 * chance.randrange(SIZE // 4 - 1)
            assert host.remote.load(good, at, 8) == content[at : at + 8]
            if chance.random() < 0.05:
                status = chance.choice(list(bad))
                assert host.remote.load(bad[status], at, 4) == b"\xff" * 4
                refused.add(status)
        status = settled(host)
        assert status in (refused or {Status.OK})
        statuses.add(status)
    host.remote.get(good, 0, host.address, SIZE)
    host.remote.settle()
    assert bytes(host.memory[:SIZE]) == content
    return Ended(statuses, host.counter("REMOTE_PACKETS"), host.counter("REMOTE_TIMEOUTS"))


@pytest.mark.slow
@pytest.mark.parametrize("faults", [(), FAULTS])
def test_every_word_that_was_stored_is_there(faults):
    def program(host):
        return random_stores(host, random.Random(5), 60)

    ended, _ = play([program, idle], NIC, size=SIZE, faults=faults, timeout=2000, retries=50)
    assert ended.statuses == {Status.OK, Status.KEY, Status.EXPOSURE, Status.RANGE}
    assert (ended.timeouts > 3) == bool(faults)


@pytest.mark.slow
def test_two_hosts_that_store_to_each_other_never_stop():
    """A store that waits for its stream buffer gives the host bus back: the peer's stores need it."""
    size = 8 * PAGE

    def program(host):
        peer = host.tokens[1 - host.node]
        for round_ in range(4):
            host.remote.store(peer, 0, bytes([host.node + 2 * round_ + 1]) * size)
            host.remote.get(peer, 0, host.address + size, 4096)
        host.remote.settle()
        host.bus.elapse(1_000_000_000)  # the peer may store for longer
        return bytes(host.memory[:size])

    first, second = play([program, program], NIC, size=16 * PAGE)
    assert first == bytes([8]) * size
    assert second == bytes([7]) * size


@pytest.mark.slow
def test_two_hosts_that_load_from_each_other_never_stop():
    """A load gives the host bus back while it waits: the peer's load needs it."""

    def program(host):
        peer, words = host.tokens[1 - host.node], 200
        host.memory[: 4 * words] = bytes([host.node + 1]) * (4 * words)
        host.bus.elapse(10_000_000)
        for at in range(0, 4 * words, 40):
            assert host.remote.load(peer, at, 40) == bytes([2 - host.node]) * 40
            host.remote.store(peer, PAGE + at, bytes([host.node + 5]) * 40)
        host.remote.settle()
        host.bus.elapse(50_000_000)
        return bytes(host.memory[PAGE : PAGE + 4 * words])

    first, second = play([program, program], NIC, size=16 * PAGE)
    assert (set(first), set(second)) == ({6}, {5})
