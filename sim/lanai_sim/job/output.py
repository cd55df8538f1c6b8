"""The output of ranks: whole lines from many pipes to our own streams, optionally with the rank before each, or to a
buffer for each rank.
"""

import os
import re
import select
import selectors
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TextIO

from lanai_host.errors import UserError

from .result import RankOutput
from .system_calls import LOOK_SECONDS, OwnTime
from .waiting import ranks_text

CHUNK = 1 << 16
HOLD_SECONDS = 0.2  # that a traceback's lines are held back for those that follow
LONGEST_LINE = 1 << 16  # a longer one is passed on in pieces, so that no program can make us hold it all


class Tracebacks:
    """Tracebacks that ranks print, each held back until it is whole, so that those of several ranks do not mix; equal
    ones are passed on once."""

    _BEGIN = re.compile(rb"^(Exception in thread .*|Traceback \(most recent call last\):)$", re.MULTILINE)

    def __init__(self) -> None:
        self._held: dict[int, bytes] = {}  # by rank
        self._since: dict[int, float] = {}
        self._ranks: dict[bytes, set[int]] = {}  # of each that was passed on

    def take(self, rank: int, text: bytes) -> bytes:
        """Return the part of whole lines of a rank that is not held back."""
        before = b""
        if rank not in self._held:
            found = self._BEGIN.search(text)
            if found is None:
                return text
            before, text = text[: found.start()], text[found.start() :]
            self._since[rank] = time.monotonic()
        self._held[rank] = self._held.get(rank, b"") + text
        return before + (self.release(rank) if len(self._held[rank]) > LONGEST_LINE else b"")

    def release(self, rank: int) -> bytes:
        """Return what is held back of a rank, unless another has printed the same."""
        text = self._held.pop(rank, b"")
        ranks = self._ranks.setdefault(text, set())
        ranks.add(rank)
        return text if len(ranks) == 1 else b""

    def due(self) -> list[int]:
        """Return the ranks whose lines were held back for long enough."""
        now = time.monotonic()
        return [rank for rank in self._held if now - self._since[rank] >= HOLD_SECONDS]

    @property
    def waits(self) -> bool:
        return bool(self._held)

    def summary(self) -> Iterator[str]:
        """Give a line for each traceback that several ranks have printed."""
        for text, ranks in self._ranks.items():
            if text and len(ranks) > 1:
                last = text.rstrip().splitlines()[-1].decode(errors="replace").strip()
                yield f"lanai: {ranks_text(sorted(ranks))} printed the same traceback: {last}"


