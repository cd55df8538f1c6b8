"""The ranks' processes as the scheduler sees them: sockets, who runs and who waits, requests in
order of rank."""

import json
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from lanai_host.device import Envelope
from lanai_host.errors import UserError
from lanai_host.simulator.protocol import ABORT_TIMEOUT, HEADER, FinalState, Op, Status
from lanai_host.simulator.requests import COLLECT, STOPPED, split_wait_any
from lanai_host.simulator.spin import Chunk, SpinWait

from ..kernel.kernel import Kernel, Suspension
from .system_calls import waits_in

CHUNK = 1 << 16
POLL_SECONDS = 0.1  # seconds without a message from any rank after which the processes are checked
ASIDE_SECONDS = 0.005  # of real time between two looks at processes that wait outside the simulation
REPLY_SECONDS = 2.0  # of real time that ranks may take to say where they stand
_TIMEVAL = struct.Struct("@ll")
BLOCKING = Op.POSTED_LAST
FOREVER = float("inf")


class Request:
    """One frame from a rank. `elapsed` is host work in picoseconds since the frame before."""

    __slots__ = ("elapsed", "op", "payload")

    def __init__(self, op: int, elapsed: int, payload: bytes) -> None:
        self.op, self.elapsed, self.payload = op, elapsed, payload


def why_of(request: Request) -> bytes:
    """The wait record in a request; empty if it has none, or is cut short and will be refused."""
    with suppress(UserError):
        if request.op == Op.STOPPED:
            return STOPPED.split(request.payload)[1]
        if request.op == Op.COLLECT:
            return COLLECT.split(request.payload)[1]
        if request.op == Op.WAIT_ANY:
            return split_wait_any(request.payload)[2]
    return b""


class RankLog(Protocol):
    """Hears what passes between a rank and the simulator, once it is on its way."""

    def answered(self, frame: bytes) -> None: ...

    def asked(self, requests: list[Request]) -> None: ...


class Rank:
    """One process. `clock` is its host time; `why` what it waits for; `finalized` once it has left
    the simulation; `origin` what it is, if another process started it."""

    def __init__(self, number: int, sock: socket.socket) -> None:
        self.number = number
        self.log: RankLog | None = None
        self.restarts = 0  # how often its process was made anew
        self.pid = 0
        self.clock = 0
        self.pio = self.waited = 0  # picoseconds of it spent on PIO, and waiting for the NIC
        self.origin = ""
        self.running = True
        self.connected = False  # has said HELLO
        self.finalized = False
        self.placement: int | None = None  # what it said of its buffers when it left
        self.gone = False  # nothing will come from it any more
        self.op: int | None = None
        self.request: Request | None = None  # the one that it waits for
        self.pending: Suspension[list[Request]] | None = None
        self._chunk = Chunk(CHUNK)  # kept: a fresh one for each read would cost the kernel more than the read
        self._wait = SpinWait()
        self.connect(sock)

    def connect(self, sock: socket.socket) -> None:
        """Its process is at the other end of this socket, and has said nothing yet."""
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIMEVAL.pack(0, int(1e6 * POLL_SECONDS)))
        self.sock = sock
        self.gone = False
        self._bytes = bytearray()
        self._requests: list[Request] = []
        self._wanted = HEADER.size

    @property
    def why(self) -> bytes:
        """The wait record of the request that it is in."""
        return b"" if self.request is None else why_of(self.request)

    def answer(self, payload: bytes = b"", status: int = Status.OK) -> None:
        """End the rank's blocking request; its process runs from now on."""
        self.running = True
        self.request = None
        frame = HEADER.pack(len(payload), status, 0, self.clock) + payload
        if self.log is not None:
            self.log.answered(frame)
        with suppress(BrokenPipeError, ConnectionResetError):  # it died; the launcher tells
            self.sock.sendall(frame)

    def ask_final_state(self, on_nic: Sequence[Envelope]) -> None:
        """Ask where it stands. It waits, and has nothing else to say."""
        question = json.dumps(on_nic).encode()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.sock.sendall(HEADER.pack(len(question), Status.RUN_OVER, 0, self.clock) + question)

    def final_state(self, give_up: float) -> FinalState | None:
        """The reply; None if there is none by that time."""
        while not self._requests and not self.gone and time.monotonic() < give_up:
            self.read(0)
        replies = self.taken_replies()
        return FinalState.unpack(replies[0].payload) if replies else None

    def taken_replies(self) -> list[Request]:
        """What `read` has taken while no request that blocks has come."""
        replies, self._requests = self._requests, []
        return replies

    def read(self, flags: int = socket.MSG_DONTWAIT) -> list[Request] | None:
        """Take what has come. The requests up to a blocking one, once there is one; None while
        there is not. With no flags, wait for it up to `POLL_SECONDS`."""
        while True:
            try:
                looked = None if flags else self._wait.look(self.sock, self._chunk)
                got = self.sock.recv_into(self._chunk.view, 0, flags) if looked is None else looked
            except (BlockingIOError, InterruptedError):
                return None
            except ConnectionResetError:
                got = 0
            if not got:
                self.gone = True
                return None
            if self._bytes or got < self._wanted:
                self._bytes += self._chunk.view[:got]
                if len(self._bytes) < self._wanted:
                    continue
                data = bytes(self._bytes)
                self._bytes.clear()
            else:
                data = bytes(self._chunk.view[:got])
            if self._parse(data):
                requests, self._requests = self._requests, []
                return requests

    def _parse(self, data: bytes) -> bool:
        """Cut complete frames off what was read, and keep the rest; True if a blocking one is among
        them, which is then the last."""
        total = len(data)
        position, op = 0, 0
        self._wanted = HEADER.size
        while total - position >= HEADER.size:
            size, op, _, elapsed = HEADER.unpack_from(data, position)
            start = position + HEADER.size
            if start + size > total:
                self._wanted = start + size - position
                break
            position = start + size
            self._requests.append(Request(op, elapsed, data[start:position]))
        if position < total:
            self._bytes += data[position:]
        return bool(self._requests) and self._requests[-1].op > BLOCKING


