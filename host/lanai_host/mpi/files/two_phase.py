"""Collective access in two phases: data goes by messages between the processes that have it in
memory and a few that do the system calls, so that pieces of many processes which lie side by side
in the file become few long system calls.

The part of the file that is accessed is divided among `cb_nodes` processes. Each takes its part in
windows of `cb_buffer_size` bytes, one window a round. Where the parts of the processes follow each
other anyway, each does its own.
"""

from collections.abc import Generator, Iterable
from typing import NamedTuple

import numpy as np

from ... import body
from ...config import HostCost
from ...operation import Operation
from ..collectives import alltoall
from ..collectives.checks import Part
from ..collectives.link import Link
from ..collectives.schedule import Steps
from ..datatypes import BYTE
from ..memory import Scratch, address_of, array, zeros
from .disk import Trouble, everyones
from .file import File
from .transfer import Buffer, read_runs, write_runs
from .view import Hull, Pieces, Runs, Window, cut, plan, united

Moved = Generator[Iterable[Operation], None, int]
WHOLE = 2**62  # stands for the end of a file that no rank reached
_WORD = np.dtype(np.int64)


class _Round(NamedTuple):
    """The requests of one round: this process's to each window, and each process's to this one's own window, if it has
    one.
    """

    windows: list[Window]
    asking: list[Pieces]
    asked: list[Runs]


class _Held:
    """The bytes of a window that processes ask for. `end`: the end of the file, if it was met."""

    def __init__(self, asked: list[Runs]) -> None:
        self.runs = united(asked)
        self.end = WHOLE
        self._first = self.runs.first
        self._room = Scratch(self.runs.end - self._first)

    def bytes_of(self, offset: int, length: int) -> memoryview:
        return self._room.view[offset - self._first : offset - self._first + length]

    def segments(self, runs: Runs) -> list[tuple[int, int]]:
        places = runs.offsets - self._first + self._room.address
        return list(zip(places.tolist(), runs.lengths.tolist(), strict=True))

    def read(self, file: File, call: str) -> None:
        for offset, length in zip(self.runs.offsets.tolist(), self.runs.lengths.tolist(), strict=True):
            done = file.disk.read(call, self.bytes_of(offset, length), offset)
            if done < length:
                self.end = offset + done
                return

    def write(self, file: File, call: str) -> None:
        for offset, length in zip(self.runs.offsets.tolist(), self.runs.lengths.tolist(), strict=True):
            file.disk.write(call, self.bytes_of(offset, length), offset)


def write_all(link: Link, file: File, buffer: Buffer, runs: Runs) -> Moved:
    """A collective write; bytes of data written from this process. An error at one process is an
    error at all."""
    trouble = Trouble()
    rounds = yield from _plan(link, file, buffer, runs, writing=True)
    if not rounds:
        with trouble:
            write_runs(file, buffer, runs)
    stream = buffer.stream() if rounds else memoryview(b"")
    for windows in rounds:
        this = yield from _meet(link, windows, runs)
        held = _Held(this.asked)
        yield from _to_windows(link, this, held, stream)
        with trouble:
            held.write(file, link.call)
    yield from _end(link, file, trouble, WHOLE)
    return buffer.count * buffer.datatype.size


def read_all(link: Link, file: File, buffer: Buffer, runs: Runs) -> Moved:
    """A collective read; bytes of data that this process got."""
    trouble, moved = Trouble(), 0
    rounds = yield from _plan(link, file, buffer, runs, writing=False)
    if not rounds:
        with trouble:
            moved = read_runs(file, buffer, runs)
        yield from _end(link, file, trouble, WHOLE)
        return moved
    stream, end = Scratch(buffer.size), WHOLE
    for windows in rounds:
        this = yield from _meet(link, windows, runs)
        held = _Held(this.asked)
        with trouble:
            held.read(file, link.call)
        end = min(end, held.end)
        yield from _from_windows(link, this, held, stream)
    end = yield from _end(link, file, trouble, end)
    size = runs.before(end)
    file.comm.device.charge(HostCost.COPY, size)
    return buffer.deliver(stream.view, size, apart=True)


