"""Remote memory through the driver, on the verilated gateware."""

import ctypes
import random

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Atomic, Op, Status
from lanai_host.adapter import RemoteError, Token
from lanai_host.adapter.commands import Command
from lanai_host.adapter.opened import CommandShare
from lanai_host.adapter.operation import RemoteOperation
from lanai_host.adapter.operation import Token as Token_opened
from lanai_host.bus.base import BusError
from lanai_host.remote import Access
from lanai_sim.studies.remote_hosts import idle, play

NIC = lanai41().but(blocks=(Remote(),))
QUIET = ("REMOTE_TIMEOUTS", "REMOTE_INVALID", "REMOTE_FAILED", "REMOTE_STALE", "REMOTE_FAULTS")


def test_put_and_get_move_any_bytes_to_anywhere():
    chance = random.Random(3)

    def program(host):
        for _ in range(60):
            size = chance.choice([1, 2, 3, 4, 7, 64, 300, 1023, 1024, 1025, 5000])
            source, target, back = (chance.randrange(4096 * 2 - 5000) for _ in range(3))
            data = chance.randbytes(size)
            host.memory[source : source + size] = data
            host.remote.put(host.tokens[1], target, host.address + source, size)
            host.remote.get(host.tokens[1], target, host.address + 8192 + back, size)
            host.remote.settle()
            assert host.memory[8192 + back : 8192 + back + size] == data
        return [host.counter(name) for name in QUIET]

    assert play([program, idle], NIC)[0] == [0] * len(QUIET)


def test_two_nodes_that_write_and_read_each_other_never_stop():
    rounds, size = 12, 9000

    def program(host):
        peer = host.tokens[1 - host.node]
        host.memory[:size] = bytes((7 * host.node + i) & 0xFF for i in range(size))
        for _ in range(rounds):
            host.remote.put(peer, 10_000, host.address, size)
            host.remote.get(peer, 0, host.address + 20_000, size)
        host.remote.settle()
        assert host.memory[20_000 : 20_000 + size] == bytes((7 * (1 - host.node) + i) & 0xFF for i in range(size))
        return host.counter("REMOTE_TIMEOUTS"), host.counter("REMOTE_NO_ROOM")

    assert play([program, program], NIC) == [(0, 0), (0, 0)]


def test_atomics_from_both_sides_lose_nothing():
    def program(host):
        before = []
        for _ in range(50):
            operation = host.remote.atomic(host.tokens[0], 4, Atomic.ADD, 1)
            before.append(host.remote.wait(operation).value)
        host.bus.elapse(10_000_000)
        return before, host.word(4)

    def at_home(host):
        host.memory[4:8] = (1000).to_bytes(4, "little")
        return program(host)

    (first, word), (second, _) = play([at_home, program], NIC)
    assert sorted(first + second) == list(range(1000, 1100))
    assert word == 1100


def test_what_is_not_allowed_fails_with_its_reason():
    found = []

    def fails(host, status, token, offset=0, size=4, get=False):
        move = host.remote.get if get else host.remote.put
        move(token, offset, host.address, size)
        with pytest.raises(RemoteError) as raised:
            host.remote.settle()
        assert raised.value.status is status
        found.append(str(raised.value))

    def program(host):
        good = host.tokens[1]
        fails(host, Status.KEY, Token(1, good.exposure, good.key ^ 1, good.first, good.size))
        fails(host, Status.EXPOSURE, Token(1, good.exposure + 5, good.key, good.first, good.size))
        fails(host, Status.EXPOSURE, Token(1, 200, good.key, good.first, good.size))
        fails(host, Status.RANGE, good, good.size - 3)
        fails(host, Status.RANGE, good, 2**32 - 4, get=True)
        fails(host, Status.INVALID, Token(99, good.exposure, good.key, good.first, good.size))
        read_only = Token.unpack(bytes(host.memory[: Token.SIZE]))
        fails(host, Status.RIGHT, read_only)
        host.remote.get(read_only, 0, host.address, 4)
        host.remote.settle()
        with pytest.raises(RemoteError, match="multiple of its size"):
            host.remote.wait(host.remote.atomic(good, 2, Atomic.ADD, 1))
        assert host.counter("REMOTE_TIMEOUTS") == 0

    def target(host):
        exposure = host.remote.expose(host.address + 4096, 64, Access.READ)
        # Its own processor hands the token over, through memory that is exposed.
        host.memory[8192 : 8192 + Token.SIZE] = exposure.token.pack()
        host.remote.put(host.tokens[0], 0, host.address + 8192, Token.SIZE)
        host.remote.settle()

    def later(host):
        host.bus.elapse(20_000_000)
        program(host)

    play([later, target], NIC)
    assert found[0] == "put of 4 bytes to offset 0 of exposure 0 of node 1: the key of the token is wrong"


def test_concealed_memory_is_out_of_reach():
    def program(host):
        host.bus.elapse(30_000_000)
        host.remote.put(host.tokens[1], 0, host.address, 4)
        with pytest.raises(RemoteError, match="nothing is exposed there"):
            host.remote.settle()

    def target(host):
        host.remote.conceal(host.exposure)
        with pytest.raises(UserError, match="is not \\(any more\\) exposed"):
            host.remote.conceal(host.exposure)

    play([program, target], NIC)


def test_a_peer_that_does_not_answer_is_lost_and_all_that_waits_for_it_ends():
    def program(host):
        host.remote.put(Token(5, 0, 0, 0, 8), 0, host.address, 8)  # no route leads to NIC 5
        host.remote.put(Token(5, 0, 0, 0, 8), 0, host.address, 8)
        with pytest.raises(RemoteError, match="does not answer"):
            host.remote.settle()
        return host.counter("REMOTE_TIMEOUTS")

    assert play([program, idle], NIC, timeout=500, retries=2)[0] == 3


