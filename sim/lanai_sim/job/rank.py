"""One rank's process as the scheduler sees it: its socket, its requests, whether it runs or waits."""

import json
import re
import socket
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from lanai_host.device import Envelope
from lanai_host.errors import UserError
from lanai_host.simulator.protocol import HEADER, NOTICES, TEXT, FinalState, Op, SeenType, Status
from lanai_host.simulator.requests import COLLECT, STOPPED, split_look, split_wait_any
from lanai_host.simulator.spin import NOWHERE, Chunk, SpinWait, Steering
from lanai_host.source_lines import is_program, mapped, place_of

from ..kernel.kernel import Suspension
from .request import Request, WritesFinder
from .system_calls import OwnTime

# The place of a rank's program when a signal of its own making killed it, from what `crash.c` has said.


HEAD = struct.Struct("<II")  # the signal, the number of addresses
PYTHON = re.compile(r'File "(.+)", line (\d+) in ')
INSTALLED = re.compile(r"<frozen |/lib(64)?/python\d|/(site|dist)-packages/")


def crash_place(pid: int, payload: bytes) -> str:
    """The place, in words; empty if it is not known. The process still stands there."""
    if len(payload) < HEAD.size:
        return ""
    _, count = HEAD.unpack_from(payload)
    addresses = struct.unpack_from(f"<{count}Q", payload, HEAD.size)
    text = payload[HEAD.size + 8 * count :].decode(errors="replace")
    return _in_python(text) or _in_native(pid, addresses)


def _in_python(text: str) -> str:
    """The innermost call in the program's own file, else the innermost one."""
    calls = [(file, line) for file, line in PYTHON.findall(text) if is_program(file)]
    own = [call for call in calls if not INSTALLED.search(call[0])] or calls
    return place_of(0, ":".join(own[0])) if own else ""


def _in_native(pid: int, addresses: tuple[int, ...]) -> str:
    """The innermost call in the program itself, else the innermost one."""
    try:
        program = str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""
    files = [mapped(pid, address - 1) for address in addresses]
    own = [address for address, file in zip(addresses, files, strict=True) if file and file[0] == program]
    known = [address for address, file in zip(addresses, files, strict=True) if file]
    chosen = (own or known)[:1]
    return place_of(pid, f"@{chosen[0]:#x}") if chosen else ""


CHUNK = 1 << 16
POLL_SECONDS = 0.1  # seconds without a message from any rank after which the processes are checked
_TIMEVAL = struct.Struct("@ll")
BLOCKING = Op.POSTED_LAST
OPS = frozenset(int(op) for op in Op) - {int(Op.POSTED_LAST)}


class Stray(Exception):
    """A rank's process has written to its socket what is not a request. Nothing that follows can be
    understood."""

    def __init__(self, rank: int, data: bytes) -> None:
        super().__init__(
            f"rank {rank}: bytes that are not the MPI library's came on its connection to lanai ({data!r}); the "
            "program has written to a file descriptor that it did not open"
        )


def why_of(request: Request) -> bytes:
    """The wait record in a request; empty if it has none, or is cut short and will be refused."""
    with suppress(UserError):
        if request.op == Op.STOPPED:
            return STOPPED.split(request.payload)[1]
        if request.op == Op.COLLECT:
            return COLLECT.split(request.payload)[1]
        if request.op in (Op.WAIT_ANY, Op.WORK):
            return split_wait_any(request.payload)[2]
        if request.op == Op.LOOK_AND_WAIT:
            return split_look(request.payload)[3]
    return b""


class RankLog(Protocol):
    """Hears what passes between a rank and the simulator, once it is on its way."""

    def answered(self, frame: bytes) -> None: ...

    def asked(self, requests: list[Request]) -> None: ...