def _plan(
    link: Link, file: File, buffer: Buffer, runs: Runs, writing: bool
) -> Generator[Iterable[Operation], None, list[list[Window]]]:
    rows = yield from everyones(link, [runs.first, runs.end, len(runs.offsets) and buffer.size])
    return plan([Hull(*row) for row in rows], file.hints, writing)


def _meet(link: Link, windows: list[Window], runs: Runs) -> Generator[Iterable[Operation], None, _Round]:
    """All processes tell those that have a window which bytes of it they are concerned with."""
    asking = [cut(runs, window.low, window.high) for window in windows]
    counts = zeros((2, link.size), _WORD)
    for window, pieces in zip(windows, asking, strict=True):
        counts[0, window.rank] = len(pieces.positions)
    address, size = address_of(counts), _WORD.itemsize
    yield from alltoall.describe(link, Part(address, size, BYTE), Part(address + size * link.size, size, BYTE))
    tables = [zeros((2, count), _WORD) for count in counts[1].tolist()]
    operations = []
    for rank, table in enumerate(tables):
        if rank != link.rank and table.size:
            operations.append(link.receive_bytes(rank, address_of(table), table.nbytes))
    sent = []
    for window, pieces in zip(windows, asking, strict=True):
        told = array(pieces.runs, _WORD)
        if window.rank == link.rank:
            tables[link.rank] = told
        elif told.size:
            sent.append(told)  # lives until it is sent
            operations.append(link.send_bytes(window.rank, address_of(told), told.nbytes))
    yield operations
    return _Round(windows, asking, [Runs(table[0], table[1]) for table in tables])


def _to_windows(link: Link, this: _Round, held: _Held, stream: memoryview) -> Steps:
    """The data of each process goes to those that write it. Where processes overlap, the one of
    highest rank wins."""
    address = address_of(np.frombuffer(stream, np.uint8)) if len(stream) else 0
    coming = {rank: Scratch(int(runs.lengths.sum())) for rank, runs in enumerate(this.asked) if len(runs.offsets)}
    operations = [
        link.receive_bytes(rank, room.address, room.data.size) for rank, room in coming.items() if rank != link.rank
    ]
    for window, pieces in zip(this.windows, this.asking, strict=True):
        if window.rank == link.rank and pieces.size:
            own = b"".join(stream[at : at + size] for at, size in pieces.segments(0))
            coming[link.rank].data[:] = np.frombuffer(own, np.uint8)
        elif pieces.size:
            operations.append(link.send_body(window.rank, body.Runs(pieces.segments(address))))
    yield operations
    for rank, room in coming.items():
        done, data = 0, room.view
        link.communicator.device.charge(HostCost.COPY, len(data))
        for offset, length in zip(*(part.tolist() for part in this.asked[rank]), strict=True):
            held.bytes_of(offset, length)[:] = data[done : done + length]
            done += length


def _from_windows(link: Link, this: _Round, held: _Held, stream: Scratch) -> Steps:
    """The data that was read goes to each process."""
    operations = []
    for window, pieces in zip(this.windows, this.asking, strict=True):
        if window.rank == link.rank:
            into = stream.view
            for at, offset, length in zip(pieces.positions, *pieces.runs, strict=True):
                into[at : at + length] = held.bytes_of(int(offset), int(length))
        elif pieces.size:
            operations.append(link.receive_body(window.rank, body.Runs(pieces.segments(stream.address))))
    for rank, runs in enumerate(this.asked):
        if rank != link.rank and len(runs.offsets):
            operations.append(link.send_body(rank, body.Runs(held.segments(runs))))
    yield operations


def _end(link: Link, file: File, trouble: Trouble, end: int) -> Moved:
    """All hear whether all went well, and where the file ended."""
    rows = yield from everyones(link, [trouble.number, end])
    trouble.settle(link.call, file.name, (row[0] for row in rows))
    return min(row[1] for row in rows)
