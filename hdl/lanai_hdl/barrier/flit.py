"""The control flits of the barrier tree: two more kinds on the wire, which no packet holds."""

from enum import IntEnum

from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from .csr import BITS


class BarrierKind(IntEnum):
    """Beside those of `FlitKind`. A flit of them may stand between the flits of a packet."""

    STATE = 5  # what the sender's bits are
    ACK = 6  # the STATE that has arrived, sent back


class BarrierState(data.Struct):
    """The data of such a flit. `check` is the inverse of the other three bytes' XOR: damage to up to
    8 adjacent bits shows."""

    bits: BITS
    failed: 1  # the sender has lost one of its ends
    number: 7  # one more for each new state
    check: 8


class ControlFlit(data.Struct):
    data: 32
    kind: 3


class ControlPort(wiring.Signature):
    """Control flits that have come, at most one a slot, and the carrier."""

    def __init__(self):
        super().__init__({"valid": Out(1), "flit": Out(ControlFlit), "down": Out(1)})


def check_of(word):
    """The check byte of the three bytes below it: of a signal or a number."""
    return ((word ^ word >> 8 ^ word >> 16) & 0xFF) ^ 0xFF


def pack(bits: int, failed: int, number: int) -> int:
    """The data of a sound flit."""
    word = bits | failed << BITS | number << BITS + 1
    return word | check_of(word) << 24