def test_memory_that_does_not_fit_is_refused():
    def program(host):
        for _ in range(14):
            host.remote.expose(host.address, 4)
        host.remote.expose(host.address, 4)
        with pytest.raises(UserError, match="a process has 16 exposures at most"):
            host.remote.expose(host.address, 4)
        with pytest.raises(UserError, match="do not lie in one piece of memory that `expose` pinned"):
            host.remote.put(host.tokens[1], 0, host.address + host.size - 1, 2)
        with pytest.raises(UserError, match="size=0 must be at least 1"):
            host.remote.expose(host.address, 0)

    play([program, idle], NIC)


# Exposures with more pages than the adapter's page table has entries: walked, by the driver's
# choice.

PAGE = 4096
SIZE = 64 << 20
FAR = SIZE - 3 * PAGE  # 16 directories are needed for what lies there


def test_64_mib_are_written_read_and_changed_at_their_far_end():
    def program(host):
        remote, there = host.remote, host.tokens[1]
        assert host.exposure.walked
        host.bus.elapse(10_000_000)  # the walker's table is empty by then
        data = bytes(range(256)) * 40
        host.memory[FAR + 5 : FAR + 5 + len(data)] = data
        remote.put(there, FAR + 1001, host.address + FAR + 5, len(data))
        remote.get(there, FAR + 1001, host.address + 99, len(data))
        remote.settle()
        assert host.memory[99 : 99 + len(data)] == data
        counts = [remote.wait(remote.atomic(there, SIZE - 4, Atomic.ADD, 5)).value for _ in range(3)]
        assert counts == [0, 5, 10]
        with pytest.raises(RemoteError, match="leaves the exposed range"):
            remote.wait(remote.put(there, SIZE, host.address, 1))
        return host.counter("REMOTE_TLB_MISSES")

    def target(host):
        host.bus.elapse(1_000_000_000)
        assert host.memory[FAR + 1001 : FAR + 1006] == bytes(range(5))
        assert host.memory[FAR + 1000] == 0
        assert host.word(SIZE - 4) == 15
        return host.counter("REMOTE_TLB_MISSES")

    assert play([program, target], NIC, size=SIZE) == [6, 3]


def test_what_was_concealed_is_not_reached_by_pages_that_are_kept():
    """The second exposure has the first one's number, entries of the page table and directories, and
    a key that was seen."""

    def program(host):
        host.bus.elapse(200_000_000)
        host.remote.put(host.tokens[1], 0, host.address, 4)
        with pytest.raises(RemoteError):
            host.remote.settle()

    def target(host):
        remote, whole, mine = host.remote, host.exposure, host.tokens[1]
        other = bytearray(SIZE // 8)
        memory = memoryview(other)
        host.memory[:4] = b"keep"
        host.memory[4:8] = b"word"
        remote.put(mine, 0, host.address, 4)  # to itself: the page is kept now
        remote.settle()
        remote.conceal(whole)
        assert whole.directories
        address = ctypes.addressof(ctypes.c_char.from_buffer(other))
        second = remote.expose(address, len(other))
        assert second.walked
        assert second.number == whole.number
        first = remote.expose(host.address, 8)
        remote.put(second.token, 0, host.address + 4, 4)
        remote.settle()
        assert host.memory[:8] == b"keepword"
        assert bytes(memory[:4]) == b"word"
        assert not first.walked

    play([program, target], NIC, size=SIZE)


def test_directories_are_used_again():
    def program(host):
        remote = host.remote
        allocated = len(host.bus.allocated())
        remote.conceal(host.exposure)
        for _ in range(3):
            exposure = remote.expose(host.address, host.size)
            assert exposure.walked
            remote.conceal(exposure)
        assert len(host.bus.allocated()) == allocated

    play([program], NIC, size=2 << 20)


def test_what_cannot_be_walked_is_refused():
    def program(host):
        with pytest.raises(UserError, match="257 entries do not fit into the adapter's page table: 254 of 256 entries"):
            host.remote.expose(host.address, 257 * 1024 * PAGE)
        with pytest.raises(UserError, match="an exposure ends before byte"):
            host.remote.expose(host.address, 1 << 32)

        def allocate(size, shared=False):
            raise UserError("no more")

        host.bus.allocate = allocate
        pinned = len(host.remote._pinned)
        with pytest.raises(BusError, match="no memory for the 2 directories of 1025 exposed pages: no more"):
            host.remote.expose(host.address, 1025 * PAGE)
        assert len(host.remote._pinned) == pinned

    play([program], NIC, size=PAGE)


# Several users of one adapter's command buffers: each sees its own commands end.

COMMAND = Command(Op.WRITE, Token_opened(1, 0, 0, 0, 8), 0, 8)


class Ending:
    """`Commands` of which all that run end at the next look."""

    def __init__(self):
        self.running = self.under_way = []

    def start(self, command, what):
        self.running.append(RemoteOperation(what))
        return self.running[-1]

    def take_ended(self):
        ended = [*self.running]
        self.running.clear()
        return ended


def test_whoever_looks_leaves_the_ends_of_others_to_them():
    commands, owners = Ending(), {}
    messages, windows = (CommandShare(commands, owners) for _ in range(2))
    begun = [share.start(COMMAND, "test") for share in (messages, windows, messages, windows)]
    assert messages.take_ended() == begun[0::2]
    assert list(windows.ended) == begun[1::2]  # so a device that would sleep looks again
    assert messages.take_ended() == []
    assert windows.take_ended() == begun[1::2]
    assert not windows.ended
    assert not owners
