"""The receiving end of a test: a FIFO of remote memory and the loop that empties it."""

from lanai_host.adapter.fifo import Fifo
from lanai_host.remote import Access


def records(host, payload, given, ended, pause):
    """Yield each record as it is read, until the sender has put something into `ended` and the FIFO is empty. The next
    one is read when the caller asks for more.

    Args:
        host: whose memory the FIFO is in.
        payload: bytes of a packet's payload.
        given: the FIFO's token is put there.
        pause: picoseconds that pass before the FIFO is looked at again.
    """
    memory, exposure = host.remote.own(2, Access.APPEND)
    fifo = Fifo(memory, 0, 1, 1, payload)
    given.append(exposure.token)
    while not ended or fifo.look():
        while fifo.look():
            yield bytes(fifo.record())
            fifo.drop()
        host.bus.elapse(pause)
