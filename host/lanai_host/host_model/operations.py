"""Sends and receives of devices that match messages on the host."""

from .. import process_memory
from ..body import NOTHING, Body
from ..bus.base import BusError
from ..config import HostCost
from ..operation import DeviceError, ErrorKind, Operation
from .meter import Meter


class Send(Operation):
    """A send. `synchronous`: done only when a receive has taken the message."""

    __slots__ = ("body", "context", "dest", "synchronous")

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, tag)
        self.dest = dest
        self.context = context
        self.body = body
        self.length = body.size
        self.synchronous = synchronous


class Receive(Operation):
    """A receive. `posted`: it waits in the matcher's queue. `order` is the matcher's to use."""

    __slots__ = ("body", "context", "order", "posted")

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag)
        self.context = context
        self.body = body
        self.order = 0
        self.posted = False

    def put(self, meter: Meter, begin: int, data: memoryview) -> None:
        """Copy bytes of the message, from `begin` on, to where the program wants them, as far as they
        fit."""
        end = min(begin + len(data), self.body.size)
        if begin >= end or self.error is not None:
            return
        meter.spend(HostCost.COPY, end - begin)
        try:
            self.body.unpack(begin, end, process_memory.address_of(data))
        except BusError as error:
            self.error = DeviceError(ErrorKind.BUS_ERROR, str(error))

    def finish(self, source: int, tag: int, length: int) -> None:
        """All bytes of a message of `length` that fit are there. The receive may have failed before."""
        self.source, self.tag = source, tag
        if self.error is None:
            self.length = min(length, self.body.size)
            if length > self.body.size:
                self.error = DeviceError(ErrorKind.TRUNCATED, f"(it has {length} bytes)")
        self.body = NOTHING
        self.done = True


def fail(operation: Operation, kind: ErrorKind, text: str) -> None:
    """End an operation with an error, unless it has ended."""
    if not operation.done:
        operation.error = DeviceError(kind, text)
        operation.done = True


def read_all(send: Send) -> bytes | None:
    """Return the bytes of a send to this rank itself, which is done unless it is synchronous. None if
    they cannot be read: the send has failed."""
    try:
        data = send.body.read()
    except BusError as error:
        fail(send, ErrorKind.BUS_ERROR, str(error))
        return None
    send.done = not send.synchronous
    return data
