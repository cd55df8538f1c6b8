"""Waits without sleep: the memory that is received into."""

import errno
import gc
import socket
import weakref

import pytest

from lanai_host.simulator.protocol import HEADER, Status
from lanai_host.simulator.spin import Chunk, SpinWait, Steering, _spin


class Owner:
    """An object in a circle of references."""


def test_what_was_received_is_in_the_view():
    first, second = socket.socketpair()
    chunk = Chunk(16)
    with first, second:
        first.send(b"some bytes")
        assert SpinWait().receive(second, chunk) == 10
    assert chunk.view[:10] == b"some bytes"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("shared", [False, True])
def test_one_sleep_is_bounded(shared):
    """The handler of a signal that came just before the sleep runs after it: nothing interrupts the sleep."""
    first, second = socket.socketpair()
    chunk, state = Chunk(16), _spin().ffi.new("Spin *", {"alone": True})
    with first, second:
        if shared:
            first.send(HEADER.pack(0, Status.OK, Steering().here() + 1, 0))
            assert _spin().lib.spin_receive(state, second.fileno(), chunk.address, chunk.size) == HEADER.size
        assert _spin().lib.spin_receive(state, second.fileno(), chunk.address, chunk.size) == -errno.EINTR
        first.send(HEADER.pack(0, Status.OK, 0, 0))
        assert SpinWait().receive(second, chunk) == HEADER.size


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
