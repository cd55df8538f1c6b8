"""A rank process's line to the simulator: posts, blocking requests, the rank's clock.

The simulation moves only while every rank is inside a blocking request, so what happens between two
requests of one process takes no simulated time but what it charges.
"""

import contextlib
import fcntl
import json
import os
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn, Protocol, Self

from ..c_module import load
from ..device import Envelope
from ..errors import UserError, say
from ..operation import Wait
from ..process_manager import Start
from .protocol import CATCH_UP_TIME, ENV_RANK, ENV_SIZE, ENV_SOCKET, HEADER, TEXT, VERSION, FinalState, Op, Status
from .rank_transport import RankTransport
from .relay import RelayedTransport
from .requests import ABORT, FINALIZE, HELLO, QUIET, SNAPSHOT, Abort, Finalize, Hello
from .spin import Chunk, SpinWait

# A rank's snapshot of itself: a copy of the process, made by fork, that sleeps until the simulator
# makes the rank from it anew (`lanai run --checkpoint`).
#
# All is native code (snapshot.c): a restarted rank must allocate what the rank itself went on
# to allocate, so that its buffers lie at the same addresses.

DECLARED = "int snapshot_take(int sock, const char *line, uint32_t size, uint32_t rank, uint32_t serial);"


@cache
def _native() -> Any:
    return load(__package__, "snapshot", DECLARED)


def take(sock: int, line: bytes, rank: int, serial: int) -> int:
    """Copy this process. Returns in it, and again in each process that the simulator makes from the
    copy: its connection to the simulator then has the descriptor `sock`.

    Args:
        line: name of the abstract Unix socket to which the copy connects.
        serial: of the copy, which it says there with the rank.

    Returns:
        0, or the number of an error, and there is no copy.
    """
    return int(_native().lib.snapshot_take(sock, line, len(line), rank, serial))


FLUSH_BYTES = 1 << 18  # posts beyond this leave at once, so that a rank that only sends needs no boundless memory
READ = 4096  # bytes of an answer read at first: more than most have


class SimulatorError(Exception):
    """The simulator refused a request; the text says why."""


class Released(BaseException):
    """The run is over. The program goes on to its end, so that its exit code becomes known."""


class RequestSink(Protocol):
    """Told of a client's requests as they are made."""

    def posted(self) -> None:
        """One more request without an answer, made at the client's `clock`."""

    def asks(self, op: Op) -> None:
        """A request that is waited for is about to be made."""

    def answered(self) -> None:
        """Its answer has come; `clock` is that of the answer."""


