"""The entries of the adapter's memories: a request until it is answered, and a reply that is owed."""

from amaranth.lib import data

from .command_queue import BUFFER_BITS
from .lookup_port import LENGTH_BITS
from .packets import BOOT_BITS, SESSION_BITS, Atomic, Op, Status


class RequestEntry(data.Struct):
    """A packet of a command. `buffer` is the command's, `last` its last packet; `local` and
    `local_offset` name the sender's memory. With `stored` it is the aperture's, and of `buffer` only
    the process counts: the data of a WRITE stand in a stream buffer, the word of a READ goes to the
    host's load."""

    buffer: BUFFER_BITS
    peer: 8
    sequence: 16
    op: Op
    atomic: Atomic
    exposure: 8
    key: 16
    offset: 32
    length: LENGTH_BITS
    local: 4
    local_offset: 32
    last: 1
    stored: 1


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


def request_shape(config):
    """Return the shape of a `RequestEntry`. With `config.groups` it has the `value` of a COLLECT too."""
    return _with(RequestEntry, value=64) if config.groups else RequestEntry


def new_entry_shape(config):
    """Return the shape of a new request. `ended`: it is not sent; it has ended with `status`. The sequencer fills in
    `entry.sequence`."""
    return data.StructLayout({"entry": request_shape(config), "ended": 1, "status": Status})


def _with(shape, **more):
    fields = {name: field.shape for name, field in data.Layout.cast(shape)}
    return data.StructLayout({**fields, **more})


def reply_shape(config):
    """Return the shape of a `Reply`. With `config.quiet` it has `vouches` too, which is that of `ReplyWord`."""
    return _with(Reply, vouches=1) if config.quiet else Reply
