"""The serial bus against a NIC played by the test: frames in, frames out, and nothing outside
pinned memory."""

import asyncio
import ctypes
import os
import sys
import tty

import pytest

from lanai_hdl.machine import host_offset
from lanai_hdl.uart.frame import MOST_WORDS, Frame, FrameKind, whole_frames
from lanai_host.bus.base import PAGE_SIZE, BusError, window_of
from lanai_host.bus.greenlets import run_in_greenlet, wait_for
from lanai_host.bus.serial import SILENCE, SerialBus, SerialLine, SerialPort
from lanai_host.errors import UserError
from lanai_host.stacks.loader import reset

SEVEN = (7).to_bytes(4, "big")


class Nic(SerialLine):
    """The far end: a window of bytes, and memory accesses that it makes before it answers."""

    def __init__(self):
        self.window = bytearray(64)
        self.to_host = bytearray()
        self.answers = []
        self.asked = []  # words of each read
        self.polls = 0

    def access(self, kind, addr, data=b"", be=0xF, asked=0):
        self.to_host += Frame(kind, addr, data, be, asked).to_bytes()

    def write(self, data):
        line = bytearray(data)
        for frame in whole_frames(line):
            if frame.kind is FrameKind.PIO_READ:
                self.asked.append(frame.count)
                size = 4 * frame.count
                self.access(
                    FrameKind.PIO_DATA, 0, bytes(self.window[frame.addr : frame.addr + size]).ljust(size, b"\0")
                )
            elif frame.kind is FrameKind.PIO_WRITE:
                for n, byte in enumerate(frame.data):
                    if frame.be >> (3 - n % 4) & 1:
                        self.window[frame.addr + n] = byte
            else:
                self.answers.append((frame.kind, frame.data))
        assert not line

    def poll(self, seconds):
        self.polls += 1
        return bool(self.to_host)

    def read(self, size):
        assert len(self.to_host) >= size, "the bus waits for a frame that will never come"
        data = bytes(self.to_host[:size])
        del self.to_host[:size]
        return data


@pytest.fixture
def nic():
    return Nic()


@pytest.mark.parametrize(("offset", "data"), [(0, b"abcd"), (1, b"xyz"), (6, b"0123456789"), (3, b"!"), (9, b"")])
def test_blocks_of_any_alignment(nic, offset, data):
    bus = SerialBus(nic)
    nic.window[:] = b"." * 64
    bus.write_block(offset, data)
    assert nic.window == (b"." * offset + data).ljust(64, b".")
    assert bus.read_block(offset, len(data)) == data


def test_a_long_block_goes_in_the_largest_frames(nic):
    bus, data = SerialBus(nic), bytes(range(251)) * 20
    nic.window = bytearray(len(data) + 9)
    bus.write_block(3, data)
    assert nic.window[3:-6] == data
    assert bus.read_block(3, len(data)) == data
    assert nic.asked == [MOST_WORDS] * 19 + [40]


def test_words_are_big_endian(nic):
    bus = SerialBus(nic)
    bus.write(8, 0x11223344)
    assert nic.window[8:12] == bytes.fromhex("11223344")
    assert bus.read(8) == 0x11223344


def test_memory_is_served_while_a_read_waits(nic):
    bus = SerialBus(nic)
    buffer = bus.allocate(10)
    buffer.view[0:4] = b"WORD"
    nic.access(FrameKind.MEMORY_READ, buffer.bus_address, asked=1)
    nic.access(FrameKind.MEMORY_WRITE, buffer.bus_address + 4, b"ABCD", 0b0110)
    assert bus.read(0) == 0
    assert nic.answers == [(FrameKind.MEMORY_ANSWER, b"WORD"), (FrameKind.MEMORY_ANSWER, b"")]
    assert bytes(buffer.view[4:8]) == b"\0BC\0"


def test_wait_change_ends_with_the_write(nic):
    bus = SerialBus(nic)
    buffer = bus.allocate(4096)
    nic.access(FrameKind.MEMORY_WRITE, buffer.bus_address + 8, SEVEN)
    assert bus.wait_change(buffer, 8, 0) == 7


def test_a_poll_serves_what_has_come(nic):
    """A loop of MPI_Test only catches up."""
    bus = SerialBus(nic)
    buffer = bus.allocate(4096)
    nic.access(FrameKind.MEMORY_WRITE, buffer.bus_address, SEVEN)
    bus.catch_up()
    assert buffer.view[3] == 7
    assert not nic.to_host


def test_a_wait_outlasts_silence_and_ends_with_its_timeout(nic):
    nic.window = bytearray(host_offset("ID") + 4)
    bus, asked = SerialBus(nic), []

    def poll(seconds):
        if len(asked) == 3:
            nic.access(FrameKind.MEMORY_WRITE, buffer.bus_address, SEVEN)
        asked.append(seconds)
        return bool(nic.to_host)

    nic.poll = poll
    buffer = bus.allocate(4096)
    assert bus.wait_change(buffer, 0, 0) == 7
    assert asked == [SILENCE] * 4
    del nic.poll
    assert bus.wait_change(buffer, 0, 7, timeout=10**9) == 7


def test_memory_begins_where_the_rank_s_window_does(nic):
    assert [SerialBus(nic, rank).allocate(1).bus_address for rank in range(2)] == [window_of(0), window_of(1)]


