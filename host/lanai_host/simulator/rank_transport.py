"""A rank's end of the transport between ranks without a NIC."""

import os
import struct
from collections.abc import Callable
from typing import Protocol

from .. import process_memory
from ..body import NOTHING, Body, Run
from ..errors import UserError
from ..operation import Wait
from ..source_lines import located
from .protocol import FOREVER, Op, pack_wait
from .requests import STOPPED, Stopped
from .transport import (
    LARGE,
    LOOK_TIME,
    UNREADABLE,
    Answer,
    Awaited,
    Datagram,
    PostSink,
    WaitSink,
    look_at,
    native,
    taken_of,
)

PLACE = struct.Struct("=Q")  # the head of a write


def _as_run(head: bytes, body: Body) -> tuple[bytes, int, int, bytearray | None]:
    """Return a head with what is copied to it of a body, then address and size of the rest, and what that
    rest lies in if it was copied."""
    if isinstance(body, Run):
        return head, body.start, body.size, None
    if body.size < LARGE:
        return head + body.read(), 0, 0, None
    packed = bytearray(body.size)
    address = process_memory.address_of(packed)
    body.pack(0, body.size, address)
    return head, address, body.size, packed


class Connection(Protocol):
    """The part of its rank's connection to the simulator (`client.SimulatorClient`) that `RankTransport` uses."""

    rank: int
    clock: int
    watchful: bool

    def check(self) -> None: ...

    def count_from_now(self) -> None: ...

    def call(self, op: Op, payload: bytes = b"") -> bytes: ...

    def finalize(self) -> None: ...


