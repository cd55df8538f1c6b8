"""`Bus` over a serial line: the driver on a real board, or in the simulation of the very top that a
board carries.

The NIC's end is `lanai_hdl.uart.FrameBridge`. Memory that the NIC masters is served frame by frame
while this side waits for anything at all, and whenever it catches up, so a transfer moves only while
the program is inside a call of the bus."""

import ctypes
import errno
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lanai_hdl.machine import host_offset
from lanai_hdl.uart.bridge import UNANSWERED
from lanai_hdl.uart.frame import HEAD_BYTES, MOST_WORDS, Frame, FrameKind, size_of

from ..errors import UserError
from ..operation import Wait
from .base import PAGE_SIZE, Bus, BusError, HostBuffer, Pinned, Watched, changed, window_of, words_of

PIECE = 4
QUIET = 0.1  # seconds of silence after which nothing of before is on the line
SILENCE = 5.0  # seconds in which a board answers; after as many without a frame it is asked


class SerialLine(ABC):
    """Bytes to and from the bridge."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send `data`; may return before it has left."""

    @abstractmethod
    def read(self, size: int) -> bytes:
        """Exactly `size` bytes, as soon as they are there. BusError if the line stays silent too
        long."""

    @abstractmethod
    def poll(self, seconds: float) -> bool:
        """Wait for a byte, so many seconds at most. Return whether there is one."""

    def close(self) -> None:
        """Give the line up."""
        return None

    @property
    def seconds(self) -> float:
        """The board's time."""
        return time.monotonic()


def check_port(path: str) -> None:
    """Raise UserError for a serial port that is not there. It is not opened: a board behind a URL may take that for
    the end of a program."""
    if "://" not in path:
        try:
            os.stat(path)
        except OSError as error:
            raise UserError(f"cannot open serial port {path!r}: {error.strerror}; name the board's port") from error


class SerialPort(SerialLine):
    """A serial device of this machine, 8N1, blocking, or a URL of pyserial, such as
    rfc2217://host:port. `silence` seconds without an awaited byte are an error. What the board sent to a
    program before this one is thrown away."""

    def __init__(self, path: str | Path, baud: int, silence: float = SILENCE) -> None:
        try:
            import serial
        except ModuleNotFoundError:
            raise UserError("a board's serial port needs pyserial: pip install 'openlanai[board]'") from None
        try:
            self._port = serial.serial_for_url(str(path), baudrate=baud, timeout=QUIET, exclusive=True)
        except ValueError as error:
            raise UserError(f"serial port {str(path)!r}, baud rate {baud}: {error}") from error
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            if error.errno in (errno.EAGAIN, errno.EBUSY):
                reason = "another program has it open"
            raise UserError(f"cannot open serial port {str(path)!r}: {reason}; name the board's port") from error
        while self._port.read(4096):
            pass
        self._port.timeout = self.silence = silence
        self._early = b""  # bytes that `poll` has found

    def write(self, data: bytes) -> None:
        self._port.write(data)

    def poll(self, seconds: float) -> bool:
        if not self._early:
            self._port.timeout = seconds
            self._early = self._port.read(1)
            self._port.timeout = self.silence
        return bool(self._early)

    def arrived(self) -> bytes:
        """Return the bytes that have come, without waiting."""
        found, self._early = self._early, b""
        waiting = self._port.in_waiting
        return found + self._port.read(waiting) if waiting else found

    def read(self, size: int) -> bytes:
        got, self._early = self._early, b""
        while len(got) < size:
            more = self._port.read(max(1, min(size - len(got), self._port.in_waiting)))
            if not more:
                raise BusError(
                    f"the board said nothing for {self.silence} s; is it running a NIC bitstream at this baud rate?"
                )
            got += more
        return got

    def close(self) -> None:
        self._port.close()


@dataclass(frozen=True)
class _Page:
    """One bus page: where its bytes are in this process, and which of them the NIC may reach."""

    address: int
    first: int
    last: int
    writable: bool


