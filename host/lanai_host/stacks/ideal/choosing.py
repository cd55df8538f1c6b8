"""The `ideal` device whose wildcards match as a plan says, for `lanai explore`.

A message that only a wildcard receive would take is held until all that can happen without that has happened:
the rank waits for `QUIET` of simulated time in which nothing comes. Then one of the messages that may match is
taken, the one that came first unless the plan names another sender. A sender whose message is not yet there is
waited for, for `PATIENCE`.
"""

from collections.abc import Iterator
from typing import Protocol

from ...body import Body
from ...config import HostCosts
from ...device import SERVICE_CONTEXT, Arrived, SendMode
from ...host_model.meter import Receive
from ...operation import ANY_SOURCE, ANY_TAG, Operation, Wait
from ...orders import MATCH, Orders, site
from ...simulator.protocol import FOREVER
from .device import HEADER, SYNCHRONOUS, Datagram, IdealDevice, Transport, _Message

QUIET = 1_000_000_000  # picoseconds; a message takes a thousandth of that
PATIENCE = 100_000 * QUIET
LOOKS = 64  # in vain, after which each costs more
STEP = 1_000_000  # picoseconds, and twice as many with the next look
_LOOK = Wait("a look for messages")


class CollectUntil(Protocol):
    """Collect messages as `Collect` does, at most until a time."""

    def __call__(self, why: Wait | None, until: int = FOREVER) -> list[tuple[int, Datagram]]: ...


def _fits(source: int, tag: int, message: _Message) -> bool:
    return source in (ANY_SOURCE, message.source) and tag in (ANY_TAG, message.tag)


class _Asked:
    """The source, tag and context of a receive or a probe."""

    def __init__(self, source: int, tag: int, context: int) -> None:
        self.source, self.tag, self.context = source, tag, context

    def same(self, source: int, tag: int, context: int) -> bool:
        return (self.source, self.tag, self.context) == (source, tag, context)


_Undecided = tuple[_Asked | Receive, dict[int, _Message]]


