"""Entries that register writes put into the queues of engines."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class Posted(wiring.Signature):
    """An entry that a register write posts, seen from the registers.

    It is not a stream: the strobe of a write lasts one slot, so `entry` is there in the slot of `post`
    only, and is dropped if the queue is `full` in that slot.
    """

    def __init__(self, shape):
        super().__init__({"entry": Out(shape), "post": Out(1), "full": In(1)})


def connect_posted(m, posted, queue: stream.Interface) -> None:
    """Puts what is posted into `queue`."""
    m.d.comb += [queue.valid.eq(posted.post), queue.payload.eq(posted.entry), posted.full.eq(~queue.ready)]
