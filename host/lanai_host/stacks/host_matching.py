"""The common base of all devices that match messages and receives on the host."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Generic, Protocol, cast

from ..body import Body
from ..bus.base import Bus, KnownLook, Slept, Watched
from ..config import HostCost
from ..device import Arrived, ChargeSink, Device, Envelope, Pending
from ..host_model.matcher import M, Matcher, R
from ..host_model.meter import Meter, Receive
from ..operation import DeviceError, ErrorKind, Operation, Wait
from .health import check_probe, fail_probe, reasons

DONE = attrgetter("done")


class HostMatchingDevice(Device, Generic[R, M]):
    """Probes, time and queues. A system adds how its messages travel.

    Nothing moves on while the program is outside the library, but for what the NIC does by itself.
    """

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

    @property
    def meter(self) -> Meter:
        """The meter that charges all host work of this device."""
        return self._meter

    @abstractmethod
    def _look(self) -> None:
        """Once over all that may have changed since the last look."""

    @abstractmethod
    def _wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        """`Device.wait`."""

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

    @abstractmethod
    def _finish(self) -> None:
        """`Device.close`."""

    def _sleep_on(self, watched: Sequence[Watched], why: Wait) -> None:
        """Wait until one of some words changes. If that takes long, look for what is lost."""
        if self._silent is not None and self._finds_nic_lost():
            return
        if self._bus.wait_any(watched, why, self._watchdog) is None:
            self._check_lost()

    def _poll_and_sleep(self, watched: Sequence[Watched], look: KnownLook, why: Wait) -> Slept | None:
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
        finding = self._examine()
        self._silent_since = self._bus.now
        if finding is None:
            return
        text = f"the NIC of rank {self.rank} {finding}. What was on its way is lost: start the job again"
        self._failure = DeviceError(ErrorKind.NIC_LOST, text)
        self.impaired = True
        self._lose_nic(text)
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

    def _examine(self) -> str | None:
        """Check this rank's NIC: what is wrong with it, or None."""
        return self._bus.examine()

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
        return [*self._matcher.posted(), *self._pending_sends()]

    def _pending_sends(self) -> list[Pending]:
        """Sends that are not done, of a device that can tell."""
        return []

    def close(self) -> None:
        self._finish()

    def _refused(self, operation: Operation) -> bool:
        """Return whether the device has failed, which ends an operation that begins."""
        if self._failure is not None:
            operation.error, operation.done = self._failure, True
        return self._failure is not None


class Receiver(Protocol[M]):
    """The part of a device that gives messages to receives."""

    @property
    def matcher(self) -> Matcher[Receive, M]: ...

    def receive(self, receive: Receive) -> None:
        """Find the message of a receive, or keep the receive until it comes."""

    def take(self, message: M, receive: Receive) -> None:
        """Give a message that a probe has taken to its receive."""


class NoRecovery(HostMatchingDevice[Receive, M]):
    """A device that one failure ends. Receives that are not done end with it."""

    def __init__(self, bus: Bus, meter: Meter, receiver: Receiver[M], watchdog: int) -> None:
        super().__init__(bus, meter, receiver.matcher, watchdog)
        self._receiver = receiver
        self._receives: set[Receive] = set()  # not done

    @abstractmethod
    def _push(self) -> None:
        """Give the NIC what waits for it, as far as it has room."""

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        receive = Receive(source, tag, context, body)
        return self._receive(receive, partial(self._receiver.receive, receive))

    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        receive = Receive(arrived.source, arrived.tag, arrived.context, body)
        return self._receive(receive, partial(self._receiver.take, cast(M, arrived.handle), receive))

    def _receive(self, receive: Receive, begin: Callable[[], None]) -> Receive:
        if not self._refused(receive):
            begin()
            self._push()
            if not receive.done:
                self._receives.add(receive)
        return receive

    def _forget(self, receive: Receive) -> None:
        self._receives.discard(receive)


def is_over(operations: Sequence[Operation] | None, news: bool) -> bool:
    """Return whether a wait ends: one of the operations is done, or, with None, something changed (`news`)."""
    return news if operations is None else any(map(DONE, operations))