class RankTransport:
    """A rank's end, the `Transport` of `stacks.ideal.datagrams`. Its time is the client's `clock`."""

    def __init__(self, client: Connection, path: str) -> None:
        made = native()
        self._ffi, self._lib, self._unpack = made.ffi, made.lib, made.ffi.unpack
        self._post, self._wait = made.lib.hub_post, made.lib.hub_wait
        self._receive, self.delivery = made.lib.hub_receive, made.ffi.new("delivery *")
        self._write, self._settled = made.lib.hub_write, made.ffi.new("int64_t *")
        self._client = client
        self._rank = client.rank
        self.wait_sink: WaitSink | None = None  # told of each `collect`
        self.post_sink: PostSink | None = None  # told of each `post`
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise UserError(f"cannot open the simulator's shared memory {path}: {error.strerror}") from error
        try:
            self._hub = self._lib.hub_open(file, os.fstat(file).st_size, 0, 0, 0, 0, 0, 0)
        finally:
            os.close(file)
        if not self._hub:
            raise UserError("cannot map the shared memory for messages; raise `ulimit -v`")
        self._lib.hub_set_path(self._hub, path.encode())

    @property
    def now(self) -> int:
        return self._client.clock

    def elapse(self, picoseconds: int) -> None:
        self._client.clock += picoseconds

    def post(self, dest: int, head: bytes, body: Body = NOTHING, quiet: int = 0) -> None:
        """Only the body takes time on the link. `quiet`: this rank will post nothing more for so
        many picoseconds, so that the datagram may be taken before this rank waits.

        Raises BusError if the body cannot be read.
        """
        client = self._client
        if client.watchful:
            client.check()
        charged = body.size
        head, address, size, _packed = _as_run(head, body)
        now = client.clock
        posted = self._post(self._hub, self._rank, dest, now, now + quiet, head, len(head), address, size, charged)
        if posted == UNREADABLE:
            raise process_memory.unreadable(address, size)
        if not posted:
            raise UserError(f"no shared memory is left for a datagram of {len(head) + size} bytes")
        if self.post_sink is not None:
            begin, arrival = self._ffi.new("int64_t *"), self._ffi.new("int64_t *")
            self._lib.hub_last_posted(self._hub, begin, arrival)
            self.post_sink(begin[0], arrival[0])

    def allocate(self, size: int) -> tuple[int, int] | None:
        """Memory that other ranks may write to, all 0: its place, which means the same to all ranks,
        and its address here. None if there is no room."""
        place = self._lib.hub_allocate(self._hub, size)
        return (place, self._lib.hub_address(self._hub, place)) if place else None

    def free(self, place: int) -> None:
        """Give memory back that `allocate` gave. Nothing may be on its way to it."""
        self._lib.hub_free(self._hub, place)

    def write(self, dest: int, place: int, body: Body) -> int:
        """Write to memory that rank `dest` has allocated. That costs what a datagram does and wakes no
        rank. Returns when this rank may know that the bytes are there. What it posts later does not
        overtake them.

        Raises BusError if the body cannot be read.
        """
        client = self._client
        if client.watchful:
            client.check()
        head, address, size, _packed = _as_run(PLACE.pack(place), body)
        settled = self._settled
        written = self._write(self._hub, self._rank, dest, client.clock, head, len(head), address, size, settled)
        if written == UNREADABLE:
            raise process_memory.unreadable(address, size)
        if not written:
            raise UserError(f"no shared memory is left for a write of {body.size} bytes")
        return int(settled[0])

    def collect(self, why: Wait | None, until: int = FOREVER) -> list[tuple[int, Datagram]]:
        """All datagrams that have arrived. With a reason, waits for one, at most `until`."""
        client = self._client
        before = client.clock
        if client.watchful:
            client.check()
        if why is None:
            client.clock += LOOK_TIME
            now = self._wait(self._hub, self._rank, client.clock, Awaited.LOOK)
        elif until == FOREVER:
            now = self._wait(self._hub, self._rank, client.clock, Awaited.DATAGRAM)
        else:
            self._lib.hub_begin_wait(self._hub, self._rank, client.clock, Awaited.DATAGRAM, until)
            now = self._lib.hub_wait_on(self._hub, self._rank)
        client.clock = now if now >= 0 else self._wait_on(now, why)
        if client.watchful:
            client.count_from_now()
        datagrams = self._collected()
        if self.wait_sink is not None:
            self.wait_sink(why, before)
        return datagrams

    def pass_looks(self, price: int, most: int) -> int:
        """Let looks pass that find nothing, at most `most`, as `collect` does one after the other. Return how many.
        Before each the rank pays `price`, which is still to be paid."""
        client, step = self._client, price + LOOK_TIME
        if client.watchful:
            client.check()
        if not self._lib.hub_begin_looks(self._hub, self._rank, client.clock, step, most):
            return 0
        count = (self._wait_on(self._lib.hub_wait_on(self._hub, self._rank), None) - client.clock) // step
        client.clock += count * LOOK_TIME
        if client.watchful:
            client.count_from_now()
        return int(count)

    def receive(
        self, source: int, match: bytes, head: int, address: int, room: int, why: Callable[[], Wait]
    ) -> list[tuple[int, Datagram]]:
        """Wait as `collect` does with a reason, and copy a message straight to its receive.

        If the first datagram is from `source` (any: -1), begins with `match`, and has at most `room` bytes after its
        `head` bytes, these are copied to `address`. `delivery` then describes that datagram, which is not in the list.
        """
        client = self._client
        if client.watchful:
            client.check()
        delivery = self.delivery
        now = self._receive(
            self._hub, self._rank, client.clock, source, match, len(match), head, address, room, delivery
        )
        if now < 0:
            now = self._wait_on(now, why())
        client.clock = now
        if client.watchful:
            client.count_from_now()
        return [] if delivery.taken and not delivery.more else self._collected()

    def take_turn(self, why: Wait) -> None:
        """Wait until all other ranks wait, and none would resume before this one. What this rank
        then asks of the simulator comes in the order of simulated time."""
        client = self._client
        if client.watchful:
            client.check()
        now = self._wait(self._hub, self._rank, client.clock, Awaited.TURN)
        client.clock = now if now >= 0 else self._wait_on(now, why)
        if client.watchful:
            client.count_from_now()

    def head(self, size: int) -> bytes:
        """The first `size` bytes of the datagram that `delivery` describes."""
        found: bytes = self._unpack(self.delivery.head, size)
        return found

    def _collected(self) -> list[tuple[int, Datagram]]:
        """All datagrams that have arrived."""
        return taken_of(self._ffi, self._lib, self._hub, self._rank)

    def stand_aside(self) -> None:
        """This rank aborts: time passes for the others until each of them waits, and is stopped."""
        self._lib.hub_begin_wait(self._hub, self._rank, self._client.clock, Awaited.END, FOREVER)

    def close(self) -> None:
        self._lib.hub_leave(self._hub, self._rank)
        self._client.finalize()

    def _wait_on(self, now: int, why: Wait | None) -> int:
        """Continue a wait and publish its reason; if the run is over, report that to the simulator,
        which ends this process."""
        if now >= 0:
            return now
        record = pack_wait(located(why or Wait("a look for messages")))
        while now == Answer.AGAIN:
            self._lib.hub_set_reason(self._hub, self._rank, record, len(record))
            now = self._lib.hub_wait_on(self._hub, self._rank)
        if now < 0:
            wake = look_at(self._ffi, self._lib, self._hub, self._rank).wake
            self._client.call(Op.STOPPED, STOPPED.pack(Stopped(wake), record))
        return now
