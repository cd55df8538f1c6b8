"""Waits without sleep: the memory that is received into."""

import gc
import socket
import weakref

from lanai_host.simulator.spin import Chunk, SpinWait


class Owner:
    """An object in a circle of references."""


def test_what_was_received_is_in_the_view():
    first, second = socket.socketpair()
    chunk = Chunk(16)
    with first, second:
        first.send(b"some bytes")
        assert SpinWait().receive(second, chunk) == 10
    assert chunk.view[:10] == b"some bytes"


def test_nothing_else_uses_the_buffer_of_the_view():
    """The garbage collector may clear the view before the address: with a user left, it crashes."""
    chunk = Chunk(16)
    chunk.view.release()
    assert chunk.address is not None


def test_chunks_in_circles_are_collected():
    owner = Owner()
    owner.chunk, owner.itself = Chunk(16), owner
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
