"""A rank process's line to the simulator: posts, blocking requests, mail, the rank's clock.

The simulation moves only while every rank is inside a blocking request, so what happens between two requests of one process takes no
simulated time but what it charges.
"""

import json
import os
import socket
import sys
import threading
import time
from typing import Any, NoReturn, Self

from .bus import Wait
from .errors import UserError
from .protocol import ENV_RANK, ENV_SIZE, ENV_SOCKET, HEADER, LETTER, MAIL, VERSION, Op, Status, pack_wait

FLUSH_BYTES = 1 << 18  # posts beyond this leave at once, so that a rank that only sends needs no boundless memory
READ = 4096  # bytes of an answer read at first: more than most have
_forked_from: set[int] = set()  # ancestors of this process in which the library was loaded


def _remember_fork() -> None:
    _forked_from.add(os.getppid())


os.register_at_fork(after_in_child=_remember_fork)


class PortalError(Exception):
    """The simulator refused a request; the text says why."""


class Portal:
    """`clock` is this process's host time in picoseconds: the simulator's at the last answer, plus what was charged since."""

    def __init__(self, sock: socket.socket, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.clock = 0
        self._sock = sock
        self._lock = threading.RLock()
        self._posts: list[bytes] = []
        self._posted_bytes = 0
        self._charged = 0
        self._pid = os.getpid()
        self._closed = False
        self._cpu_scale = 0.0
        self._cpu = 0.0
        answer = self.call(Op.HELLO, VERSION.to_bytes(4, "little") + self._pid.to_bytes(4, "little"))
        self.config: dict[str, Any] = json.loads(answer)
        self._cpu_scale = float(self.config.get("host", {}).get("cpu_scale", 0.0))
        self._cpu = time.process_time()

    @classmethod
    def from_environment(cls) -> Self | None:
        """The portal that `lanai run` left in the environment; None in a process that it did not start."""
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

    def charge(self, picoseconds: int) -> None:
        """Host work: time that passes for this process alone."""
        self.clock += picoseconds
        self._charged += picoseconds

    def post(self, op: Op, payload: bytes = b"") -> None:
        """Send a request that gets no answer. It is stamped with this moment and may leave later."""
        with self._lock:
            if self._cpu_scale:
                self._charge_cpu()
            self._posts.append(HEADER.pack(len(payload), op, 0, self._charged) + payload)
            self._charged = 0
            self._posted_bytes += len(payload)
            if self._posted_bytes > FLUSH_BYTES:
                self._flush()

    def call(self, op: Op, payload: bytes = b"") -> bytes:
        """Send a request and wait for its answer, while the simulation may move."""
        with self._lock:
            if self._cpu_scale:
                self._charge_cpu()
            self._posts.append(HEADER.pack(len(payload), op, 0, self._charged) + payload)
            self._charged = 0
            self._flush()
            answer = self._receive()
            size, status, _, self.clock = HEADER.unpack_from(answer)
            if len(answer) < HEADER.size + size:
                answer += self._receive_rest(HEADER.size + size - len(answer))
            if self._cpu_scale:
                self._cpu = time.process_time()
        if status == Status.ERROR:
            raise PortalError(answer[HEADER.size :].decode())
        return answer[HEADER.size :]

    def wait_mail(self, why: Wait) -> list[tuple[int, int, bytes]]:
        """Block until there is mail: (arrival, source, letter), in the order of arrival."""
        return unpack_letters(self.call(Op.WAIT_MAIL, pack_wait(why)))

    def poll_mail(self) -> list[tuple[int, int, bytes]]:
        return unpack_letters(self.call(Op.POLL_MAIL))

    def finalize(self) -> None:
        """Leave the simulation; nothing else may be asked of the portal afterwards."""
        with self._lock:
            if not self._closed:
                self.call(Op.FINALIZE)
                self.close()

    def abort(self, code: int) -> NoReturn:
        """End the whole run with this exit code."""
        with self._lock:
            self.post(Op.ABORT, (code & 0xFFFFFFFF).to_bytes(4, "little"))
            self._flush()
        while self._sock.recv(READ):  # the launcher ends this process
            pass
        os._exit(code & 0xFF or 1)

    def close(self) -> None:
        self._closed = True
        self._sock.close()

    def _charge_cpu(self) -> None:
        now = time.process_time()
        self.charge(int((now - self._cpu) * self._cpu_scale * 1e12))
        self._cpu = now

    def _flush(self) -> None:
        if self._pid in _forked_from:
            raise UserError(
                f"process {os.getpid()} is a fork of rank {self.rank} and cannot use its MPI library; "
                f"call MPI in process {self._pid} only"
            )
        if self._closed:
            raise UserError(f"rank {self.rank} has left the simulation; MPI calls end with MPI_Finalize")
        frames, self._posts, self._posted_bytes = b"".join(self._posts), [], 0
        try:
            self._sock.sendall(frames)
        except (BrokenPipeError, ConnectionResetError):
            self._orphaned()

    def _receive(self) -> bytes:
        """An answer's beginning, its header at least. A process has one answer outstanding, so nothing else can follow."""
        try:
            answer = self._sock.recv(READ)
        except ConnectionResetError:
            answer = b""
        if not answer:
            self._orphaned()
        while len(answer) < HEADER.size:
            answer += self._receive_rest(HEADER.size - len(answer))
        return answer

    def _receive_rest(self, size: int) -> bytes:
        rest = bytearray(size)
        view = memoryview(rest)
        while view:
            got = self._sock.recv_into(view)
            if not got:
                self._orphaned()
            view = view[got:]
        return bytes(rest)

    def _orphaned(self) -> NoReturn:
        """The simulator is gone: nothing this process could do has a meaning any more."""
        sys.stderr.write(f"lanai: rank {self.rank}: the simulator has ended\n")
        os._exit(1)


def unpack_letters(answer: bytes) -> list[tuple[int, int, bytes]]:
    letters = []
    position = 0
    while position < len(answer):
        arrival, source, size = LETTER.unpack_from(answer, position)
        position += LETTER.size
        letters.append((arrival, source, answer[position : position + size]))
        position += size
    return letters


class PortalMail:
    """The ideal device's mail (`lanai_host.devices.ideal.Mail`) over a portal."""

    def __init__(self, portal: Portal) -> None:
        self.portal = portal

    @property
    def now(self) -> int:
        return self.portal.clock

    def elapse(self, picoseconds: int) -> None:
        self.portal.charge(picoseconds)

    def post(self, dest: int, letter: bytes) -> None:
        self.portal.post(Op.MAIL, MAIL.pack(dest) + letter)

    def collect(self, why: Wait | None) -> list[tuple[int, bytes]]:
        letters = self.portal.poll_mail() if why is None else self.portal.wait_mail(why)
        return [(source, letter) for _, source, letter in letters]

    def close(self) -> None:
        self.portal.finalize()
