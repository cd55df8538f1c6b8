"""The reply that a receiver owes a sender."""

from amaranth.lib import data

from .lookup_port import LENGTH_BITS
from .packets import BOOT_BITS, SESSION_BITS, Status


class Reply(data.Struct):
    """An answer to request `sequence` of `session`, entry `entry` of `peer`'s window: `status` alone, or
    data. `boot`, `kept` and `keeps` are those of `ReplyWord`.

    With `reads` the data are `length` bytes of an exposure. With `returns` they are a number of
    `length` bytes: `value`, and of 64 bits the upper half in `offset`.
    """

    peer: 8
    sequence: 16
    entry: 8
    status: Status
    reads: 1
    returns: 1
    value: 32
    exposure: 8
    key: 16
    offset: 32
    length: LENGTH_BITS
    align: 2
    session: SESSION_BITS
    boot: BOOT_BITS
    kept: SESSION_BITS
    keeps: 1
