"""The rank's line to the simulator: what is posted, and large bodies."""

import ctypes
import errno
import gc
import mmap
import resource
import signal
import socket
import sys
import weakref

import pytest

from lanai_host import process_memory
from lanai_host.body import Run, Runs
from lanai_host.bus.base import PAGE_SIZE, BusError
from lanai_host.errors import UserError
from lanai_host.simulator import client as module
from lanai_host.simulator import requests
from lanai_host.simulator.client import SimulatorClient
from lanai_host.simulator.protocol import HEADER, Op, Status
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
from lanai_host.simulator.spin import Chunk, SpinWait, Steering, _spin
from lanai_host.simulator.transport import LARGE
from openlanai import Job

from .test_transport import LATENCY, WHY, Ranks, body


def connected():
    """A client, and the simulator's end of its line, which has answered HELLO."""
    ours, theirs = socket.socketpair()
    answer = b"{}"
    theirs.sendall(HEADER.pack(len(answer), Status.OK, 0, 1000) + answer)
    client = SimulatorClient(ours, 0, 2)
    theirs.recv(4096)
    return client, theirs


def frames(post, watchful=False):
    """Return the bytes that arrive of what `post` posts, with the client's clock after it."""
    client, simulator = connected()
    client.watchful = watchful
    client.charge(40)
    post(client)
    client.post(Op.UNPIN)
    client._flush()
    clock = client.clock
    client.close()
    module._clients.remove(client)
    with simulator, simulator.makefile("rb") as stream:
        return clock, stream.read()


@pytest.mark.parametrize("watchful", [False, True])
@pytest.mark.parametrize("most", [module.FLUSH_BYTES, 10])
def test_two_requests_are_posted_as_one_after_the_other(monkeypatch, watchful, most):
    monkeypatch.setattr(module, "FLUSH_BYTES", most)

    def one_by_one(client):
        client.post(Op.PIO_WRITE, b"the first")
        client.charge(7)
        client.post(Op.PIO_WRITE, b"second")

    def both(client):
        client.post_two(Op.PIO_WRITE, b"the first", 7, b"second")

    assert frames(both, watchful) == frames(one_by_one, watchful)


# A rank's bus: polls and waits that the simulator does for it take the same simulated time as its own.

MESSAGES = 16
PROGRAM = f"""
import sys
from collections import Counter
from lanai_host.bus.base import Bus
from lanai_host.simulator.client import SimulatorClient
from lanai_host.simulator.rank_bus import RankBus
if sys.argv[1] == "steps":
    RankBus.look_and_wait = Bus.look_and_wait  # each step is a request
asked, call = Counter(), SimulatorClient.call
def counted(self, op, payload=b""):
    asked[op.name] += 1
    return call(self, op, payload)
SimulatorClient.call = counted
from mpi4py import MPI
world, size = MPI.COMM_WORLD, int(sys.argv[2])
data = bytearray(size)
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
times = []
world.Barrier()
asked.clear()
for turn in range({MESSAGES}):
    if (world.rank + turn) % 2:
        world.Send(data, right, tag=turn)
    else:
        world.Recv(data, left, tag=turn)
    times.append(MPI.Wtime())
print(world.rank, sum(asked.values()), times[-1], hash(tuple(times)))
"""


def lines(device, way, size, ranks, capfd, **options):
    """Each rank's requests, and what it says of its times; the result."""
    if device == "t3d_shell":
        device, options = "t3d", {"nic": "t3d_shell"} | options
    result = Job((sys.executable, "-c", PROGRAM, way, str(size)), ranks, device).but(**options).run()
    assert (result.code, result.report) == (0, "")
    words = sorted(line.split() for line in capfd.readouterr().out.splitlines())
    assert len(words) == ranks
    return [int(word[1]) for word in words], [word[2:] for word in words], result.clocks


DEVICES = ("mbcf", "sci", "t3d", "t3d_shell", "ccu", "bip")


@pytest.mark.parametrize(("size", "ranks"), [(4, 2), (9000, 4)])
@pytest.mark.parametrize("device", DEVICES)
def test_the_simulator_polls_at_the_same_times_as_the_rank(device, size, ranks, capfd):
    own = lines(device, "steps", size, ranks, capfd)
    simulated = lines(device, "one request", size, ranks, capfd)
    assert simulated[1:] == own[1:]
    assert sum(simulated[0]) < sum(own[0])