@pytest.mark.parametrize("kind", [FrameKind.MEMORY_READ, FrameKind.MEMORY_WRITE])
def test_unpinned_memory_is_refused(nic, kind):
    bus = SerialBus(nic)
    store = ctypes.create_string_buffer(b"\x55" * 12, 12)
    address = ctypes.addressof(store)
    pinned = bus.pin(address, 8, writable=True)
    inside, outside = pinned.bus_address(address), pinned.bus_address(address) + 8
    words = {"data": bytes(4)} if kind is FrameKind.MEMORY_WRITE else {"asked": 1}
    nic.access(kind, inside - inside % 4, be=0xF if inside % 4 == 0 else 0, **words)
    nic.access(kind, -(-outside // 4) * 4, **words)
    bus.read(0)
    assert nic.answers[0][0] is FrameKind.MEMORY_ANSWER
    assert nic.answers[1][0] is FrameKind.MEMORY_REFUSED
    bus.unpin(pinned)
    nic.access(kind, inside - inside % 4, **words)
    bus.read(0)
    assert nic.answers[2][0] is FrameKind.MEMORY_REFUSED
    assert store.raw[8:] == b"\x55" * 4


def test_read_only_memory_is_not_written(nic):
    bus = SerialBus(nic)
    store = ctypes.create_string_buffer(b"\x55" * 8, 8)
    pinned = bus.pin(ctypes.addressof(store), 8, writable=False)
    nic.access(FrameKind.MEMORY_WRITE, pinned.bus_address(ctypes.addressof(store)) & ~3, bytes(4))
    bus.read(0)
    assert nic.answers == [(FrameKind.MEMORY_REFUSED, b"")]
    assert store.raw == b"\x55" * 8


@pytest.mark.parametrize(("first", "count", "good"), [(0, 8, True), (4, 4, True), (4, 8, False), (-1, 2, False)])
def test_all_words_of_a_frame_or_none(nic, first, count, good):
    bus = SerialBus(nic)
    store = ctypes.create_string_buffer(2 * PAGE_SIZE)
    start = -(-ctypes.addressof(store) // PAGE_SIZE) * PAGE_SIZE + 8
    pinned = bus.pin(start, 32, writable=True)
    at, data = pinned.bus_address(start) + 4 * first, bytes(range(1, 4 * count + 1))
    nic.access(FrameKind.MEMORY_WRITE, at, data)
    nic.access(FrameKind.MEMORY_READ, at, asked=count)
    bus.read(0)
    right = [(FrameKind.MEMORY_ANSWER, b""), (FrameKind.MEMORY_ANSWER, data)]
    assert nic.answers == (right if good else [(FrameKind.MEMORY_REFUSED, b"")] * 2)
    assert ctypes.string_at(start + 4 * first, 4 * count) == (data if good else bytes(4 * count))


def test_after_a_reset_no_access_waits_for_an_answer(nic):
    """One may have gone to a program that is no more."""
    nic.window = bytearray(host_offset("CONTROL") + 64)
    nic.access(FrameKind.MEMORY_READ, 0x8000, asked=1)
    reset(SerialBus(nic))
    assert nic.answers == [(FrameKind.MEMORY_REFUSED, b"")] * 2
    assert not nic.to_host


def test_a_port_begins_without_the_bytes_of_a_program_before():
    board, port = os.openpty()
    tty.setraw(port)
    os.write(board, b"half a fram")
    line = SerialPort(os.ttyname(port), 115200)
    os.write(board, b"fresh")
    assert line.read(5) == b"fresh"
    line.close()
    os.close(port)
    os.close(board)


def test_port_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match="no-such-port"):
        SerialPort(tmp_path / "no-such-port", 115200)


def test_impossible_baud_rate_is_quoted(tmp_path):
    with pytest.raises(UserError, match="baud rate -5"):
        SerialPort(tmp_path, -5)


def test_a_port_may_be_a_url():
    line = SerialPort("loop://", 115200, silence=0.1)
    line.write(b"there and back")
    assert line.read(14) == b"there and back"
    with pytest.raises(BusError, match="said nothing for"):
        line.read(1)
    line.close()


def test_without_pyserial_it_is_said_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(UserError, match=r"pip install 'openlanai\[board\]'"):
        SerialPort(tmp_path, 115200)


# Host programs in greenlets.


def run(program, *arguments):
    return asyncio.run(run_in_greenlet(program, *arguments))


async def failing():
    await asyncio.sleep(0)
    raise ValueError("lost")


def test_a_program_gives_its_result():
    def program(first, second):
        return first + wait_for(asyncio.sleep(0, second))

    assert run(program, 1, 2) == 3
    assert run(lambda: 4) == 4


def test_programs_take_turns():
    steps = []

    def program(name):
        for step in range(3):
            steps.append((step, name))
            wait_for(asyncio.sleep(0))
        return name

    async def both():
        return await asyncio.gather(run_in_greenlet(program, "a"), run_in_greenlet(program, "b"))

    assert asyncio.run(both()) == ["a", "b"]
    assert steps == [(step, name) for step in range(3) for name in "ab"]


def test_a_program_sees_what_its_wait_raises():
    def program():
        with pytest.raises(ValueError, match="lost"):
            wait_for(failing())
        return "went on"

    assert run(program) == "went on"


def test_what_a_program_raises_comes_out():
    with pytest.raises(ValueError, match="lost"):
        run(lambda: wait_for(failing()))
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 / 0)


def test_a_program_that_is_given_up_cleans_up():
    cleaned = []

    def program():
        try:
            wait_for(asyncio.sleep(0))
        finally:
            cleaned.append(True)

    started = run_in_greenlet(program)
    started.send(None)
    started.close()
    assert cleaned == [True]


def test_a_wait_outside_of_a_host_is_refused():
    with pytest.raises(RuntimeError, match="run the program by `run_in_greenlet`"):
        wait_for(asyncio.sleep(0))
