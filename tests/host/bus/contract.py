"""The contract of every `Bus`. A test class inherits these cases and provides a bus for a program."""

import ctypes
from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path

import pytest

from lanai_firmware.compiler import build
from lanai_hdl.config import lanai41
from lanai_hdl.machine import SRAM_HOST, Control, host_offset
from lanai_host.bus.base import PAGE_SIZE, BusError, KnownPoll, Slept, Watched

MICROSECOND = 1_000_000  # picoseconds
NIC = lanai41()
PLACE = SRAM_HOST + 0x4000  # SRAM that no program uses


@cache
def image(config):
    return build(Path(__file__).with_name("copier.py"), config)


class Memory:
    """Memory of this process at some offset in its page."""

    def __init__(self, size, offset=0):
        self.store = ctypes.create_string_buffer(size + 2 * PAGE_SIZE)
        self.address = -(-ctypes.addressof(self.store) // PAGE_SIZE) * PAGE_SIZE + offset
        self.size = size

    @property
    def data(self):
        return ctypes.string_at(self.address, self.size)

    @data.setter
    def data(self, data):
        ctypes.memmove(self.address, data, len(data))


class Copier:
    """The NIC with its firmware, which moves bytes in host memory."""

    def __init__(self, bus):
        self.bus = bus
        self.copied = 0

    @classmethod
    def start(cls, bus, config):
        made = image(config)
        bus.write(host_offset("CONTROL"), 0)
        bus.write_block(SRAM_HOST + made.base, made.loaded)
        for number in (4, 5):
            bus.write(host_offset(f"SCRATCH{number}"), 0)
        bus.write(host_offset("CONTROL"), int(Control.RUN))
        return cls(bus)

    def begin(self, source, size, target):
        for number, value in {1: source, 2: size, 3: target}.items():
            self.bus.write(host_offset(f"SCRATCH{number}"), value)
        self.bus.write(host_offset("DOORBELL"), 1)
        self.copied += 1

    def copy(self, source, size, target):
        """Transfers that were refused."""
        before = self.bus.read(host_offset("SCRATCH5"))
        self.begin(source, size, target)
        while self.bus.read(host_offset("SCRATCH4")) != self.copied:
            self.bus.elapse(MICROSECOND)
        return self.bus.read(host_offset("SCRATCH5")) - before


class BusContract(ABC):
    implementation: type
    config = NIC
    timed = True  # its time is simulated, so that waits can end for it

    @abstractmethod
    def run(self, program):
        """Run a coroutine function on a bus to a NIC that has just been reset."""

    def run_copier(self, program):
        def started(bus):
            program(bus, Copier.start(bus, self.config))

        self.run(started)

    def test_blocks_of_any_alignment_reach_the_nic(self):
        def program(bus):
            expected = bytearray(b"." * 32)
            bus.write_block(PLACE, bytes(expected))
            for offset, data in ((0, b"abcd"), (5, b"xyz"), (10, b"0123456789"), (23, b"!"), (31, b"")):
                bus.write_block(PLACE + offset, data)
                expected[offset : offset + len(data)] = data
            assert bus.read_block(PLACE, 32) == expected
            assert bus.read_block(PLACE + 7, 11) == expected[7:18]

        self.run(program)

    def test_words_are_big_endian_and_writes_arrive_in_order(self):
        def program(bus):
            assert type(bus) is self.implementation
            for value in (1, 2, 0x11223344):
                bus.write(PLACE, value)
            assert bus.read(PLACE) == 0x11223344
            assert bus.read_block(PLACE, 4) == bytes.fromhex("11223344")

        self.run(program)

    def test_allocated_memory_is_zeroed_whole_pages_that_the_nic_sees_in_a_row(self):
        def program(bus, nic):
            first, second = bus.allocate(PAGE_SIZE + 1), bus.allocate(8)
            assert (first.size, second.size) == (2 * PAGE_SIZE, PAGE_SIZE)
            assert not any(first.view)
            assert first.bus_address % PAGE_SIZE == second.bus_address % PAGE_SIZE == 0
            first.view[:64] = bytes(range(64))
            edge = PAGE_SIZE - 32
            assert nic.copy(first.bus_address, 64, first.bus_address + edge) == 0
            assert bytes(first.view[edge : edge + 64]) == bytes(range(64))
            assert nic.copy(first.bus_address + edge, 64, second.bus_address) == 0
            assert bytes(second.view[:64]) == bytes(range(64))

        self.run_copier(program)

    def test_memory_that_is_not_shared_cannot_be_stored_to(self):
        def program(bus):
            buffer = bus.allocate(8)
            with pytest.raises(BusError, match=f"bus address {buffer.bus_address:#x}"):
                bus.store(buffer.bus_address, b"abcd")
            assert not any(buffer.view)

        self.run(program)

    def test_the_nic_reaches_pinned_memory_and_nothing_else(self):
        def program(bus, nic):
            memory, text = Memory(200, 100), bytes(range(200))
            memory.data = text
            source = bus.pin(memory.address, 200, False)
            room = Memory(64, PAGE_SIZE - 32)
            target = bus.pin(room.address, 64, True)
            assert (len(source.pages), len(target.pages)) == (1, 2)
            there = target.bus_address(room.address)
            assert nic.copy(source.bus_address(memory.address + 40), 32, there) == 0
            assert room.data == text[40:72] + bytes(32)
            end = target.bus_address(room.address + 32)
            assert nic.copy(source.bus_address(memory.address), 32, end) == 0
            assert room.data == text[40:72] + text[:32]
            assert nic.copy(there, 16, source.bus_address(memory.address)) == 1  # not writable
            assert memory.data == text
            bus.unpin(target)
            assert nic.copy(source.bus_address(memory.address + 80), 16, there) == 1
            assert room.data == text[40:72] + text[:32]
            with pytest.raises(
                ValueError, match=f"address {memory.address + 2 * PAGE_SIZE:#x} is outside the pinned range"
            ):
                source.bus_address(memory.address + 2 * PAGE_SIZE)

        self.run_copier(program)

    def test_a_wait_ends_with_the_first_word_that_changes(self):
        def program(bus, nic):
            source, watched = bus.allocate(64), bus.allocate(64)
            source.view[:4] = b"news"
            words = [Watched(watched, 0, bytes(4)), Watched(watched, 16, bytes(12)), Watched(watched, 40, bytes(4))]
            nic.begin(source.bus_address, 4, watched.bus_address + 24)
            assert bus.wait_any(words) == 1
            assert bytes(words[1].now) == bytes(8) + b"news"
            assert bus.wait_any(words) == 1  # what has changed already ends a wait at once
            nic.begin(source.bus_address, 4, watched.bus_address)
            assert bus.wait_change(watched, 0, 0) == int.from_bytes(b"news", "big")
            assert bus.wait_any(words) == 0

        self.run_copier(program)

    def test_what_cannot_be_waited_for_is_refused(self):
        def program(bus):
            buffer = bus.allocate(8)
            for watched, text in (
                ([(2, 4)], "4 bytes at 2 of a buffer of 4096 cannot be waited for"),
                ([(0, 4), (8, 6)], "6 bytes at 8 of a buffer of 4096"),
                ([(4, 0)], "0 bytes at 4 of a buffer of 4096"),
                ([(4092, 8)], "8 bytes at 4092 of a buffer of 4096"),
                ([(-4, 4)], "4 bytes at -4 of a buffer of 4096"),
                ([], "a wait needs a word to wait for"),
            ):
                with pytest.raises(ValueError, match=text):
                    bus.wait_any([Watched(buffer, offset, bytes(size)) for offset, size in watched], None, 1)

        self.run(program)

    def test_a_wait_ends_when_its_time_is_up(self):
        if not self.timed:
            pytest.skip("its time is this machine's")

        def program(bus):
            buffer = bus.allocate(64)
            words = [Watched(buffer, 0, bytes(8)), Watched(buffer, 32, bytes(4))]
            before = bus.now
            assert bus.wait_any(words, timeout=3 * MICROSECOND) is None
            assert 3 * MICROSECOND <= bus.now - before < 4 * MICROSECOND
            before = bus.now
            assert bus.wait_change(buffer, 4, 0, timeout=MICROSECOND) == 0
            assert MICROSECOND <= bus.now - before < 2 * MICROSECOND

        self.run(program)

    def test_a_poll_that_finds_nothing_takes_its_time_and_sleeps(self):
        if not self.timed:
            pytest.skip("its time is this machine's")

        def program(bus):
            buffer = bus.allocate(64)
            words = [Watched(buffer, 0, bytes(8)), Watched(buffer, 32, bytes(4))]
            before = bus.now
            slept = bus.look_and_wait(words, KnownPoll(2 * MICROSECOND), timeout=3 * MICROSECOND)
            if slept is not None:  # this bus does more than to catch up
                assert slept == Slept(waited=True, noted=False, changed=False, polls=1)
                assert 5 * MICROSECOND <= bus.now - before < 6 * MICROSECOND
            before = bus.now
            slept = bus.look_and_wait(words[1:], KnownPoll(2 * MICROSECOND, first=False), timeout=MICROSECOND)
            assert slept == Slept(waited=True, noted=False, changed=False)
            assert MICROSECOND <= bus.now - before < 2 * MICROSECOND
            before = bus.now
            buffer.view[35] = 1
            noting = KnownPoll(2 * MICROSECOND, 1, bytes([0, 0, 0, 1]), MICROSECOND)
            slept = bus.look_and_wait(words, noting, timeout=3 * MICROSECOND)
            assert slept in (None, Slept(waited=False, noted=False, changed=True))  # it is not for a poll to note
            assert bus.now - before < MICROSECOND
            before = bus.now
            decided = KnownPoll(2 * MICROSECOND, decisive=[Watched(buffer, 40, bytes(4))])
            slept = bus.look_and_wait(words, decided, timeout=3 * MICROSECOND)  # the change at 35 decides nothing
            if slept is not None:
                assert slept == Slept(waited=True, noted=False, changed=False, polls=1)
                assert 5 * MICROSECOND <= bus.now - before < 6 * MICROSECOND
            before = bus.now
            buffer.view[43] = 1
            slept = bus.look_and_wait(words, decided, timeout=3 * MICROSECOND)
            assert slept in (None, Slept(waited=False, noted=False, changed=True))
            assert bus.now - before < MICROSECOND

        self.run(program)

    def test_the_programs_own_work_takes_its_time_once_and_again(self):
        if not self.timed:
            pytest.skip("its time is this machine's")

        def program(bus):
            words = [Watched(bus.allocate(64), 0, bytes(4))]
            for _ in range(2):  # the second is not a wait for the same: it counts as work too
                before = bus.now
                bus.work(3 * MICROSECOND, words)
                assert 3 * MICROSECOND <= bus.now - before < 4 * MICROSECOND

        self.run(program)

    def test_host_work_takes_the_time_that_it_is_said_to_take(self):
        if not self.timed:
            pytest.skip("its time is this machine's")

        def program(bus):
            before = bus.now
            bus.elapse(5 * MICROSECOND)
            bus.catch_up()
            assert 5 * MICROSECOND <= bus.now - before < 6 * MICROSECOND

        self.run(program)
