"""Datagrams of the `ideal` device: their header, and how they travel."""

import struct
from typing import Protocol

from ...body import Body
from ...errors import DeadlockError
from ...wait import Wait

Datagram = bytes | memoryview  # a large one stays where it lies until it is taken


class Transport(Protocol):
    """The transport of the device's messages: in order between two processes, each piece whole."""

    @property
    def now(self) -> int:
        """Host time in picoseconds."""

    def elapse(self, picoseconds: int) -> None:
        """Host work; may be lazy."""

    def post(self, dest: int, head: bytes, body: Body) -> None:
        """Send one datagram, copied from where it lies; never blocks. Delivery may wait for the
        next `collect`."""

    def collect(self, why: Wait | None) -> list[tuple[int, Datagram]]:
        """(source, datagram) of all that has arrived; with `why`, blocks until there is at least
        one."""

    def close(self) -> None: ...


# Kinds of datagrams. Plain numbers: they are compared for every message.
MESSAGE = 0
SYNCHRONOUS = 1  # to be answered with TAKEN once a receive took it
TAKEN = 2
RETRACT = 3  # forget that synchronous message; answered with RETRACTED or, if too late, with nothing after its TAKEN
RETRACTED = 4

HEADER = struct.Struct(">BHiI")  # kind, context, tag, serial number of a synchronous send
HEAD = HEADER.size


class Solo:
    """The transport of a process that is alone: a program started without `lanai run` (a
    singleton)."""

    def __init__(self) -> None:
        self.now = 0

    def elapse(self, picoseconds: int) -> None:
        self.now += picoseconds

    def post(self, dest: int, head: bytes, body: Body) -> None:
        raise ValueError(f"process 0 is alone; there is no rank {dest}")

    def collect(self, why: Wait | None) -> list[tuple[int, Datagram]]:
        if why is not None:
            raise DeadlockError(f"deadlock: {why.call} waits for a message that no rank can send ({why.note})")
        return []

    def close(self) -> None: ...
