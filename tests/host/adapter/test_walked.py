"""Exposures with more pages than the adapter's page table has entries: walked, by the driver's
choice."""

import ctypes

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Atomic
from lanai_host.adapter import RemoteError
from lanai_host.bus.base import BusError
from lanai_sim.studies.remote_hosts import play

NIC = lanai41().but(blocks=(Remote(),))
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
