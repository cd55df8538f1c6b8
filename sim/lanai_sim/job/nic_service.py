"""A rank process's side of its NIC: serves the client's bus requests on a node."""

import contextlib
import json
import mmap
import os
from collections.abc import Awaitable, Callable, Sequence
from ctypes import addressof, c_char
from itertools import count

from lanai_firmware.image import Image
from lanai_hdl.errors import UserError
from lanai_hdl.machine import PAGE_SIZE
from lanai_host.bus.greenlets import run_in_greenlet
from lanai_host.config import HostConfig
from lanai_host.simulator.protocol import CATCH_UP_TIME, TEXT, Op
from lanai_host.simulator.requests import (
    ALLOCATE,
    BUS_ADDRESS,
    LOOK,
    PIN,
    PINNED,
    PIO_READ,
    UNPIN,
    WAITED,
    WATCHED_WORD,
    BusAddress,
    Pinned,
    WaitAny,
    Waited,
    split_pio_write,
    split_words,
)
from lanai_host.stacks.attachment import Attachment
from lanai_host.stacks.base import NicStack

from ..engines.base import Burst
from ..engines.words import Buffers, Continuation, Polls, Stage, Words
from ..kernel.cluster import Cluster
from ..kernel.kernel import Suspension
from ..kernel.node import Node, WaitTimeout
from .rank_service import NO_POLLS, Refused, known_polls
from .request import Forbidden, Grant, Packer, Request, Writes

USER_END = 1 << 47  # end of a process's own addresses


def place_of(image: Image | None, pc: int) -> str:
    """Return where in the firmware an instruction is."""
    return f"{pc:#x}" if image is None else str(image.where(pc))