class SerialBus(Bus):
    """A `Bus` whose NIC is at the other end of `line`. `now` is this machine's clock: a board's
    time cannot be stopped. Its memory is in the window of the `local_rank`-th rank on the NIC."""

    def __init__(self, line: SerialLine, local_rank: int = 0) -> None:
        self.line = line
        self._pages: dict[int, _Page] = {}
        self._next = window_of(local_rank)
        self._kept: list[object] = []
        self._token = 0
        self.interrupts = 0  # how often the NIC's irq has risen

    @property
    def now(self) -> int:
        return time.monotonic_ns() * 1000

    def read(self, offset: int) -> int:
        return int.from_bytes(self._read_words([(offset, 1)]), "big")

    def write(self, offset: int, value: int) -> None:
        self.line.write(Frame.single(FrameKind.PIO_WRITE, offset, value & 0xFFFFFFFF).to_bytes())

    def write_block(self, offset: int, data: bytes) -> None:
        lead = -offset % PIECE
        body = lead + (len(data) - lead) // PIECE * PIECE
        frames = [self._part(offset, data[:lead])] if data[:lead] else []
        for at in range(lead, body, PIECE * MOST_WORDS):
            frames.append(Frame(FrameKind.PIO_WRITE, offset + at, data[at : min(body, at + PIECE * MOST_WORDS)]))
        if lead <= body < len(data):
            frames.append(self._part(offset + body, data[body:]))
        self.line.write(b"".join(frame.to_bytes() for frame in frames))

    @staticmethod
    def _part(offset: int, data: bytes) -> Frame:
        """A write of bytes within a word."""
        lane = offset % PIECE
        word = (bytes(lane) + data).ljust(PIECE, b"\0")
        enables = sum(8 >> n for n in range(lane, lane + len(data)))
        return Frame(FrameKind.PIO_WRITE, offset - lane, word, enables)

    def read_block(self, offset: int, size: int) -> bytes:
        first = offset - offset % PIECE
        words = -(-(offset + size - first) // PIECE)
        pieces = [(first + PIECE * at, min(MOST_WORDS, words - at)) for at in range(0, words, MOST_WORDS)]
        return self._read_words(pieces)[offset - first :][:size]

    def _read_words(self, pieces: Sequence[tuple[int, int]]) -> bytes:
        """Read runs of words, each an offset and a number. The board has UNANSWERED questions at once, so that it need
        not wait for the next one."""
        found, asked = list[bytes](), 0
        while len(found) < len(pieces):
            more = pieces[asked : len(found) + UNANSWERED]
            if more:
                frames = [Frame(FrameKind.PIO_READ, offset, asked=count) for offset, count in more]
                self.line.write(b"".join(frame.to_bytes() for frame in frames))
                asked += len(more)
            frame = self._next_frame()
            if frame is not None:
                found.append(frame.data)
        return b"".join(found)

    def forget_accesses(self) -> None:
        """Serve what the NIC sent before the reset, and answer an access that it may still wait for.

        The answer to the read comes after all that the NIC had sent. The NIC may wait for one more answer: its request
        went to a program that was ended, or was damaged. A NIC that does not wait drops the frame.
        """
        self.read(host_offset("ID"))
        self.line.write(Frame(FrameKind.MEMORY_REFUSED).to_bytes())

    def allocate(self, size: int, shared: bool = False) -> HostBuffer:
        size = -(-size // PAGE_SIZE) * PAGE_SIZE
        store = (ctypes.c_ubyte * size)()
        self._kept.append(store)
        pages = self._map(ctypes.addressof(store), size, writable=True, contiguous=True)
        return HostBuffer(pages[0], memoryview(store).cast("B"))

    def pin(self, address: int, size: int, writable: bool) -> Pinned:
        self._token += 1
        return Pinned(address, size, writable, tuple(self._map(address, size, writable)), self._token)

    def unpin(self, pinned: Pinned) -> None:
        for page in pinned.pages:
            self._pages.pop(page // PAGE_SIZE, None)

    def wait_any(self, watched: Sequence[Watched], why: Wait | None = None, timeout: int = 0) -> int | None:
        """A peer may be silent for as long as it likes, and so may the NIC. After SILENCE the board is asked whether it
        is there."""
        words_of(watched)
        until = self.now + timeout
        while (place := changed(watched)) is None and not (timeout and self.now >= until):
            left = (until - self.now) / 1e12 if timeout else SILENCE
            if self.line.poll(max(0.0, min(left, SILENCE))):
                self._next_frame()
            elif left >= SILENCE:
                self.read(host_offset("ID"))
        return place

    def elapse(self, picoseconds: int) -> None:
        """Serve what has come. Host work takes the time it takes here."""
        while self.line.poll(0.0):
            self._next_frame()

    def _map(self, address: int, size: int, writable: bool, contiguous: bool = False) -> list[int]:
        """Bus pages for a range of this process. A fresh allocation need not be page aligned here:
        its pages are cut from it."""
        pages = []
        at = address if contiguous else address - address % PAGE_SIZE
        while at < address + size:
            first, last = max(at, address), min(at + PAGE_SIZE, address + size)
            self._pages[self._next // PAGE_SIZE] = _Page(at, first, last, writable)
            pages.append(self._next)
            self._next += PAGE_SIZE
            at += PAGE_SIZE
        return pages

    def _next_frame(self) -> Frame | None:
        """Take one frame from the NIC. Memory accesses are served; the data of a PIO read is
        returned."""
        head = self.line.read(HEAD_BYTES)
        rest = size_of(head) - HEAD_BYTES
        frame = Frame.from_bytes(head + (self.line.read(rest) if rest else b""))
        if frame.kind is FrameKind.PIO_DATA:
            return frame
        if frame.kind is FrameKind.INTERRUPT:
            self.interrupts += 1
            return None
        self.line.write(self._serve(frame).to_bytes())
        return None

    def _serve(self, frame: Frame) -> Frame:
        """Answer an access of the NIC to words of one page; if any of them is outside what is pinned, or is written
        and not writable, all are refused."""
        page = self._pages.get(frame.addr // PAGE_SIZE)
        refused = Frame(FrameKind.MEMORY_REFUSED)
        if page is None:
            return refused
        at = page.address + frame.addr % PAGE_SIZE
        end = at + PIECE * frame.count
        if frame.kind is FrameKind.MEMORY_READ:
            if at + PIECE <= page.first or end - PIECE >= page.last:
                return refused
            first, last = max(at, page.first), min(end, page.last)
            inside = ctypes.string_at(first, last - first)
            return Frame(FrameKind.MEMORY_ANSWER, data=bytes(first - at) + inside + bytes(end - last))
        lanes = [lane for lane in range(PIECE) if frame.be >> (3 - lane) & 1]
        if not page.writable or (lanes and not (page.first <= at + lanes[0] and end - PIECE + lanes[-1] < page.last)):
            return refused
        if frame.be == 0xF:
            ctypes.memmove(at, frame.data, PIECE * frame.count)
        else:
            for word in range(0, PIECE * frame.count, PIECE):
                for lane in lanes:
                    ctypes.c_ubyte.from_address(at + word + lane).value = frame.data[word + lane]
        return Frame(FrameKind.MEMORY_ANSWER)
