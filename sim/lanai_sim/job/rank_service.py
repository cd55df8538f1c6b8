"""Serves one rank's requests: life cycle here, the NIC behind `NicAccess`."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from lanai_host.errors import UserError
from lanai_host.simulator.protocol import CATCH_UP_TIME, FOREVER, TEXT, VERSION, Op, Status
from lanai_host.simulator.requests import ABORT, FINALIZE, HELLO, QUIET, STOPPED, WAITED, Look, Quiet

from ..engines.words import Polls, Words
from ..kernel.kernel import Kernel
from .rank import Rank
from .ranks import Ranks
from .request import Request

PIO_WRITE = int(Op.PIO_WRITE)  # compared with the op of each request
QUIET_AT_MOST = (
    1_000_000_000  # picoseconds that a rank may go on without a word, so that it is known how far the run is
)


class Abort(Exception):
    """A rank called MPI_Abort."""

    def __init__(self, rank: int, code: int) -> None:
        super().__init__(f"rank {rank} aborted with code {code}")
        self.rank = rank
        self.code = code


class NicAccess(Protocol):
    """A server of the requests that concern a rank's NIC. Times are the rank's clock in and out."""

    async def connect(self, pid: int) -> None:
        """The rank's process has this id."""

    async def serve(self, request: Request, clock: int) -> tuple[int, bytes]:
        """Serve any request but a write. Return its completion time and answer."""

    async def write(self, requests: Sequence[Request], clock: int, then: Request | None = None) -> int:
        """Do PIO writes, each of them its `elapsed` after the one before was done; the time at
        which they are done. `then`: what is served next, and may have begun or ended by then."""

    def quiet_until(self) -> int:
        """The time up to which no NIC does anything unless a host asks for it; 0 if that is not
        known."""

    def hand_over(self, state: bytes) -> None:
        """The rank is about to leave, and this is what the next process in its place must know
        (`Device.handover`)."""

    def close(self) -> None:
        """The rank has left."""


class Refused(Exception):
    """A request that the rank may not make; it gets the text."""


