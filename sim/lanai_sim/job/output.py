"""The output of ranks: whole lines from many pipes to our own streams, optionally with the rank before each, or to a
buffer for each rank.
"""

import os
import select
import selectors
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TextIO

from lanai_host.errors import UserError

from .result import RankOutput

CHUNK = 1 << 16
LONGEST_LINE = 1 << 16  # a longer one is passed on in pieces, so that no program can make us hold it all


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
        seconds, if given: what it has not read is lost."""
        os.write(self._stop_write, b"x")
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                return  # it hangs in a write, and ends with this process
        for number in list(self._streams):
            self._drop(number)
        self._selector.close()
        os.close(self._stop_read)
        os.close(self._stop_write)

    def _run(self) -> None:
        while True:  # processes may be started later, so not only while there are pipes
            events = self._selector.select(0.0 if self._stopping else None)
            if self._stopping and not events:
                return
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
        pipe, _, _ = self._streams.pop(number)
        self._selector.unregister(number)
        pipe.close()
        if number in self._files:
            self._files.pop(number).close()

    def _write(self, number: int, text: bytes) -> None:
        _, prefix, target = self._streams[number]
        if self.capture:
            self._texts[number] += text
        if number in self._files:
            try:
                self._files[number].write(text)
                self._files[number].flush()
            except OSError as error:
                self.lost = error.strerror or str(error)
        if not self._shows or target is None:
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