class RankAccess:
    """Serves one rank: PIO to its own part of the NIC, host memory that the NIC may reach, waits
    for words in it. Its pinned memory is reached by (pid, address), what it allocated is mapped
    here too. PIO is refused until `attach`.

    A process that has handed over may be followed by another one, after `follow`. What the first
    process allocated first, to which the NIC may still write, is then what the second one
    allocates first.
    """

    def __init__(self, cluster: Cluster, node: Node, number: int) -> None:
        self.cluster = cluster
        self.node = node
        self.number = number
        self.pages = node.new_bus_pages()
        self._allow(Grant(number))
        self._examine: Callable[[int], Awaitable[tuple[int, bytes]]] | None = None
        self._pid = 0
        self._pins: dict[int, list[int]] = {}
        self._buffers: list[tuple[int, mmap.mmap]] = []  # (bus address, memory)
        self.words_in = Buffers()  # the same
        self._tokens = count(1)
        self._continuation: Continuation | None = None  # of the rank's last writes
        # The next request was given to the engine elsewhere: the end of its writes or wait, and its continuation.
        self.begun: tuple[Suspension[tuple[int, int]], Continuation | None] | None = None
        self.timeout = WaitTimeout()
        self.inherited = b""  # what this process has from the one before it
        self._handover = b""
        self._kept: mmap.mmap | None = None  # what the process that left allocated first

    def attach(self, stack: NicStack, attachment: Attachment, host: HostConfig, image: Image | None) -> None:
        """The NIC is booted, with this as the rank's part of it. `host` prices what the driver does
        for the rank."""
        self._allow(Grant.of(attachment))

        async def look(clock: int) -> tuple[int, bytes]:
            bus = self.cluster.bus(self.node.number, host)
            bus.clock, bus.number = clock, self.number
            finding = await run_in_greenlet(
                stack.examine, bus, attachment, lambda pc: place_of(image, pc), lambda: self.node.keep_counts(bus)
            )
            if finding is not None:
                self.node.was_reset = True
            return bus.clock, (finding or "").encode(*TEXT)

        self._examine = look

    def _allow(self, grant: Grant) -> None:
        self.grant = grant
        self.packer = Packer(grant)

    async def connect(self, pid: int) -> None:
        self._pid = pid

    async def serve(self, request: Request, clock: int) -> tuple[int, bytes]:
        try:
            return await self._serve(request.op, request.payload, clock)
        except (UserError, OSError) as error:
            raise Refused(str(error)) from error

    async def write(self, requests: Sequence[Request], clock: int, then: Request | None = None) -> int:
        if self.begun is not None:
            return await self._begun()
        first = requests[0]
        if isinstance(first, Writes) and len(requests) == 1 and (packed := self.packer.pack(first)) is not None:
            continuation = None if then is None else self._continuation_of(then)
            done = self.node.write_packed(clock, packed, continuation)
            if done is not None:
                written = (await done)[0]
                self._continuation = continuation
                return written
        return await self._write_each([one for request in requests for one in request.each()], clock)

    async def _begun(self) -> int:
        """Wait for what the engine was given elsewhere. Return the time at which its writes were done."""
        assert self.begun is not None
        (done, self._continuation), self.begun = self.begun, None
        return (await done)[0]

    async def _write_each(self, requests: Sequence[Request], clock: int) -> int:
        bursts: list[Burst] = []
        try:
            for request in requests:
                offset, data = split_pio_write(request.payload)
                self.grant.check_write(offset, data)
                bursts.append(Burst(request.elapsed, offset, data))
        except Forbidden:
            await self.node.write_all(clock, bursts)  # what came before it was right
            raise
        return await self.node.write_all(clock, bursts)

    def quiet_until(self) -> int:
        return self.cluster.quiet_until()

    def _continuation_of(self, request: Request) -> Continuation | None:
        """Return what the engine may go on with by itself after writes, if that is a wait that is not refused."""
        if not self.cluster.may_go_on or request.op not in (Op.WAIT_ANY, Op.LOOK_AND_WAIT) or request.elapsed < 0:
            return None
        try:
            first, timeout, polls = self._polls(request.op, request.payload)
        except (Refused, UserError):
            return None  # it is refused once the writes are done
        if timeout < 0 or (not timeout and self.timeout.expired):  # only its own wait knows when that ends
            return None
        return Continuation(
            self.node.number, polls, request.elapsed, CATCH_UP_TIME if first else 0, timeout, self.number
        )

    async def _serve(self, op: int, payload: bytes, clock: int) -> tuple[int, bytes]:
        if op == Op.PIO_READ:
            offset, size = PIO_READ.unpack(payload)
            self.grant.check_read(offset, size)
            return await self.node.read(clock, offset, size)
        if op == Op.WORK:
            head, words = self._words(payload)
            timeout = WaitTimeout().wait(clock, head.timeout, words)
            return await self.node.changed(clock, words, self.number, timeout), b""
        if op in (Op.WAIT_ANY, Op.LOOK_AND_WAIT):
            return await self._look_and_wait(op, payload, clock)
        if op == Op.UNPIN:
            # At the rank's own time: the NIC may use the pages until then.
            await self.cluster.kernel.until(clock, self.number)
            self._unpin(UNPIN.unpack(payload).token)
            return clock, b""
        if op == Op.PIN:
            return clock, self._pin(*PIN.unpack(payload))
        if op == Op.ALLOC:
            return clock, BUS_ADDRESS.pack(BusAddress(self._allocate(*ALLOCATE.unpack(payload))))
        if op == Op.STORE:
            (address,), data = BUS_ADDRESS.split(payload)
            await self.node.store(clock, self.number, address, data)
            return clock, b""
        if op == Op.REPORT_LOST:
            await self.cluster.kernel.until(clock, self.number)  # else the machine decides who has heard of it
            self.cluster.report_lost(self.number, payload.decode(*TEXT))
            return clock, b""
        if op == Op.EXAMINE and self._examine is not None:
            return await self._examine(clock)
        if op == Op.LOST:
            await self.cluster.kernel.until(clock, self.number)
            self.timeout.heard = self.cluster.news
            return clock, json.dumps(self.cluster.lost).encode()
        raise Refused(f"{Op(op).name} is not a request to a NIC")

    async def _look_and_wait(self, op: int, payload: bytes, clock: int) -> tuple[int, bytes]:
        """Do in one request what the rank would do in several, at the same times: CATCH_UP, a poll that finds
        nothing, WAIT_ANY, and as many more polls and waits as find nothing. Of this a WAIT_ANY is the wait alone."""
        if self.begun is not None:
            await self._begun()
        continuation, self._continuation = self._continuation, None
        if continuation is not None and continuation.state.stage != Stage.WRITES:  # the engine has begun with it
            state, timeout, polls = continuation.state, continuation.timeout, continuation.polls
            stage, clock, waited = state.stage, state.clock, state.waited
            if state.waits:
                self.timeout.expired = False  # the last one ended in time
        else:
            first, timeout, polls = self._polls(op, payload)
            continuation, waited = None, 0
            stage, clock = (Stage.CATCHES_UP, clock + CATCH_UP_TIME) if first else (Stage.WATCHES, clock)
        took: int | None = None if stage == Stage.ENDS else 0
        if stage == Stage.CATCHES_UP:
            await self.cluster.kernel.until(clock, self.number)
            took, continuation = polls.first(), None
        while took is not None:
            clock += took
            words = polls.words
            limit = self.timeout.wait(clock, timeout, words, self.cluster.news)
            until = await self.node.changed(clock, words, self.number, limit, continuation)
            waited += until - clock
            clock, took, continuation = until, polls.again(), None
        return clock, WAITED.pack(Waited(polls.noted, polls.polls, waited)) if op == Op.LOOK_AND_WAIT else b""

    def _polls(self, op: int, payload: bytes) -> tuple[int, int, Polls]:
        """Return whether a request to wait begins with a poll, how long a wait lasts at most, and its polls."""
        look, rest = LOOK.split(payload) if op == Op.LOOK_AND_WAIT else (NO_POLLS, payload)
        head, words = self._words(rest)
        return look.first, head.timeout, known_polls(look, words)

    def _words(self, payload: bytes) -> tuple[WaitAny, Words]:
        """The head of a request to wait, and its words."""
        head, watched = split_words(payload)
        words = self.words_in.find(watched, head.words)
        if not isinstance(words, int):
            return head, words
        address = WATCHED_WORD.struct.unpack_from(watched, words * WATCHED_WORD.size)[0]
        raise Refused(f"bus address {address:#x} is in none of this rank's buffers; wait for words in allocated memory")

    def _pin(self, address: int, size: int, writable: int) -> bytes:
        if not 0 < size <= USER_END or not 0 < address <= USER_END - size:
            raise Refused(f"cannot pin {size} bytes at {address:#x}: not a range of a process's memory")
        self._probe(address, size)
        start = address & -PAGE_SIZE
        pages = self.pages.take(-(-(address + size - start) // PAGE_SIZE))
        for i, page in enumerate(pages):
            self._map_pinned(page, start + i * PAGE_SIZE, bool(writable))
        token = next(self._tokens)
        self._pins[token] = pages
        return PINNED.pack(Pinned(token), b"".join(BUS_ADDRESS.pack(BusAddress(page * PAGE_SIZE)) for page in pages))

    def _probe(self, address: int, size: int) -> None:
        """Refuse what is not mapped, as pinning does in a kernel: first and last byte tell for all
        that one object holds."""
        handle = os.open(f"/proc/{self._pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            for place in (address, address + size - 1):
                os.pread(handle, 1, place)
        except OSError:
            raise Refused(f"cannot pin {size} bytes at {address:#x}: not all mapped in process {self._pid}") from None
        finally:
            os.close(handle)

    def _unpin(self, token: int) -> None:
        pages = self._pins.pop(token, None)
        if pages is None:
            return
        for page in pages:
            self._unmap_pinned(page)
        self.pages.give_back(pages)

    def _map_pinned(self, page: int, address: int, writable: bool) -> None:
        self.node.engine.map_remote(self.node.number, page, self._pid, address, writable)

    def _unmap_pinned(self, page: int) -> None:
        self.node.engine.unmap(self.node.number, page)

    def _allocate(self, handle: int, size: int, shared: int) -> int:
        pages = -(-size // PAGE_SIZE)
        file = os.open(f"/proc/{self._pid}/fd/{handle}", os.O_RDWR | os.O_CLOEXEC)  # may fail: before pages are taken
        try:
            first = self.pages.run(pages)
            memory = mmap.mmap(file, pages * PAGE_SIZE)
        finally:
            os.close(file)
        address = addressof(c_char.from_buffer(memory))
        self._take_kept(first, memory)
        for i in range(pages):
            self.node.engine.map_local(self.node.number, first + i, address + i * PAGE_SIZE, True)
        self._buffers.append((first * PAGE_SIZE, memory))
        self.words_in.add(first * PAGE_SIZE, memory)
        if shared:
            self.node.memory.add(first * PAGE_SIZE, memory)
        return first * PAGE_SIZE

    def _take_kept(self, first: int, memory: mmap.mmap) -> None:
        """The first allocation of a process that follows another one goes on with what lies there."""
        kept, self._kept = self._kept, None
        if kept is None:
            return
        if len(kept) != len(memory):
            raise Refused(f"{len(memory)} bytes cannot follow the {len(kept)} of the process before")
        memory[:] = kept[:]
        self._unmap(first * PAGE_SIZE, kept)
        _close(kept)

    @property
    def may_be_followed(self) -> bool:
        """Has a process left that has told what the next one must know?"""
        return bool(self._handover) and self._kept is not None

    def hand_over(self, state: bytes) -> None:
        self._handover = state

    def follow(self) -> None:
        """Another process has the rank's place from now on. Bus addresses begin anew."""
        self.inherited, self._handover = self._handover, b""
        self.pages.begin()
        self.timeout = WaitTimeout()
        self.timeout.heard = self.cluster.news

    def close(self) -> None:
        """The rank has left: the NIC can no longer reach its memory, except what another process
        will follow in."""
        cluster = self.cluster
        if cluster.lost and self.number not in cluster.lost:  # else all leave together
            cluster.report_lost(self.number, f"rank {self.number} has left the job")
        for token in list(self._pins):
            self._unpin(token)
        if self._handover and self._buffers:
            _, self._kept = self._buffers.pop(0)
        for first, memory in self._buffers:
            self.node.memory.remove(first)
            self._unmap(first, memory)
        self._free_buffers()

    def _unmap(self, first: int, memory: mmap.mmap) -> None:
        for i in range(len(memory) // PAGE_SIZE):
            self.node.engine.unmap(self.node.number, first // PAGE_SIZE + i)

    def free(self) -> None:
        """The run is over."""
        if self._kept is not None:
            _close(self._kept)
            self._kept = None
        self._free_buffers()

    def _free_buffers(self) -> None:
        self.words_in.clear()
        for _, memory in self._buffers:
            _close(memory)
        self._buffers = []


def _close(memory: mmap.mmap) -> None:
    with contextlib.suppress(BufferError):  # a pointer into it is still about: freed with the run
        memory.close()