class ChoosingDevice(IdealDevice):
    """See above. `orders` has the plan."""

    def __init__(
        self, rank: int, size: int, transport: Transport, collect: CollectUntil, host: HostCosts, orders: Orders
    ) -> None:
        super().__init__(rank, size, transport, host)
        self.orders = self._orders = orders
        orders.settle, orders.pause = self._settle, self._pause
        self._until = collect
        self._wild: dict[int, int] = {}  # by context, receives from any source that wait
        self._probe: _Asked | None = None  # finds messages, and none is chosen yet
        self._probed: _Message | None = None  # what was chosen for it
        self._last: tuple[int, _Asked, set[int]] | None = None  # the last match: number, what, senders known
        self._patient = 0  # until when a sender that the plan names is waited for
        self._vain = 0
        self._sent_to: dict[int, int] = {}  # messages of the program to each rank
        self._from: dict[int, int] = {}  # ... and from each
        self._numbers: dict[int, int] = {}  # of messages that no receive has taken, by their datagrams

    # Device

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        if context < SERVICE_CONTEXT:
            number = self._sent_to[dest] = self._sent_to.get(dest, -1) + 1
            self._orders.sent(dest, number)
        return super().send(dest, tag, context, body, mode)

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        if context >= SERVICE_CONTEXT or (source != ANY_SOURCE and not self._wild.get(context)):
            return super().receive(source, tag, context, body)
        operation = Receive(source, tag, context, body)
        self.post(operation)
        if source == ANY_SOURCE:
            self._wild[context] = self._wild.get(context, 0) + 1
        self._match_named(context)
        return operation

    def cancel(self, operation: Operation) -> bool:
        wild = isinstance(operation, Receive) and operation.source == ANY_SOURCE and not operation.done
        cancelled = super().cancel(operation)
        if wild and isinstance(operation, Receive) and operation.context in self._wild:
            self._wild[operation.context] -= 1
            self._match_named(operation.context)
        return cancelled

    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        if context >= SERVICE_CONTEXT or (source != ANY_SOURCE and not self._wild.get(context)):
            return super().probe(source, tag, context, take)
        message = self._found(source, tag, context)
        if message is None:
            return None
        self._probe = self._probed = None
        if take:
            self._remove(message)
        return Arrived(message.source, message.tag, message.length, context, message)

    def progress(self) -> None:
        super().progress()
        if self._undecided():
            self._wait_until_decided(_LOOK)

    def arrive(self, source: int, datagram: Datagram | bytearray) -> None:
        kind, context, tag, serial = HEADER.unpack_from(datagram)
        self._vain = 0
        if kind > SYNCHRONOUS or context >= SERVICE_CONTEXT:
            super().arrive(source, datagram)
            return
        message = _Message(source, tag, context, datagram, kind == SYNCHRONOUS, serial)
        self._numbers[id(datagram)] = self._from[source] = self._from.get(source, -1) + 1
        self._note_late(message)
        if not self._wild.get(context):
            super().arrive(source, datagram)
            return
        self._keep(message)
        self._match_named(context)

    def _handle(self, why: Wait | None) -> None:
        if why is not None:
            self._wait_until_decided(why, once=True)
            return
        self.pay()
        arrived = self._until(None)
        for source, datagram in arrived:
            self.arrive(source, datagram)
        if not arrived:
            self._vain += 1
            if self._vain > LOOKS:
                self._elapse(min(STEP << min(self._vain - LOOKS, 32), QUIET))

    def _deliver(self, source: int, tag: int, datagram: Datagram | bytearray, operation: Receive) -> None:
        number = self._numbers.pop(id(datagram), None)
        if number is not None:
            self._orders.delivered(operation, source, number)
        super()._deliver(source, tag, datagram, operation)

    # Choosing

    def _wait_until_decided(self, why: Wait, once: bool = False) -> None:
        """Wait until all is quiet, then choose for one wildcard. `once`: or until something comes."""
        while True:
            self.pay()
            undecided = self._undecided()
            until = self._give_up(undecided) if undecided is not None else FOREVER
            arrived = self._until(why, until)
            for source, datagram in arrived:
                self.arrive(source, datagram)
            if not arrived and undecided is not None and self._transport.now >= until:
                self._decide(*undecided)
                return
            if once or (undecided is None and not self._undecided()):
                return

    def _settle(self) -> None:
        """Let everything happen that can happen while this rank waits."""
        while True:
            if self._undecided() is not None:
                self._wait_until_decided(_LOOK)
                continue
            self.pay()
            until = self._transport.now + QUIET
            arrived = self._until(_LOOK, until)
            for source, datagram in arrived:
                self.arrive(source, datagram)
            if not arrived and self._transport.now >= until:
                return

    def _pause(self) -> None:
        """Let a while pass in which other ranks go on."""
        until = self._transport.now + QUIET
        while self._transport.now < until:
            self.pay()
            for source, datagram in self._until(_LOOK, until):
                self.arrive(source, datagram)

    def _give_up(self, undecided: _Undecided) -> int:
        """Return the time at which a choice is made if nothing comes until then."""
        now = self._transport.now
        planned = self._orders.planned(MATCH)
        if planned is None or planned in undecided[1]:
            return now + QUIET
        self._patient = self._patient or now + PATIENCE
        return max(self._patient, now)

    def _undecided(self) -> _Undecided | None:
        """Return a wildcard that finds messages, and the first message of each sender."""
        for context, count in self._wild.items():
            if count:
                for receive in self._receives(context):
                    if receive.source == ANY_SOURCE and (found := self._candidates(receive, context)):
                        return receive, found
        if self._probe is not None and self._probed is None:
            asked = self._probe
            found = self._visible(asked.source, asked.tag, asked.context)
            return (asked, found) if found else None
        return None

    def _decide(self, asked: _Asked | Receive, found: dict[int, _Message]) -> None:
        planned = self._orders.planned(MATCH)
        source = planned if planned in found else self._orders.preferred(list(found))
        missed = {"missed": planned} if planned not in (None, source) else {}
        message = found[source]
        self._patient = 0
        kind = {} if isinstance(asked, Receive) else {"probe": True}
        ids = {str(one): self._numbers.get(id(other.datagram), -1) for one, other in found.items()}
        number = self._orders.made(MATCH, source, list(found), tag=message.tag, site=site(), ids=ids, **missed, **kind)
        self._last = number, _Asked(asked.source, asked.tag, asked.context), set(found)
        if isinstance(asked, _Asked):
            self._probed = message
            return
        self._meet(message, asked)
        self._match_named(asked.context)

    def _note_late(self, message: _Message) -> None:
        """The last wildcard might have taken this message instead, had it waited."""
        if self._last is not None:
            number, asked, known = self._last
            fits = asked.context == message.context and _fits(asked.source, asked.tag, message)
            if fits and message.source not in known:
                known.add(message.source)
                self._orders.late(number, message.source, self._numbers[id(message.datagram)])

    # Matching

    def _receives(self, context: int) -> list[Receive]:
        return [one for one in self.matcher.receives if one.context == context]

    def _messages(self, context: int) -> list[_Message]:
        return [one for one in self.matcher.messages if one.context == context]

    def _pairs(self, context: int) -> Iterator[tuple[_Message, Receive]]:
        """Give messages with the oldest receive that each matches, but none that would overtake another."""
        messages, receives = self._messages(context), self._receives(context)
        for place, message in enumerate(messages):
            receive = next((one for one in receives if _fits(one.source, one.tag, message)), None)
            if receive is not None and not any(
                one.source == message.source and _fits(receive.source, receive.tag, one) for one in messages[:place]
            ):
                yield message, receive

    def _match_named(self, context: int) -> None:
        """Let messages and receives meet where there is no choice."""
        while pair := next((one for one in self._pairs(context) if one[1].source != ANY_SOURCE), None):
            self._meet(*pair)

    def _candidates(self, receive: Receive, context: int) -> dict[int, _Message]:
        return {message.source: message for message, one in self._pairs(context) if one is receive}

    def _visible(self, source: int, tag: int, context: int) -> dict[int, _Message]:
        """Return by sender the first message that a probe may find: no receive waits for it."""
        receives, found = self._receives(context), dict[int, _Message]()
        for message in self._messages(context):
            if _fits(source, tag, message) and not any(_fits(one.source, one.tag, message) for one in receives):
                found.setdefault(message.source, message)
        return found

    def _found(self, source: int, tag: int, context: int) -> _Message | None:
        """Return what a probe finds. From any source it is to be chosen first."""
        found = self._visible(source, tag, context)
        if not found or source != ANY_SOURCE:
            return next(iter(found.values()), None)
        if self._probe is None or not self._probe.same(source, tag, context):
            self._probe, self._probed = _Asked(source, tag, context), None
        return self._probed if self._probed in found.values() else None

    def _meet(self, message: _Message, receive: Receive) -> None:
        self.matcher.withdraw(receive)
        self._count(receive, -1)
        if receive.source == ANY_SOURCE:
            self._wild[receive.context] -= 1
        self._remove(message)
        self._take(message, receive)
