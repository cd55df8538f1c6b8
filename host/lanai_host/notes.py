"""What a traced rank tells the simulator about itself: notes, sent among its other requests and costing no simulated time.

A note is NOTE, for NAME followed by `d` bytes of text. `offset` is picoseconds since the frame before; `call` the number, in this
rank, of the MPI call in which it was made, or -1.
"""

import struct
from enum import IntEnum


class Note(IntEnum):
    """Kinds of notes, and what a, b, c, d, e hold."""

    NAME = 0  # `name` stands for the text that follows
    BEGIN = 1  # an MPI call e of that `name` in `call`: peer, tag, context, bytes
    END = 2  # the call e
    WORK = 3  # host work of kind `sub`: count, -, -, picoseconds. It begins at `offset`
    WAIT = 4  # waiting without the NIC, for the reason `name`: peer, tag, context, picoseconds. It begins at `offset`
    REQUEST = 5  # a request e to the device, of kind `sub` & 15 and mode `sub` >> 4: peer, tag, context, bytes
    DONE = 6  # the end of request e, with error `sub`: source, tag, -, bytes


NOTE = struct.Struct("<BBHiqiiiqi")  # kind, sub, name, call, offset, a, b, c, d, e
CANCELLED = 255  # `sub` of DONE; other errors are numbers of `device.ErrorKind`
OUTSIDE = -1  # `call`, outside all MPI calls
NOT_SAID = -1  # a, b, c, d where the call has no such argument