class Rank:
    """One process. `clock` is its host time; `why` what it waits for; `finalized` once it has left
    the simulation; `origin` what it is, if another process started it; `leaves` once its program
    ends: the error that it ends by, if one is known; `polls` what it polls for, if it has done so in
    vain for long; `crash` where a signal killed it. `heard` is told when one of these changes. `steering` says which
    processor its process shares with the simulator."""

    def __init__(self, number: int, sock: socket.socket, steering: Steering | None = None) -> None:
        self.number = number
        self._steering = steering or Steering()
        self.log: RankLog | None = None
        self.writes_apart = False  # writes in a row are a request each, not all one
        self._writes = WritesFinder()
        self.restarts = 0  # how often its process was restarted
        self.pid = 0
        self.clock = 0
        self.pio = self.waited = 0  # picoseconds of it spent on PIO, and waiting for the NIC
        self.origin = ""
        self.running = True
        self.connected = False  # has said HELLO
        self.finalized = False
        self.leaves: str | None = None
        self.polls = b""
        self.crash = ""
        self.left: dict[str, int] = {}  # objects that its program has not freed, by kind
        self.types: list[SeenType] | None = None  # that it has sent and received, if it has told
        self.heard: Callable[[Rank], None] = lambda rank: None
        self.on_nic: Callable[[], Sequence[Envelope]] = tuple  # messages that its NIC keeps for it
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
        self.aborted = False  # has asked for the end of the run: what its other threads ask for later does not count
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
        if self.log is not None:
            self.log.answered(HEADER.pack(len(payload), status, 0, self.clock) + payload)
        with suppress(BrokenPipeError, ConnectionResetError):  # it died; the launcher tells
            self.sock.sendall(HEADER.pack(len(payload), status, self._steering.processor + 1, self.clock) + payload)

    def ask_final_state(self, on_nic: Sequence[Envelope]) -> None:
        """Ask where it stands. It waits, and has nothing else to say."""
        question = json.dumps(on_nic).encode()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.sock.sendall(HEADER.pack(len(question), Status.RUN_OVER, 0, self.clock) + question)

    def release(self) -> None:
        """End its wait though the run is over."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.sock.sendall(HEADER.pack(0, Status.RELEASED, 0, self.clock))

    def final_state(self, own: OwnTime, most: float) -> FinalState | None:
        """The reply; None if there is none once its process has had so many seconds."""
        with suppress(Stray):
            over = False
            while not (self._requests or self.gone or over):
                over = own.seconds >= most
                self.read(socket.MSG_DONTWAIT if over else 0)
        replies = self.taken_replies()
        return FinalState.unpack(replies[0].payload) if replies else None

    def taken_replies(self) -> list[Request]:
        """Return the requests that `read` has taken while no request that blocks has come."""
        replies, self._requests = self._requests, []
        return replies

    def read(self, flags: int = socket.MSG_DONTWAIT) -> list[Request] | None:
        """Take what has come. The requests up to a blocking one, once there is one; None while
        there is not. With no flags, wait for it up to `POLL_SECONDS`, however much else comes: a rank that
        polls in vain tells so again and again."""
        give_up = 0.0
        while True:
            try:
                got = self.sock.recv_into(self._chunk.view, 0, flags) if flags else self._await()
            except (BlockingIOError, InterruptedError):
                return None
            except ConnectionResetError:
                got = 0
            requests = self.take(bytes(self._chunk.view[:got]))
            if requests is not None or self.gone:
                return requests
            now = time.monotonic()
            give_up = give_up or now + POLL_SECONDS
            if now >= give_up:
                return None

    def take(self, data: bytes) -> list[Request] | None:
        """Take bytes that have come, none if the process has ended. Return what `read` does."""
        if not data:
            self.gone = True
            return None
        if self.aborted:
            return None
        if self._bytes or len(data) < self._wanted:
            self._bytes += data
            if len(self._bytes) < self._wanted:
                return None
            data = bytes(self._bytes)
            self._bytes.clear()
        if not self._parse(data):
            return None
        requests, self._requests = self._requests, []
        return requests

    @property
    def at_frame(self) -> bool:
        """Nothing has come of which more is to come."""
        return not (self._bytes or self._requests)

    @property
    def spin(self) -> Any:
        """The state of the waits for this rank, for `spin.c`."""
        return self._wait.state

    def _await(self) -> int:
        """Bytes received, after a sleep if need be."""
        if self._steering.processor == NOWHERE:
            looked = self._wait.look(self.sock, self._chunk)
            return self.sock.recv_into(self._chunk.view) if looked is None else looked
        return self._wait.sleep(self.sock, self._chunk, self._steering.processor)

    def _notice(self, op: int, payload: bytes) -> None:
        if op == Op.LEAVES:
            self.leaves = payload.decode(*TEXT)
        elif op == Op.POLLS:
            self.polls = payload
        elif op == Op.LEFT:
            self.left = json.loads(payload)
        elif op == Op.TYPES:
            self.types = [SeenType(*one) for one in json.loads(payload)]
        elif op == Op.UNRECEIVED:
            found = json.dumps(self.on_nic()).encode()
            self._reply(HEADER.pack(len(found), Status.OK, 0, 0) + found)
        else:
            self.crash = crash_place(self.pid, payload)
            self._reply(b"seen")
        self.heard(self)

    def _reply(self, data: bytes) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it died; the launcher tells
            self.sock.sendall(data)

    def _parse(self, data: bytes) -> bool:
        """Cut complete frames off what was read, and keep the rest; True if a blocking one is among
        them, which is then the last."""
        total = len(data)
        position, op = 0, 0
        if self.log is None and not self.writes_apart and (writes := self._writes.first(data)) is not None:
            self._requests.append(writes)
            position = len(writes.payload)
        self._wanted = HEADER.size
        while total - position >= HEADER.size:
            size, op, flags, elapsed = HEADER.unpack_from(data, position)
            start = position + HEADER.size
            if flags or op not in OPS:
                self.gone = True
                raise Stray(self.number, data[position:start])
            if start + size > total:
                self._wanted = start + size - position
                break
            position = start + size
            if op in NOTICES:
                self._notice(op, data[start:position])
            else:
                self._requests.append(Request(op, elapsed, data[start:position]))
            if op == Op.ABORT:
                self.aborted = True
                self._bytes.clear()
                return True
        if position < total:
            self._bytes += data[position:]
        return bool(self._requests) and self._requests[-1].op > BLOCKING