class Output:
    """Gathers pipes in a thread of its own. A reader slower than the ranks makes them wait, as any
    pipe does. `capture`: keep what the ranks print, and pass it on only with `show`. `folder`: of a rank, where it
    is kept as files."""

    def __init__(
        self,
        prefix: bool,
        capture: bool = False,
        show: bool = False,
        folder: Callable[[int], Path] | None = None,
    ) -> None:
        self.prefix = prefix
        self.capture = capture
        self._shows = show or not capture
        self._selector = selectors.DefaultSelector()
        self._streams: dict[int, tuple[IO[bytes], bytes, TextIO | None]] = {}
        self._kept: dict[tuple[int, str], bytearray] = {}  # by rank and stream, if they are captured
        self._texts: dict[int, bytearray] = {}  # the same by pipe
        self._folder = folder
        self._files: dict[int, IO[bytes]] = {}  # by pipe
        self._partial: dict[int, bytes] = {}
        self._ranks: dict[int, int] = {}  # whose a pipe is
        self._places: dict[int, int] = {}  # bytes that the rank's program has printed, as it counts them
        self._passed: dict[int, int] = {}  # bytes of them that were passed on; what a restarted rank repeats is not
        self._tracebacks = Tracebacks()
        self._errors: dict[int, int] = {}  # by rank: the pipe of its standard error
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._stop_read, self._stop_write = os.pipe()
        self._selector.register(self._stop_read, selectors.EVENT_READ)
        self._stopping = False
        self.lost = ""  # why output could not be passed on, if so

    def add(self, pipe: IO[bytes], rank: int, stream: str) -> None:
        """Pass what comes from `pipe` to `stream`, "stdout" or "stderr"."""
        number = pipe.fileno()
        os.set_blocking(number, False)
        target: TextIO | None = getattr(sys, stream)  # None: closed when this process began
        if self.capture:
            self._texts[number] = self._kept.setdefault((rank, stream), bytearray())
        if self._folder is not None:
            self._files[number] = _opened(self._folder(rank) / stream)
        self._streams[number] = (pipe, f"[{rank}] ".encode() if self.prefix else b"", target)
        self._ranks[number] = rank
        if stream == "stderr":
            self._errors[rank] = number
        self._places[number] = self._passed[number] = 0
        self._selector.register(number, selectors.EVENT_READ)

    def marks(self, rank: int) -> list[int]:
        """Return how much the rank, which waits, has printed in each of its pipes."""
        with self._lock:
            return [self._come_to_end(number) for number in self._pipes(rank)]

    def rewind(self, rank: int, marks: Sequence[int]) -> None:
        """The rank's process has ended. Another one goes on where these marks were taken, and
        prints again what came after."""
        with self._lock:
            for number, mark in zip(self._pipes(rank), marks, strict=True):
                self._come_to_end(number)
                self._places[number] = mark

    def _pipes(self, rank: int) -> list[int]:
        return sorted(number for number, owner in self._ranks.items() if owner == rank and number in self._streams)

    def _come_to_end(self, number: int) -> int:
        """Take all that lies in a pipe."""
        while self._take(number):
            pass
        return self._places[number]

    def captured(self, ranks: Sequence[int]) -> tuple[RankOutput, ...]:
        """Return what the ranks have printed, if that is kept."""
        if not self.capture:
            return ()
        kept = {key: text.decode(errors="replace") for key, text in self._kept.items()}
        return tuple(RankOutput(kept.get((rank, "stdout"), ""), kept.get((rank, "stderr"), "")) for rank in ranks)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="lanai output", daemon=True)
        self._thread.start()

    def finish(self, timeout: float | None = None) -> None:
        """Pass on all that is left and close. The processes have ended; a child that outlived them
        may keep a pipe open, and is not waited for. Nor is our own reader for more than `timeout`
        seconds of its own, if given: what it has not read is lost."""
        os.write(self._stop_write, b"x")
        if self._thread is not None:
            self._await_end(self._thread, timeout)
            if self._thread.is_alive():
                return  # it hangs in a write, and ends with this process
        for number in list(self._streams):
            self._drop(number)
        for line in self._tracebacks.summary():
            print(line, file=sys.stderr)
        self._selector.close()
        os.close(self._stop_read)
        os.close(self._stop_write)

    @staticmethod
    def _await_end(thread: threading.Thread, timeout: float | None) -> None:
        own = OwnTime(thread.native_id or 0)
        while thread.is_alive() and (timeout is None or own.seconds < timeout):
            thread.join(None if timeout is None else LOOK_SECONDS)

    def _run(self) -> None:
        while True:  # processes may be started later, so not only while there are pipes
            events = self._selector.select(0.0 if self._stopping else HOLD_SECONDS if self._tracebacks.waits else None)
            if self._stopping and not events:
                return
            for rank in self._tracebacks.due():
                self._release(rank)
            for key, _ in events:
                if key.fd == self._stop_read:
                    self._stopping = True
                    self._selector.unregister(self._stop_read)
                else:
                    self._take(key.fd)

    def _take(self, number: int) -> bool:
        """Pass on what a pipe has, up to a chunk; False if it has nothing now."""
        with self._lock:
            try:
                chunk = os.read(number, CHUNK)
            except BlockingIOError:
                return False
            except OSError:
                chunk = b""
            if not chunk:
                self._drop(number)
                return False
            begin = self._places[number]
            self._places[number] += len(chunk)
            self._pass_on(number, chunk[max(0, self._passed[number] - begin) :])
            self._passed[number] = max(self._passed[number], self._places[number])
            return True

    def _pass_on(self, number: int, chunk: bytes) -> None:
        if not chunk:
            return  # all of it had been printed before
        text = self._partial.pop(number, b"") + chunk
        end = text.rfind(b"\n") + 1
        if len(text) - end > LONGEST_LINE:
            end = len(text)
        if end < len(text):
            self._partial[number] = text[end:]
        if end:
            self._write(number, text[:end])

    def _drop(self, number: int) -> None:
        rest = self._partial.pop(number, b"")
        if rest:
            self._write(number, rest + b"\n" if self.prefix else rest)
        if self._errors.get(self._ranks[number]) == number:
            self._release(self._ranks[number])
        pipe, _, _ = self._streams.pop(number)
        self._selector.unregister(number)
        pipe.close()
        if number in self._files:
            self._files.pop(number).close()

    def _release(self, rank: int) -> None:
        """Pass on a traceback of a rank that was held back."""
        with self._lock:
            if text := self._tracebacks.release(rank):
                self._show(self._errors[rank], text)

    def _write(self, number: int, text: bytes) -> None:
        rank = self._ranks[number]
        if self.capture:
            self._texts[number] += text
        if number in self._files:
            try:
                self._files[number].write(text)
                self._files[number].flush()
            except OSError as error:
                self.lost = error.strerror or str(error)
        if self._shows and not self.prefix and self._errors.get(rank) == number:
            text = self._tracebacks.take(rank, text)
        self._show(number, text)

    def _show(self, number: int, text: bytes) -> None:
        _, prefix, target = self._streams[number]
        if not self._shows or target is None or not text:
            return
        if prefix:
            text = b"".join(prefix + line for line in text.splitlines(keepends=True))
        try:
            target.flush()
            if getattr(target, "buffer", None) is None:  # a captured stream
                target.write(text.decode(errors="replace"))
                target.flush()
            else:
                # Not through the buffer: a write that hangs would hold its lock, and with it the
                # end of this process.
                _write_all(target.fileno(), text)
        except (BrokenPipeError, ValueError):
            pass  # the reader has gone; the ranks' output is dropped
        except OSError as error:
            self.lost = error.strerror or str(error)


def folder_of(folder: str, ranks: int) -> Callable[[int], Path] | None:
    """Return where each of the ranks' files go, if there is a folder for them: as Open MPI names them."""
    if not folder:
        return None
    digits = len(str(ranks - 1))
    return lambda rank: Path(folder, f"rank.{rank:0{digits}}")


def _opened(path: Path) -> IO[bytes]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("wb")
    except OSError as error:
        raise UserError(f"the ranks' output cannot be written to {str(path)!r}: {error.strerror}") from error


def _write_all(number: int, text: bytes) -> None:
    view = memoryview(text)
    while view:
        try:
            view = view[os.write(number, view) :]
        except BlockingIOError:
            select.select([], [number], [])
