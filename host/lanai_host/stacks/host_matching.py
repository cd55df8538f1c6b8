"""The common base of all devices that match messages and receives on the host."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import ClassVar, Generic, TypeVar

from ..bus.base import Bus, KnownPoll, Slept, Watched
from ..config import HostCost
from ..device import Arrived, ChargeSink, Device, Envelope, Pending
from ..host_model.matcher import M, Matcher, R
from ..host_model.meter import Meter, Receive, Send, fail, read_all
from ..operation import DeviceError, ErrorKind, Operation, Wait
from .health import check_probe, fail_probe, reasons

DONE = attrgetter("done")
S = TypeVar("S", bound=Send)


class HostMatchingDevice(Device, Generic[R, M]):
    """Sends to this rank itself, waits, probes, time and queues, and what happens when ranks or NICs are lost. A system
    adds how its messages travel.

    Nothing moves on while the program is outside the library, but for what the NIC does by itself.

    Attributes:
        keeps_news: news of any look ends the next wait for anything; else only news of looks within that wait does.
    """

    keeps_news: ClassVar[bool] = False

    def __init__(self, bus: Bus, meter: Meter, matcher: Matcher[R, M], watchdog: int) -> None:
        """`watchdog`: picoseconds of silence after which it is asked which ranks are lost, and whether this rank's own
        NIC is."""
        self._bus = bus
        self._meter = meter
        self._matcher = matcher
        self._watchdog = watchdog
        self._failure: DeviceError | None = None  # nothing comes or goes any more
        self._lost: dict[int, str] = {}  # ranks that can be reached no more, and why
        self._told: set[int] = set()  # those of them that a probe for any source has told of
        self._silent: object = None  # `_found` when a wait has ended because nothing came for long
        self._polled = self._silent_since = bus.now  # when the program polled last; ... and found nothing since then
        self._polled_found: object = None  # `_found` when it polled last
        self._seen: object = 0  # `_found`, as far as waits have seen it
        self._awaited: Sequence[Operation] | None = None  # what the wait under way is for
        self._self_sends: list[Send] = []  # synchronous sends to this rank itself

    @property
    def meter(self) -> Meter:
        """The meter that charges all host work of this device."""
        return self._meter

    @abstractmethod
    def _look(self) -> None:
        """Once over all that may have changed since the last look."""

    @abstractmethod
    def _watched(self) -> list[Watched]:
        """The words that change when there is something to look at, as they are now."""

    def _known_poll(self, watched: Sequence[Watched], first: bool) -> KnownPoll | None:
        """The look of a device that is `_settled`; None if it may do something all the same. `first`: before the
        sleep."""
        return None

    def _after(self, slept: Slept) -> None:
        """A sleep with known looks has ended."""

    @property
    def _settled(self) -> bool:
        """Return whether a look does nothing unless a word has changed, so that it can be a known look."""
        return False

    @abstractmethod
    def _lose(self, rank: int, text: str) -> None:
        """A rank can be reached no more, which `_lost` has already: what only it could end fails."""

    @abstractmethod
    def _lose_nic(self, text: str) -> None:
        """This rank's own NIC is lost, as `_failure` says already: what is not done fails, and nothing crosses the bus
        any more."""

    @property
    @abstractmethod
    def _found(self) -> object:
        """Differs after each look that found something."""

    def _start(self, send: S, begin: Callable[[S], object], own: Callable[[S, bytes], object]) -> S:
        """Start a send: by `begin`, or by `own` with its bytes if it is to this rank itself."""
        if send.dest == self.rank:
            return self._start_own(send, own)
        if not self._refused(send):
            begin(send)
        return send

    def _start_own(self, send: S, own: Callable[[S, bytes], object]) -> S:
        """Start a send to this rank itself."""
        data = None if self._refused(send) else read_all(send)
        if data is not None:
            if send.synchronous:
                self._self_sends = [*self._own_sends(), send]
            own(send, data)
        return send

    def _own_sends(self) -> Iterable[Send]:
        """Synchronous sends to this rank itself that no receive has taken."""
        return [one for one in self._self_sends if not one.done]

    def _wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        """`Device.wait`."""
        self._awaited = operations
        if operations is None or is_over(operations, False) or not self._settled:
            self._bus.catch_up()
        else:
            self._rest(why, first=True)
        lost = len(self._lost)
        while True:
            if not self.keeps_news:
                self._seen = self._found
            self._look()
            news = self._found != self._seen or len(self._lost) != lost
            if self._failure is not None or is_over(operations, news):
                break
            self._rest(why)
        if operations is None:
            self._seen = self._found
        self._awaited = None

    def _enough(self) -> bool:
        """One of the operations that are waited for is done."""
        return self._awaited is not None and is_over(self._awaited, False)

    def _until(self, over: Callable[[], bool], why: Wait) -> None:
        """Look and sleep until something is over, or the device has failed."""
        self._look()
        while self._failure is None and not over():
            self._sleep(why)
            self._look()

    def _sleep(self, why: Wait) -> None:
        """Until something changes that this rank has not seen."""
        self._sleep_on(self._watched(), why)

    def _rest(self, why: Wait, first: bool = False) -> None:
        """`_sleep`, with known looks while the device is settled. `first`: it is, and catches up and looks before."""
        if not (first or self._settled):
            self._sleep(why)
            return
        watched = self._watched()
        look = self._known_poll(watched, first)
        if look is not None:
            slept = self._poll_and_sleep(watched, look, why)
            if slept is not None:
                self._after(slept)
        elif first:
            self._bus.catch_up()
        else:
            self._sleep_on(watched, why)

    def _sleep_on(self, watched: Sequence[Watched], why: Wait) -> None:
        """Wait until one of some words changes. If that takes long, look for what is lost."""
        if self._silent is not None and self._finds_nic_lost():
            return
        if self._bus.wait_any(watched, why, self._watchdog) is None:
            self._check_lost()

    def _poll_and_sleep(self, watched: Sequence[Watched], look: KnownPoll, why: Wait) -> Slept | None:
        """`_sleep_on`, with polls that do nothing before and between (`Bus.look_and_wait`)."""
        if self._silent is not None and self._finds_nic_lost():
            return None
        slept = self._bus.look_and_wait(watched, look, why, self._watchdog)
        if slept is not None and not slept.changed:
            self._check_lost()
        return slept

    def _check_lost(self) -> None:
        """Ask which ranks are lost, because nothing has come for long. If a look finds nothing either, the next wait
        checks this rank's own NIC: one that was reset says nothing by itself."""
        self._silent = self._found
        self._hear_lost()

    def _hear_lost(self) -> None:
        """Ask which ranks are lost, and act on it."""
        for rank, text in reasons(self._bus.lost()).items():
            self._note_lost(rank, text)

    def _note_silent(self, rank: int, text: str) -> None:
        """A peer's NIC does not answer, so `text`. If it is known why the peer is lost, that counts."""
        if rank not in self._lost:
            self._hear_lost()
        self._note_lost(rank, text)

    def _finds_nic_lost(self) -> bool:
        """The wait before was silent: check the NIC unless a look has found something since. Is the NIC lost?"""
        silent, self._silent = self._silent, None
        if self._failure is None and silent == self._found:
            self._check_nic()
        return self._failure is not None

    def _note_lost(self, rank: int, text: str) -> None:
        if rank != self.rank and rank not in self._lost:
            self._lost[rank] = text
            self.impaired = True
            if self._failure is None:
                self._lose(rank, text)

    def _check_nic(self) -> None:
        finding = self._bus.examine()
        self._silent_since = self._bus.now
        if finding is None:
            return
        text = f"the NIC of rank {self.rank} {finding}. What was on its way is lost: start the job again"
        self._failure = DeviceError(ErrorKind.NIC_LOST, text)
        self.impaired = True
        self._lose_nic(text)
        for send in self._self_sends:
            fail(send, ErrorKind.NIC_LOST, text)
        self._bus.report_lost(self.rank, text)

    def _nic_watch(self) -> Callable[[], bool]:
        """Return the question of a loop that polls the NIC: is the NIC lost? It is checked after each silence as long
        as the watchdog's, from now on."""
        since = self._bus.now

        def lost() -> bool:
            nonlocal since
            if 0 < self._watchdog <= self._bus.now - since:
                self._check_nic()
                since = self._bus.now
            return self._failure is not None and self._failure.kind is ErrorKind.NIC_LOST

        return lost

    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        message = self._matcher.find(source, tag, context)
        self._meter.pay()
        if message is None:
            if self._failure is not None:
                fail_probe(self._failure)
            check_probe(source, self._lost, self._told)
            return None
        if take:
            self._matcher.remove(message)
        return Arrived(message.source, message.tag, message.length, message.context, message)

    def cancel(self, operation: Operation) -> bool:
        """Receives that have met no message. What has been sent cannot be taken back."""
        if not isinstance(operation, Receive) or not operation.posted:
            return False
        receive: R = operation  # type: ignore[assignment]  # the device makes no others
        self._matcher.withdraw(receive)
        self._forget(receive)
        operation.cancelled = operation.done = True
        return True

    def _forget(self, receive: R) -> None:  # most devices know of no other place
        """A receive has been cancelled. The queue does not have it any more."""

    def progress(self) -> None:
        self._bus.catch_up()
        self._look()
        now = self._bus.now
        if self._found != self._polled_found or now - self._polled >= self._watchdog:
            self._silent_since = now  # something was found, also by a wait; or the program has worked for long
        self._polled_found = self._found
        self._polled = now
        if 0 < self._watchdog <= now - self._silent_since and self._failure is None:
            self._check_nic()
            self._check_lost()

    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        self._wait(operations, why)

    def now(self) -> int:
        return self._bus.now

    def price(self, what: HostCost) -> int:
        return self._meter.costs.price(what)

    def charge(self, what: HostCost, count: int = 1) -> None:
        self._meter.spend(what, count)

    def report_charges(self, sink: ChargeSink) -> None:
        self._meter.sink = sink

    def unexpected(self) -> list[Envelope]:
        return self._matcher.unexpected()

    def pending(self) -> list[Pending]:
        return [*self._matcher.posted(), *map(_described, self._own_sends()), *self._pending_sends()]

    def _pending_sends(self) -> list[Pending]:
        """Describe the sends to other ranks that are not done."""
        return [_described(send) for send in self._sends()]

    def _sends(self) -> Iterable[Send]:
        """The sends to other ranks that are not done."""
        return ()

    def _refused(self, operation: Operation) -> bool:
        """Return whether the device has failed, which ends an operation that begins."""
        if self._failure is not None:
            operation.error, operation.done = self._failure, True
        return self._failure is not None


def _described(send: Send) -> Pending:
    return Pending(True, send.dest, send.tag, send.context, send.length)


def is_over(operations: Sequence[Operation] | None, news: bool) -> bool:
    """Return whether a wait ends: one of the operations is done, or, with None, something changed (`news`)."""
    return news if operations is None else any(map(DONE, operations))
