"""The common base of devices that one failure ends."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Protocol, cast

from ..body import Body
from ..bus.base import Bus
from ..device import Arrived
from ..host_model.matcher import M, Matcher
from ..host_model.meter import Meter, Receive, fail
from ..operation import DeviceError, ErrorKind, Operation
from .host_matching import HostMatchingDevice


class Receiver(Protocol[M]):
    """The part of a device that gives messages to receives."""

    @property
    def matcher(self) -> Matcher[Receive, M]: ...

    def receive(self, receive: Receive) -> None:
        """Find the message of a receive, or keep the receive until it comes."""

    def take(self, message: M, receive: Receive) -> None:
        """Give a message that a probe has taken to its receive."""


class NoRecovery(HostMatchingDevice[Receive, M]):
    """A device that one failure ends, with all operations that are not done."""

    def __init__(self, bus: Bus, meter: Meter, receiver: Receiver[M], watchdog: int) -> None:
        super().__init__(bus, meter, receiver.matcher, watchdog)
        self._receiver = receiver
        self._receives: set[Receive] = set()  # not done at the last look

    @abstractmethod
    def _push(self) -> None:
        """Give the NIC what waits for it, as far as it has room."""

    @abstractmethod
    def _drop(self, kind: ErrorKind, text: str) -> None:
        """Sends that are not done fail, and nothing else is done for messages under way."""

    def _let_go(self) -> None:
        """Take this process's memory away from the NIC, because packets may still come to buffers that the program
        gets back now."""

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

    def _forget_done(self) -> int:
        """Return how many receives have ended since the last look."""
        done = {receive for receive in self._receives if receive.done}
        self._receives -= done
        return len(done)

    def _fails(self, failure: DeviceError | None) -> bool:
        """Return whether the device has failed. `failure`: what the NIC has met, which the loss of a rank may
        explain."""
        if failure is not None and self._failure is None:
            self._hear_lost()
        if failure is not None and self._failure is None:
            self._give_up(failure.kind, failure.text)
        return self._failure is not None

    def _give_up(self, kind: ErrorKind, text: str) -> None:
        self._let_go()
        if self._failure is None:
            self._end_all(kind, text)

    def _lose(self, rank: int, text: str) -> None:
        self._give_up(ErrorKind.RANK_LOST, f"rank {rank} has gone: {text}")

    def _lose_nic(self, text: str) -> None:
        self._end_all(ErrorKind.NIC_LOST, text)

    def _end_all(self, kind: ErrorKind, text: str) -> None:
        """Nothing can be trusted any more: what is under way ends with an error, and so does what begins."""
        self._failure = DeviceError(kind, text)
        self.impaired = True
        self._drop(kind, text)
        for receive in self._receives:
            if receive.posted:
                self._matcher.withdraw(receive)
        for one in (*self._receives, *self._self_sends):
            fail(one, kind, text)
        self._receives.clear()