class Ranks:
    """All ranks of a run, as the scheduler's `Outside`. `on_quiet` is called while nothing comes
    from processes that run code, about ten times a second: the launcher looks after exits there,
    and may raise to end the run. `at_once` says whether a rank's request is served
    though other ranks run code."""

    def __init__(
        self,
        kernel: Kernel,
        socks: list[socket.socket],
        on_quiet: Callable[[], None],
        at_once: Callable[[Rank, int], bool] = lambda rank, op: False,
    ) -> None:
        self.kernel = kernel
        self.ranks: list[Rank] = []
        self.running = 0
        self.aside: list[Rank] = []  # their processes wait outside the simulation, and time passes without them
        self.on_quiet = on_quiet
        self._at_once = at_once
        self._active: list[Rank] = []  # those whose code may run: a short list where there are many ranks
        self._selector = selectors.EpollSelector()
        for number, sock in enumerate(socks):
            self.add(sock, number)
        self._ready: list[tuple[int, Suspension[list[Request]], list[Request]]] = []
        self._give_up = FOREVER  # seconds of the clock: once a rank has aborted, the others are not waited for beyond
        kernel.outside = self

    def add(self, sock: socket.socket, number: int) -> Rank:
        """One more: with the next number, or that of a rank whose process has left."""
        rank = Rank(number, sock)
        self.ranks[number : number + 1] = [rank]
        self._selector.register(sock, selectors.EVENT_READ, rank)
        return rank

    def reconnect(self, rank: Rank, sock: socket.socket, pid: int) -> None:
        """The rank has a new process, which is where the one before was."""
        self._forget(rank)
        rank.connect(sock)
        rank.pid = pid
        self._selector.register(sock, selectors.EVENT_READ, rank)

    def __iter__(self) -> Iterator[Rank]:
        return iter(self.ranks)

    def requests(self, rank: Rank) -> Suspension[list[Request]]:
        """Suspend a task until the rank, which now runs, has asked for something that blocks it."""
        suspension: Suspension[list[Request]] = self.kernel.suspension()
        rank.pending = suspension
        self._active.append(rank)
        self.running += 1
        return suspension

    def leave(self, rank: Rank) -> None:
        """The rank's part is over, by its own word or because its process has ended. It makes no
        more requests."""
        rank.gone = True
        self._forget(rank)
        if rank.pending is not None:
            self.finish(rank, [])

    def _forget(self, rank: Rank) -> None:
        with suppress(KeyError, ValueError):  # ValueError: it is closed
            self._selector.unregister(rank.sock)

    def active(self) -> list[Rank]:
        """Those whose code may run."""
        return list(self._active)

    def set_aside(self, rank: Rank) -> None:
        """The rank's process waits for something that is no part of the simulation: time passes without
        it."""
        self._active.remove(rank)
        self.running -= 1
        self.aside.append(rank)

    def take_back(self) -> bool:
        """Ranks whose processes no longer wait there run code again, at the time that it is by now, or
        have asked for something already."""
        back = False
        for rank in list(self.aside):
            requests = rank.read()
            if requests is not None:
                self.finish(rank, requests)
            elif not waits_in(rank.pid):
                self._take_back(rank)
            back |= rank not in self.aside
        return back

    def _take_back(self, rank: Rank) -> None:
        self.aside.remove(rank)
        rank.clock = max(rank.clock, self.kernel.now)
        self._active.append(rank)
        self.running += 1

    def wait_aside(self) -> None:
        time.sleep(ASIDE_SECONDS)
        self.on_quiet()

    def wait(self) -> None:
        while (self.running or (self.aside and self.take_back())) and (
            self._give_up is FOREVER or time.monotonic() < self._give_up
        ):
            self.kernel.check()
            if self.running == 1:
                self._wait_for_one()
            else:
                self._wait_for_any()
        ready, self._ready = self._ready, []
        if len(ready) > 1:
            ready.sort(key=lambda entry: entry[0])
        for _, suspension, requests in ready:
            suspension.resume(requests)

    def _wait_for_one(self) -> None:
        """The usual case, one system call cheaper."""
        rank = self._active[0]
        requests = rank.read(0)
        if requests is not None:
            self.finish(rank, requests)
            return
        self.on_quiet()
        if rank.gone and rank.pending is not None:
            time.sleep(POLL_SECONDS / 10)  # its process closed the socket and goes on: see it end

    def _wait_for_any(self) -> None:
        events = self._selector.select(POLL_SECONDS)
        if not events:
            self.on_quiet()
        for key, _ in events:
            rank: Rank = key.data
            requests = rank.read()
            if requests is not None:
                self.finish(rank, requests)
            elif rank.gone:
                self._forget(rank)
                self.on_quiet()

    def finish(self, rank: Rank, requests: list[Request]) -> None:
        """The rank has asked: its task goes on with these requests once all others have asked
        too."""
        assert rank.pending is not None
        pending = rank.pending
        if rank in self.aside:
            self._take_back(rank)
        if requests and rank.log is not None:
            rank.log.asked(requests)
        if requests and requests[-1].op == Op.ABORT:
            self._give_up = time.monotonic() + ABORT_TIMEOUT
        rank.pending = None
        rank.running = False
        rank.request = requests[-1] if requests else None
        self._active.remove(rank)
        self.running -= 1
        if requests and self._at_once(rank, requests[-1].op):
            pending.resume(requests)
        else:
            self._ready.append((rank.number, pending, requests))

    def hear_waiting(self, waits: Callable[[Rank], bool]) -> None:
        """The run is over: take what ranks say that have begun to wait and could not say so yet."""
        give_up = time.monotonic() + REPLY_SECONDS
        for rank in self.ranks:
            while rank.running and not rank.gone and waits(rank) and time.monotonic() < give_up:
                requests = rank.read(0)
                if requests is not None:
                    self.finish(rank, requests)

    def final_states(self, on_nics: Mapping[int, Sequence[Envelope]]) -> dict[int, FinalState]:
        """The run is over: where the ranks stand that wait, given by rank the messages that lie on
        NICs."""
        asked = [rank for rank in self.ranks if rank.connected and not (rank.running or rank.finalized or rank.gone)]
        for rank in asked:
            rank.ask_final_state(on_nics.get(rank.number, ()))
        give_up = time.monotonic() + REPLY_SECONDS
        found = {rank.number: rank.final_state(give_up) for rank in asked}
        return {number: state for number, state in found.items() if state is not None}

    def close(self) -> None:
        self._selector.close()
        for rank in self.ranks:
            rank.sock.close()
