"""All ranks' processes as the scheduler sees them: which run and which wait, requests in order of
rank."""

import selectors
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, Protocol

from lanai_host.device import Envelope
from lanai_host.simulator.protocol import ABORT_TIMEOUT, FinalState, Op
from lanai_host.simulator.spin import PROCESSORS, Steering

from ..kernel.kernel import Kernel, Suspension
from .rank import POLL_SECONDS, Rank, Stray
from .request import Request
from .system_calls import OwnTime, sleeps_in, times, waits_in
from .turns import PERIOD, Sleepers, Turns

ASIDE_SECONDS = 0.005  # of real time between two looks at processes that wait outside the simulation
SETTLE_SECONDS = 0.1  # likewise, to come to a wait if they still run code
REPLY_SECONDS = 2.0  # of their own that ranks may take to say where they stand


class Came(NamedTuple):
    """Bytes that have come from a rank that runs: none if it has gone, None if nothing came for a while."""

    rank: Rank
    data: bytes | None


class Native(Protocol):
    """Serves ranks in C: `native_loop.NativeLoop`."""

    def may_serve(self, ranks: Sequence[Rank]) -> bool:
        """Return whether these ranks, which alone run code, may be served here."""

    def serve(self, ranks: Sequence[Rank]) -> list[Came]:
        """Serve these ranks, and those that go on after them. Return what has come from those that run at last; none if
        no rank runs any more: the engine has run, or has come to the next moment before."""

    @property
    def began(self) -> float:
        """The time at which the last turn began, in seconds of `time.monotonic`."""