class Service:
    """One rank's task. `config` is what the rank learns at HELLO; `manage` answers what it asks of
    the process manager. `in_one`: what follows writes may begin before this task has seen them done."""

    in_one: ClassVar[bool] = True

    def __init__(
        self,
        kernel: Kernel,
        ranks: Ranks,
        rank: Rank,
        config: Mapping[str, Any],
        access: NicAccess | None = None,
        manage: Callable[[Rank, bytes], bytes] | None = None,
    ) -> None:
        self.kernel, self.ranks, self.rank = kernel, ranks, rank
        self.config = config
        self.access = access
        self.manage = manage

    async def run(self) -> None:
        """Serve until the rank finalizes or its process ends."""
        rank = self.rank
        try:
            while requests := await self.ranks.requests(rank):
                self._arrived()
                *posted, request = requests  # the last one blocks
                if posted:
                    await self._first(posted, request)
                rank.clock += request.elapsed
                rank.op = request.op
                await self._begin(request)
                try:
                    answer = await self._blocking(request)
                except (Refused, UserError) as refusal:
                    self._answer(str(refusal).encode(*TEXT), Status.ERROR)
                    continue
                self._answer(answer)
                if rank.finalized:
                    self.ranks.leave(rank)
                    return
        finally:
            if self.access is not None:
                self.access.close()

    def _arrived(self) -> None:
        """The rank has begun to wait, and nothing that it asked for has been done."""

    async def _begin(self, request: Request) -> None:
        """This is to be served next."""

    def _answer(self, payload: bytes, status: Status = Status.OK) -> None:
        self.rank.answer(payload, status)

    async def _first(self, requests: Sequence[Request], then: Request) -> None:
        """Do what came before a request that blocks, `then`; writes in a row are one burst."""
        writes: list[Request] = []
        for request in requests:
            if request.op == PIO_WRITE:
                writes.append(request)
                continue
            if writes:
                await self._write(writes)
                writes = []
            await self._posted(request)
        if writes:
            await self._write(writes, then if self.in_one else None)

    async def _write(self, requests: Sequence[Request], then: Request | None = None) -> None:
        rank = self.rank
        before = rank.clock
        for request in requests:
            before += request.elapsed
        rank.clock = await self._nic_of(requests[0]).write(requests, rank.clock, then)
        rank.pio += rank.clock - before

    async def _posted(self, request: Request) -> None:
        self.rank.clock += request.elapsed
        if request.op != Op.ELAPSE:
            await self._nic(request)

    async def _blocking(self, request: Request) -> bytes:
        rank, op = self.rank, request.op
        if op == Op.CATCH_UP:
            rank.clock += CATCH_UP_TIME
            await self.kernel.until(rank.clock, rank.number)
            return QUIET.pack(Quiet(self._quiet_until()))
        if op == Op.STOPPED:
            # What could wake it has been looked for by the transport: nothing can, or nothing
            # before the limit of time.
            wake = STOPPED.split(request.payload)[0].wake
            await (self.kernel.suspension() if wake == FOREVER else self.kernel.until(wake, rank.number))
        if op == Op.HELLO:
            return await self._hello(request.payload)
        if op == Op.FINALIZE:
            if self.access is not None or not rank.origin:  # those that were started on the way leave one by one
                await self.kernel.until(rank.clock, rank.number)
            rank.finalized = True
            said, handover = FINALIZE.split(request.payload)
            rank.placement = said.placement
            if self.access is not None:
                self.access.hand_over(handover)
            return b""
        if op == Op.MANAGE and self.manage is not None:
            if self.access is not None:  # else the ranks have put themselves in the order of their times
                await self.kernel.until(rank.clock, rank.number)
            return self.manage(rank, request.payload)
        if op == Op.ABORT:
            raise Abort(rank.number, ABORT.unpack(request.payload).code)
        return await self._nic(request)

    def _quiet_until(self) -> int:
        """The time up to which nothing can change for the rank, which has come to its own, unless
        it asks for something."""
        if self.access is None or self.ranks.running:  # what another asks for next is not known
            return 0
        kernel = self.kernel
        most = min(kernel.next_time(), kernel.limit, self.rank.clock + QUIET_AT_MOST)
        return min(most, self.access.quiet_until()) if most > self.rank.clock else 0

    async def _hello(self, payload: bytes) -> bytes:
        version, pid = HELLO.unpack(payload)
        if version != VERSION:
            raise Refused(
                f"this rank speaks protocol version {version}, the simulator {VERSION}; use one openlanai for both"
            )
        self.rank.pid = pid
        self.rank.connected = True
        if self.access is not None:
            await self.access.connect(pid)
        return json.dumps(self.config, default=str).encode()

    async def _nic(self, request: Request) -> bytes:
        rank = self.rank
        before = rank.clock
        rank.clock, answer = await self._nic_of(request).serve(request, before)
        if request.op == Op.PIO_READ:
            rank.pio += rank.clock - before
        elif request.op == Op.LOOK_AND_WAIT:
            rank.waited += WAITED.unpack(answer).picoseconds
        elif request.op != Op.WORK:
            rank.waited += rank.clock - before
        return answer

    def _nic_of(self, request: Request) -> NicAccess:
        if self.access is None:
            raise Refused(f"{Op(request.op).name}: this fabric has no NICs; choose a device other than ideal")
        return self.access


# Polls that the simulator does for a rank: they take time and do nothing else (`bus.base.KnownPoll`).


NO_POLLS = Look(0, -1, 0, 0, 0, 0)  # a wait alone


def known_polls(look: Look, words: Words) -> Polls:
    """The polls of one wait. `words`: those that the rank waits for, and behind them those that are decisive."""
    count = len(words) - look.decisive
    if count <= 0 and look is not NO_POLLS:
        raise Refused(f"{look.decisive} of {len(words)} words cannot be decisive: a wait needs another one")
    if not -1 <= look.place < count or (look.place >= 0 and (count < 2 or look.decisive)):
        raise Refused(f"word {look.place} of {count} cannot be noted")
    if look.picoseconds < 0 or look.noting < 0:
        raise Refused(f"a poll cannot take {min(look.picoseconds, look.noting)} ps; name a time of 0 or more")
    return words.polled(look.decisive, look.picoseconds, look.place, look.value, look.noting)
