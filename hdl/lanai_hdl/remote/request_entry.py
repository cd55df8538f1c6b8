"""One request, as the adapter that sends it keeps it until it is answered."""

from amaranth.lib import data

from .command_queue import BUFFER_BITS
from .lookup_port import LENGTH_BITS
from .packets import Atomic, Op


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