class Ranks:
    """All ranks of a run, as the scheduler's `Outside`. `on_quiet` is called while nothing comes
    from processes that run code, about ten times a second: the launcher looks after exits there,
    and may raise to end the run. `at_once` says whether a rank's request is served
    though other ranks run code; `heard` hears of ranks' notices. `first`: the number of the first rank."""

    def __init__(
        self,
        kernel: Kernel,
        socks: list[socket.socket],
        on_quiet: Callable[[], None],
        at_once: Callable[[Rank, int], bool] = lambda rank, op: False,
        heard: "Callable[[Ranks, Rank], None]" = lambda ranks, rank: None,
        first: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ranks: list[Rank] = []
        self.running = 0
        self.aside: list[Rank] = []  # their processes wait outside the simulation, and time passes without them
        self.sleepers = Sleepers()
        self.missed = False  # time has passed without a sleeper
        self._looked = 0.0  # when sleepers that are aside were looked at last
        self.on_quiet = on_quiet
        self._at_once = at_once
        self._heard = heard
        self._active: list[Rank] = []  # those whose code may run: a short list where there are many ranks
        self._steering = Steering()
        self._turns = Turns(self._steering, PROCESSORS, lambda: times("thread-self"), self._ran)
        self._selector = selectors.EpollSelector()
        for number, sock in enumerate(socks, first):
            self.add(sock, number)
        self.native: Native | None = None  # serves what is usual
        self._ready: list[tuple[int, Suspension[list[Request]], list[Request]]] = []
        self._since_abort: dict[int, OwnTime] | None = None  # of each other rank: it is not waited for for ever
        kernel.outside = self

    def add(self, sock: socket.socket, number: int) -> Rank:
        """One more: with the next number, or that of a rank whose process has left."""
        rank = Rank(number, sock, self._steering)
        rank.heard = partial(self._heard, self)
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

    def _ran(self) -> float:
        """Seconds for which the first threads of ranks ran."""
        return sum(times(rank.pid).ran for rank in self.ranks if rank.connected and not rank.gone)

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
        """Return the ranks whose code may run."""
        return list(self._active)

    def set_aside(self, rank: Rank) -> None:
        """The rank's process waits for something that is not part of the simulation: time passes without
        it."""
        self._active.remove(rank)
        self.running -= 1
        self.aside.append(rank)

    def take_back(self) -> bool:
        """Ranks whose processes no longer wait there run code again, at the time that it is by now, or
        have asked for something already."""
        back = False
        look = bool(self.sleepers) and time.monotonic() >= self._looked + PERIOD
        for rank in list(self.aside):
            requests = rank.read()
            if requests is not None:
                self.finish(rank, requests)
            elif self._is_awake(rank, look):
                self._take_back(rank)
            back |= rank not in self.aside
        if look:
            self._looked = time.monotonic()
        return back

    def _is_awake(self, rank: Rank, look: bool) -> bool:
        """Return whether a rank that is aside runs code again, as far as that is looked at now."""
        if self.sleepers.knows(rank.pid):
            return look and not sleeps_in(rank.pid)
        return not waits_in(rank.pid)

    def _take_back(self, rank: Rank) -> None:
        self.aside.remove(rank)
        self.missed |= self.sleepers.knows(rank.pid) and rank.clock < self.kernel.now
        rank.clock = max(rank.clock, self.kernel.now)
        self._active.append(rank)
        self.running += 1

    def wait_aside(self) -> None:
        time.sleep(ASIDE_SECONDS)
        self.on_quiet()

    def wait(self) -> None:
        released, began, native = self.running, time.monotonic(), self.native
        while (self.running or (self.aside and self.take_back())) and not self._gives_up():
            self.kernel.check()
            if native is not None and self._usual(native):
                if not self._serve(native):
                    return  # it has told of all turns
                released, began, native = self.running, native.began, None
            elif self.running == 1 and not self.sleepers:
                self._wait_for_one()
            else:
                self._wait_for_any()
        if released:
            self._turns.waited(released, time.monotonic() - began)
        ready, self._ready = self._ready, []
        if len(ready) > 1:
            ready.sort(key=lambda entry: entry[0])
        for _, suspension, requests in ready:
            suspension.resume(requests)

    def _gives_up(self) -> bool:
        """Return whether a rank has aborted, and those that still run code have had the time to come to a wait."""
        since = self._since_abort
        return since is not None and all(
            rank.number not in since or since[rank.number].seconds >= ABORT_TIMEOUT for rank in self._active
        )

    def _usual(self, native: Native) -> bool:
        """Return whether the native loop may serve the ranks that run code."""
        return not (self._ready or self.aside or self.sleepers) and native.may_serve(self._active)

    def _serve(self, native: Native) -> bool:
        """Have ranks served as long as they do what is usual. Return False if none runs any more."""
        came = native.serve(self._active)
        for rank, data in came:
            requests = None if data is None else rank.take(data)
            if requests is not None:
                self.finish(rank, requests)
            elif data is None or rank.gone:
                self._see_to(rank)
        return bool(came)

    def _wait_for_one(self) -> None:
        """The usual case, one system call cheaper."""
        rank = self._active[0]
        requests = rank.read(0)
        if requests is not None:
            self.finish(rank, requests)
        else:
            self._see_to(rank)

    def _see_to(self, rank: Rank) -> None:
        """Nothing has come from a rank for a while, or it has gone."""
        self.on_quiet()
        if rank.gone and rank.pending is not None:
            time.sleep(POLL_SECONDS / 10)  # its process closed the socket and goes on: see it end

    @property
    def processor(self) -> int:
        """The processor that the run's processes share, or `NOWHERE`."""
        return self._steering.processor

    def waited(self, released: int, seconds: float) -> None:
        """So many ranks were released, and have asked after so many seconds."""
        self._turns.waited(released, seconds)

    def begin_wait(self, rank: Rank) -> Suspension[list[Request]]:
        """The rank waits for something that its task has not heard of. Return the task's suspension, for `go_on`."""
        assert rank.pending is not None
        pending, rank.pending = rank.pending, None
        rank.running = False
        self._active.remove(rank)
        self.running -= 1
        return pending

    def go_on(self, rank: Rank, pending: Suspension[list[Request]]) -> None:
        """The rank runs code again, and its task has heard of nothing."""
        rank.pending = pending
        rank.running = True
        self._active.append(rank)
        self.running += 1

    def _wait_for_any(self) -> None:
        with self._steering:
            events = self._selector.select(PERIOD if self.sleepers else POLL_SECONDS)
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
        if rank in self.aside:
            self._take_back(rank)
        if requests and rank.log is not None:
            rank.log.asked(requests)
        if requests and requests[-1].op == Op.ABORT:
            self._since_abort = {one.number: OwnTime(one.pid) for one in self.ranks}
        pending = self.begin_wait(rank)
        rank.request = requests[-1] if requests else None
        if requests and self._at_once(rank, requests[-1].op):
            pending.resume(requests)
        else:
            self._ready.append((rank.number, pending, requests))

    def hear_waiting(self, waits: Callable[[Rank], bool], settle: bool) -> None:
        """The run is over: take what ranks say that have begun to wait and could not say so yet, and with `settle`
        those that are about to."""
        patience = {rank.number: OwnTime(rank.pid) for rank in self.ranks}
        for rank in self.ranks:
            over = not (settle or waits(rank))
            with suppress(Stray):
                while rank.running and rank.pending is not None and not (rank.gone or over):
                    most = REPLY_SECONDS if waits(rank) else SETTLE_SECONDS
                    over = patience[rank.number].seconds >= most
                    requests = rank.read(socket.MSG_DONTWAIT if over else 0)
                    if requests is not None:
                        self.finish(rank, requests)

    def final_states(self, on_nics: Mapping[int, Sequence[Envelope]]) -> dict[int, FinalState]:
        """The run is over: where the ranks stand that wait, given by rank the messages that lie on
        NICs."""
        asked = [rank for rank in self.ranks if rank.connected and not (rank.running or rank.finalized or rank.gone)]
        for rank in asked:
            rank.ask_final_state(on_nics.get(rank.number, ()))
        patience = {rank.number: OwnTime(rank.pid) for rank in asked}
        found = {rank.number: rank.final_state(patience[rank.number], REPLY_SECONDS) for rank in asked}
        return {number: state for number, state in found.items() if state is not None}

    def close(self) -> None:
        self._selector.close()
        for rank in self.ranks:
            rank.sock.close()
