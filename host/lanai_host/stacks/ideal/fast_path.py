"""`Device.quick` of an ideal device: messages that meet no queue, which the mail moves by itself
from one rank's memory to the other's.

All is as if they had gone the long way: the same matching, the same times.
"""

from collections.abc import Callable
from typing import Any, Protocol

from ...body import Body, Run
from ...bus.base import BusError, Wait
from ...config import HostConfig, HostCost
from ...operation import ANY_TAG, Operation
from .device import HEAD, HEADER, MESSAGE, IdealDevice, Mail

_KIND_AND_CONTEXT = 3  # bytes of a head


class QuickMail(Mail, Protocol):
    """Mail that can do more at once; `mail.Mailbox` says what."""

    delivery: Any

    def head(self, size: int) -> bytes: ...

    def post(self, dest: int, head: bytes, body: Body, quiet: int = 0) -> None: ...

    def receive(
        self, source: int, match: bytes, head: int, address: int, room: int, why: Callable[[], Wait]
    ) -> list[tuple[int, bytes]]: ...


class QuickIdeal:
    """See `device.Quick`."""

    def __init__(self, device: IdealDevice, mail: QuickMail, host: HostConfig) -> None:
        self._device, self._mail = device, mail
        self._call = host.price(HostCost.CALL)
        self._got = Operation()
        self._got.done = True

    def send(self, dest: int, tag: int, context: int, address: int, size: int) -> bool:
        device, mail = self._device, self._mail
        if dest == device.rank:
            return False
        mail.elapse(device.owed + self._call)
        device.owed = 0
        # What this process posts next, it first has to pay a call for; but something under way may want an answer.
        quiet = 0 if device.outstanding or device.sends else self._call
        try:
            mail.post(dest, HEADER.pack(MESSAGE, context, tag, 0), Run(address, size), quiet)
        except BusError:
            return False  # the long way tells what is wrong
        return True

    def receive(
        self, source: int, tag: int, context: int, address: int, size: int, why: Callable[[], Wait]
    ) -> Operation:
        device, mail, got = self._device, self._mail, self._got
        if device.arrived.get(context) or device.posted.get(context):
            device.owed += self._call
            return device.receive(source, tag, context, Run(address, size))
        mail.elapse(device.owed + self._call)
        device.owed = 0
        match = (
            HEADER.pack(MESSAGE, context, tag, 0)
            if tag != ANY_TAG
            else HEADER.pack(MESSAGE, context, 0, 0)[:_KIND_AND_CONTEXT]
        )
        letters = mail.receive(source, match, HEAD, address, size, why)
        delivery = mail.delivery
        if delivery.taken:
            got.source, got.length = delivery.source, delivery.size
            got.tag = tag if tag != ANY_TAG else HEADER.unpack(mail.head(HEAD))[2]
        else:
            got = device.receive(source, tag, context, Run(address, size))
        for sender, letter in letters:
            device.arrive(sender, letter)
        return got
