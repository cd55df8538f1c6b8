"""`Device.fast_path` of an ideal device: messages that meet no queue. The transport copies them
from one rank's memory to the other's.

Matching and times are those of the usual path.
"""

from collections.abc import Callable
from typing import Any, Protocol

from ...body import Body, Run
from ...bus.base import BusError
from ...config import HostCost, HostCosts
from ...host_model.meter import Receive
from ...operation import ANY_TAG, Operation, Wait
from .device import HEAD, HEADER, MESSAGE, Datagram, IdealDevice, Transport

_KIND_AND_CONTEXT = 3  # bytes of a head


class FastTransport(Transport, Protocol):
    """A transport with calls that do several steps at once; see `transport.RankTransport`."""

    delivery: Any

    def head(self, size: int) -> bytes: ...

    def post(self, dest: int, head: bytes, body: Body, quiet: int = 0) -> None: ...

    def receive(
        self, source: int, match: bytes, head: int, address: int, room: int, why: Callable[[], Wait]
    ) -> list[tuple[int, Datagram]]: ...


class IdealFastPath:
    """The fast path of an ideal device. Its interface is `device.FastPath`."""

    def __init__(self, device: IdealDevice, transport: FastTransport, host: HostCosts) -> None:
        self._device, self._transport = device, transport
        self._call, self._match = host.price(HostCost.CALL), host.price(HostCost.MATCH)
        self._got = Operation()
        self._got.done = True

    def send(self, dest: int, tag: int, context: int, address: int, size: int) -> bool:
        device, transport = self._device, self._transport
        if dest == device.rank:
            return False
        meter = device.meter
        transport.elapse(meter.owed + self._call)
        meter.owed = 0
        # Before its next post this process pays for a call, unless an operation under way needs an
        # answer.
        quiet = 0 if device.outstanding or device.sends else self._call
        try:
            transport.post(dest, HEADER.pack(MESSAGE, context, tag, 0), Run(address, size), quiet)
        except BusError:
            return False  # the usual path reports the error
        return True

    def receive(
        self, source: int, tag: int, context: int, address: int, size: int, why: Callable[[], Wait]
    ) -> Operation:
        device, transport, got = self._device, self._transport, self._got
        meter, matcher = device.meter, device.matcher
        if (matcher.held or matcher.waiting) and not matcher.idle(context):
            meter.owed += self._call
            return device.receive(source, tag, context, Run(address, size))
        look, meeting = matcher.idle_envelopes()
        transport.elapse(meter.owed + self._call + look * self._match)
        meter.owed = 0
        match = (
            HEADER.pack(MESSAGE, context, tag, 0)
            if tag != ANY_TAG
            else HEADER.pack(MESSAGE, context, 0, 0)[:_KIND_AND_CONTEXT]
        )
        datagrams = transport.receive(source, match, HEAD, address, size, why)
        delivery = transport.delivery
        if delivery.taken:
            meter.owed += meeting * self._match
            got.source, got.length = delivery.source, delivery.size
            got.tag = tag if tag != ANY_TAG else HEADER.unpack(transport.head(HEAD))[2]
        else:
            got = device.post(Receive(source, tag, context, Run(address, size)))
        for sender, datagram in datagrams:
            device.arrive(sender, datagram)
        return got