class SimulatorClient:
    """`clock` is this process's host time in picoseconds: the simulator's at the last answer, plus
    what was charged since.

    `transport` is there in a world without NICs. If `watchful` is set, code that uses neither `post`
    nor `call` must `check` first. `sink`, if there is one, is told of each request. `on_end` says
    where this process stands, given the messages on its NIC that it has not received.
    """

    def __init__(self, sock: socket.socket, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.clock = 0
        self._sock = sock
        self._number = sock.fileno()
        self._lock = threading.RLock()
        self._waits: defaultdict[Op, SpinWait] = defaultdict(SpinWait)
        self._chunk = Chunk(READ)
        self._posts: list[bytes] = []
        self._posted_bytes = 0
        self._told = 0  # the clock as the simulator knows it
        self._quiet_until = 0  # nothing changes before, unless this process asks for something
        self._pid = os.getpid()
        self._closed = False
        self._aborting = False
        self._watching: Any = None  # the libmpi that tells of crashes
        self._cpu_scale = 0.0
        self._cpu = 0.0
        self.watchful = False
        self.sink: RequestSink | None = None
        self.on_end: Callable[[list[Envelope]], FinalState] | None = None
        try:
            answer = self.call(Op.HELLO, HELLO.pack(Hello(VERSION, self._pid)))
        except SimulatorError as error:
            raise UserError(str(error)) from error
        self.config: dict[str, Any] = json.loads(answer)
        self._cpu_scale = float(self.config.get("host", {}).get("cpu_scale", 0.0))
        self._cpu = time.process_time()
        self.watchful = self._cpu_scale > 0
        self.transport: RankTransport | RelayedTransport | None = None
        if self.config.get("relay"):
            self.transport = RelayedTransport(self)
        elif "transport" in self.config:
            self.transport = RankTransport(self, self.config["transport"])
        _clients.append(self)

    @classmethod
    def from_environment(cls) -> Self | None:
        """The client that `lanai run` left in the environment; None in a process that it did not
        start."""
        number = os.environ.get(ENV_SOCKET)
        if number is None:
            return None
        try:
            sock = socket.socket(fileno=int(number))
        except OSError as error:
            raise UserError(
                f"{ENV_SOCKET}={number} is not the simulator's socket ({error.strerror}); start with `lanai run`"
            ) from error
        os.set_inheritable(sock.fileno(), False)
        return cls(sock, int(os.environ[ENV_RANK]), int(os.environ[ENV_SIZE]))

    def start(self) -> Start:
        """Return how this process began."""
        return Start(**self.config["start"])

    def charge(self, picoseconds: int) -> None:
        """Host work: time that passes for this process alone."""
        self.clock += picoseconds

    def post(self, op: Op, payload: bytes = b"") -> None:
        """Send a request that gets no answer. It is stamped with this moment and may leave
        later."""
        with self._lock:
            if self.watchful:
                self.check()
            self._posts.append(HEADER.pack(len(payload), op, 0, self.clock - self._told) + payload)
            self._told = self.clock
            self._posted_bytes += len(payload)
            if self._posted_bytes > FLUSH_BYTES:
                self._flush()
            if self.sink is not None:
                self.sink.posted()

    def post_two(self, op: Op, first: bytes, picoseconds: int, second: bytes) -> None:
        """`post` of two requests of a kind, with so much host work between them."""
        if self.watchful or self.sink is not None or self._posted_bytes + len(first) + len(second) > FLUSH_BYTES:
            self.post(op, first)
            self.charge(picoseconds)
            self.post(op, second)
            return
        with self._lock:
            head = HEADER.pack
            before = head(len(first), op, 0, self.clock - self._told)
            self._posts.append(before + first + head(len(second), op, 0, picoseconds) + second)
            self.clock += picoseconds
            self._told = self.clock
            self._posted_bytes += len(first) + len(second)

    def call(self, op: Op, payload: bytes = b"") -> bytes:
        """Send a request and wait for its answer, while the simulation may move."""
        if self.sink is not None:
            self.sink.asks(op)
        with self._lock:
            if self.watchful:
                self.check()
            self._posts.append(HEADER.pack(len(payload), op, 0, self.clock - self._told) + payload)
            self._told = self.clock
            self._flush()
            while True:
                answer = self._frame(op)
                _, status, _, self._told = HEADER.unpack_from(answer)
                self.clock = self._told
                if status <= Status.ERROR:
                    break
                said = answer[HEADER.size :]  # ends no request
                if status == Status.RELEASED:
                    self.close()
                    raise Released
                if status == Status.RUN_OVER:
                    self._tell_final_state(said)
                else:
                    self._take_snapshot(said)
            if self.watchful:
                self.count_from_now()
        if self.sink is not None:
            self.sink.answered()
        if status == Status.ERROR:
            raise SimulatorError(answer[HEADER.size :].decode(*TEXT))
        return answer[HEADER.size :]

    def notify(self, op: Op, payload: bytes) -> None:
        """Tell the launcher something, whatever the simulation does."""
        with self._lock:
            if not self._closed:
                self._send(HEADER.pack(len(payload), op, 0, 0) + payload)

    def ask(self, op: Op) -> bytes:
        """Send a notice that the launcher answers. No simulated time passes, and what was posted stays here."""
        with self._lock:
            if self.watchful:
                self.check()
            self._send(HEADER.pack(0, op, 0, 0))
            return self._frame(op)[HEADER.size :]

    def watch_crashes(self, library: Any) -> None:
        """Let a libmpi tell the launcher where a signal kills this process, also after MPI has ended."""
        self._watching = library
        library.lanai_watch(self._sock.fileno(), int(Op.CRASHED))

    def catch_up(self) -> None:
        """Let the rest of the world come up to now. Where it is known that nothing changes until
        then, the simulator is not asked."""
        if self.clock + CATCH_UP_TIME <= self._quiet_until and not (self._posts or self.watchful):
            self.clock += CATCH_UP_TIME
            return
        self._quiet_until = QUIET.struct.unpack(self.call(Op.CATCH_UP))[0]

    def pass_time(self, picoseconds: int) -> None:
        """Let so much time pass for this process, and the rest of the world come up to it."""
        if self.transport is not None:
            self.charge(picoseconds)
            self.transport.take_turn(Wait("a sleep"))
        else:
            self.charge(max(0, picoseconds - CATCH_UP_TIME))
            self.catch_up()

    def leave(self) -> None:
        """Have what was posted done, as this process is about to wait for something else. A thread
        that is at it already does so."""
        if self._posts and not self._closed and self._lock.acquire(blocking=False):
            try:
                self.catch_up()
            finally:
                self._lock.release()

    def finalize(self, placement: int = 0, handover: bytes = b"") -> None:
        """Leave the simulation, and tell where buffers lay and what the next process in this place
        must know (`Device.placement`, `Device.handover`); nothing else may be asked of the client
        afterwards."""
        with self._lock:
            if not self._closed:
                self.call(Op.FINALIZE, FINALIZE.pack(Finalize(placement), handover))
                self.close()

    def abort(self, code: int) -> NoReturn:
        """End the whole run with this exit code: that of the first thread that asks. Where the program has closed the
        socket, this process ends, and the launcher sees it."""
        with contextlib.suppress(UserError, OSError):
            with self._lock:
                if not self._aborting:
                    self._aborting = True
                    if self.transport is not None:
                        self.transport.stand_aside()
                    self.post(Op.ABORT, ABORT.pack(Abort(code)))
                    self._flush()
            while self._sock.recv(READ):  # the launcher ends this process
                pass
        os._exit(code & 0xFF or 1)

    def close(self) -> None:
        self._closed = True
        if self._watching is not None:
            with contextlib.suppress(OSError):  # the program has closed it
                kept = fcntl.fcntl(self._sock, fcntl.F_DUPFD_CLOEXEC, self._sock.fileno())
                self._watching.lanai_watch(kept, int(Op.CRASHED))
        self._sock.close()

    def check(self) -> None:
        """Before anything that others can see: charges processor time if that is asked for; refuses
        a forked process."""
        if os.getpid() != self._pid:
            raise UserError(
                f"process {os.getpid()} is a fork of rank {self.rank} and cannot use its MPI library; "
                f"call MPI in process {self._pid} only"
            )
        if self._cpu_scale:
            now = time.process_time()
            self.charge(int((now - self._cpu) * self._cpu_scale * 1e12))
            self._cpu = now

    def count_from_now(self) -> None:
        """Processor time spent until now was waiting."""
        self._cpu = time.process_time()

    def _flush(self) -> None:
        if self._closed:
            raise UserError(f"rank {self.rank} has left the simulation; MPI calls end with MPI_Finalize")
        frames, self._posts, self._posted_bytes = b"".join(self._posts), [], 0
        self._quiet_until = 0
        self._send(frames)

    def _send(self, frames: bytes) -> None:
        try:
            self._sock.sendall(frames)
        except (BrokenPipeError, ConnectionResetError):
            self._orphaned()
        except OSError as error:
            raise self._cut_off(error) from error

    def _cut_off(self, error: OSError) -> UserError:
        """The program has done something to the socket."""
        return UserError(
            f"this MPI library cannot use its file descriptor {self._number} any more ({error.strerror}): the program "
            "has closed it; close only descriptors that the program has opened"
        )

    def _frame(self, op: Op) -> bytes:
        """A whole answer with its header. A process has one answer outstanding, so nothing else can follow."""
        try:
            got = self._waits[op].receive(self._sock, self._chunk)
        except ConnectionResetError:
            got = 0
        except OSError as error:
            raise self._cut_off(error) from error
        if not got:
            self._orphaned()
        answer = bytes(self._chunk.view[:got])
        while len(answer) < HEADER.size:
            answer += self._receive_rest(HEADER.size - len(answer))
        size = HEADER.unpack_from(answer)[0]
        if len(answer) < HEADER.size + size:
            answer += self._receive_rest(HEADER.size + size - len(answer))
        return answer

    def _tell_final_state(self, payload: bytes) -> None:
        state = FinalState("", "", [], [])
        if self.on_end is not None:
            state = self.on_end([Envelope(*one) for one in json.loads(payload)])
        record = state.pack()
        self._sock.sendall(HEADER.pack(len(record), Op.FINAL_STATE, 0, 0) + record)

    def _take_snapshot(self, payload: bytes) -> None:
        """Returns in this process, and again in each process that is made from the snapshot."""
        head, line = SNAPSHOT.split(payload)
        wrong = take(self._sock.fileno(), line, self.rank, head.serial)
        self._pid = os.getpid()
        if wrong:
            text = os.strerror(wrong).encode()
            self._sock.sendall(HEADER.pack(len(text), Op.NO_SNAPSHOT, 0, 0) + text)

    def _receive_rest(self, size: int) -> bytes:
        rest = bytearray(size)
        view = memoryview(rest)
        while view:
            got = self._sock.recv_into(view, 0, socket.MSG_WAITALL)  # in as many steps, however fast it comes
            if not got:
                self._orphaned()
            view = view[got:]
        return bytes(rest)

    def _orphaned(self) -> NoReturn:
        """The simulator is gone: nothing this process could do has a meaning any more."""
        say(f"lanai: rank {self.rank}: the simulator has ended")
        os._exit(1)


_clients: list[SimulatorClient] = []


def _be_watchful() -> None:
    """In a forked child: a rank is one process."""
    for client in _clients:
        client.watchful = True


os.register_at_fork(after_in_child=_be_watchful)
