"""The ranks' processes as the scheduler sees them: sockets, who runs and who waits, requests in order of rank."""

import selectors
import socket
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lanai_host.bus import Wait
from lanai_host.protocol import HEADER, Op, Status

from .kernel import Kernel, Suspension

CHUNK = 1 << 18
BLOCKING = Op.POSTED_LAST


class Request(NamedTuple):
    """One frame from a rank. `elapsed` is host work in picoseconds since the frame before."""

    op: int
    elapsed: int
    payload: bytes


class Rank:
    """One process. `clock` is its host time; `why` what it waits for; `finalized` once it has left the simulation."""

    def __init__(self, number: int, sock: socket.socket) -> None:
        self.number = number
        self.sock = sock
        self.pid = 0
        self.clock = 0
        self.running = True
        self.connected = False  # has said HELLO
        self.finalized = False
        self.gone = False  # nothing will come from it any more
        self.op: int | None = None
        self.why: Wait | None = None
        self.pending: Suspension[list[Request]] | None = None
        self._bytes = bytearray()
        self._requests: list[Request] = []
        self._wanted = HEADER.size

    def answer(self, payload: bytes = b"", status: int = Status.OK) -> None:
        """End the rank's blocking request; its process runs from now on."""
        self.running = True
        self.why = None
        try:
            self.sock.sendall(HEADER.pack(len(payload), status, 0, self.clock) + payload)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it died; the launcher tells

    def read(self) -> list[Request] | None:
        """Take what has come. The requests up to a blocking one, once there is one; None while there is not."""
        buffer = self._bytes
        while True:
            try:
                chunk = self.sock.recv(CHUNK, socket.MSG_DONTWAIT)
            except (BlockingIOError, InterruptedError):
                return None
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                self.gone = True
                return None
            buffer += chunk
            if len(buffer) < self._wanted:
                continue
            if self._parse(buffer):
                requests, self._requests = self._requests, []
                return requests

    def _parse(self, buffer: bytearray) -> bool:
        position = 0
        found = False
        while len(buffer) - position >= HEADER.size:
            size, op, _, elapsed = HEADER.unpack_from(buffer, position)
            end = position + HEADER.size + size
            if end > len(buffer):
                self._wanted = end - position
                break
            self._requests.append(Request(op, elapsed, bytes(buffer[position + HEADER.size : end])))
            position = end
            self._wanted = HEADER.size
            if op > BLOCKING:
                found = True
        del buffer[:position]
        return found


class Ranks:
    """All ranks of a run, as the scheduler's `Outside`. `on_quiet` is called about ten times a second while waiting for
    processes: the launcher looks after exits there, and may raise to end the run."""

    def __init__(self, kernel: Kernel, socks: list[socket.socket], on_quiet: Callable[[], None]) -> None:
        self.kernel = kernel
        self.ranks = [Rank(number, sock) for number, sock in enumerate(socks)]
        self.running = 0
        self.on_quiet = on_quiet
        self._selector = selectors.EpollSelector()
        for rank in self.ranks:
            self._selector.register(rank.sock, selectors.EVENT_READ, rank)
        self._ready: list[tuple[int, Suspension[list[Request]], list[Request]]] = []
        kernel.outside = self

    def __iter__(self) -> Iterator[Rank]:
        return iter(self.ranks)

    def requests(self, rank: Rank) -> Suspension[list[Request]]:
        """Suspend a task until the rank, which now runs, has asked for something that blocks it."""
        suspension: Suspension[list[Request]] = self.kernel.suspension()
        rank.pending = suspension
        self.running += 1
        return suspension

    def leave(self, rank: Rank) -> None:
        """The rank takes no part any more: nobody waits for its code."""
        if not rank.gone:
            self._selector.unregister(rank.sock)
        rank.gone = True

    def drop(self, rank: Rank) -> None:
        """The rank's process has ended; whoever waits for its requests gets none."""
        if not rank.gone:
            self._selector.unregister(rank.sock)
        rank.gone = True
        if rank.pending is not None:
            self._finish(rank, [])

    def wait(self) -> None:
        while self.running:
            events = self._selector.select(0.1)
            if not events:
                self.on_quiet()
            for key, _ in events:
                rank: Rank = key.data
                requests = rank.read()
                if requests is not None:
                    self._finish(rank, requests)
                elif rank.gone:
                    self._selector.unregister(rank.sock)
                    self.on_quiet()
        ready, self._ready = self._ready, []
        if len(ready) > 1:
            ready.sort(key=lambda entry: entry[0])
        for _, suspension, requests in ready:
            suspension.resume(requests)

    def _finish(self, rank: Rank, requests: list[Request]) -> None:
        assert rank.pending is not None
        self._ready.append((rank.number, rank.pending, requests))
        rank.pending = None
        rank.running = False
        self.running -= 1

    def close(self) -> None:
        self._selector.close()
        for rank in self.ranks:
            rank.sock.close()