@pytest.mark.parametrize(("device", "most"), [("mbcf", 1), ("sci", 2), ("t3d", 1), ("ccu", 1), ("bip", 1)])
def test_a_short_message_takes_few_requests(device, most, capfd):
    requests, _, _ = lines(device, "one request", 4, 2, capfd)
    assert sum(requests) <= most * MESSAGES + 4


# Records between rank and simulator: what is cut short is refused by name.

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


# Waits without sleep: the memory that is received into.


class Owner:
    """An object in a circle of references."""


def test_what_was_received_is_in_the_view():
    first, second = socket.socketpair()
    chunk = Chunk(16)
    with first, second:
        first.send(b"some bytes")
        assert SpinWait().receive(second, chunk) == 10
    assert chunk.view[:10] == b"some bytes"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("shared", [False, True])
def test_one_sleep_is_bounded(shared):
    """The handler of a signal that came just before the sleep runs after it: nothing interrupts the sleep."""
    first, second = socket.socketpair()
    chunk, state = Chunk(16), _spin().ffi.new("Spin *", {"alone": True})
    with first, second:
        if shared:
            first.send(HEADER.pack(0, Status.OK, Steering().here() + 1, 0))
            assert _spin().lib.spin_receive(state, second.fileno(), chunk.address, chunk.size) == HEADER.size
        assert _spin().lib.spin_receive(state, second.fileno(), chunk.address, chunk.size) == -errno.EINTR
        first.send(HEADER.pack(0, Status.OK, 0, 0))
        assert SpinWait().receive(second, chunk) == HEADER.size


def test_nothing_else_uses_the_buffer_of_the_view():
    """The garbage collector may clear the view before the address: with a user left, it crashes."""
    chunk = Chunk(16)
    chunk.view.release()
    assert chunk.address is not None


def test_chunks_in_circles_are_collected():
    owner = Owner()
    owner.chunk, owner.itself = Chunk(16), owner
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_a_large_datagram_is_not_copied_and_its_memory_is_given_back():
    ranks = Ranks(2)
    here, there = ranks.transports
    text = bytes(range(256)) * (LARGE // 128)
    halves = body(text[:LARGE]), body(text[LARGE:])

    def allocated():
        """Return where in this process the next block of that size lies, which is given back."""
        place = there._lib.hub_allocate(there._hub, len(text))
        there._lib.hub_free(there._hub, place)
        return there._lib.hub_address(there._hub, place) & -PAGE_SIZE

    for sent in (body(text), Runs([(one.start, one.size) for one in halves])):
        here.post(1, b"head", sent)
        here.elapse(10 * LATENCY)
        here.post(1, b"later")
        ((source, datagram),) = [entry for entry in there.collect(WHY) if entry[1] != b"later"]
        assert source == 0
        assert isinstance(datagram, memoryview)
        assert datagram == b"head" + text
        lies = process_memory.address_of(datagram) & -PAGE_SIZE
        assert allocated() != lies + PAGE_SIZE
        del datagram
        assert allocated() == lies + PAGE_SIZE


def test_a_large_body_is_not_a_file_of_the_programs(monkeypatch):
    """A program may limit the size of its files, and a write beyond that ends it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a module first needed here would be kept in part
    ranks = Ranks(2)
    here, there = ranks.transports
    sent, limits, hits = body(b"x" * (2 * LARGE)), resource.getrlimit(resource.RLIMIT_FSIZE), []
    handler = signal.signal(signal.SIGXFSZ, lambda *_: hits.append(True))
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        here.post(1, b"", sent)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    here.elapse(10 * LATENCY)
    here.post(1, b"")
    assert there.collect(WHY)[0][1] == b"x" * (2 * LARGE)
    assert hits == []


@pytest.mark.parametrize("path", [True, False], ids=["written", "copied"])
def test_a_large_body_that_cannot_be_read_is_an_error(path):
    ranks = Ranks(2)
    here, there = ranks.transports
    if not path:
        here._lib.hub_set_path(here._hub, b"/nowhere/at all")
    with mmap.mmap(-1, 2 * LARGE + PAGE_SIZE) as memory:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        protect = ctypes.CDLL(None).mprotect
        assert protect(ctypes.c_void_p(start + 2 * LARGE), ctypes.c_size_t(PAGE_SIZE), 0) == 0
        with pytest.raises(BusError, match="cannot read the send buffer"):
            here.post(1, b"", Run(start, 2 * LARGE + 1))
        memory[:4] = b"text"
        here.post(1, b"", Run(start, 2 * LARGE))
        here.elapse(10 * LATENCY)
        here.post(1, b"")
        assert there.collect(WHY)[0][1][:5] == b"text\0"
        gc.collect()
