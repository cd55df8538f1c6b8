"""The rank's line to the simulator: what is posted."""

import socket

import pytest

from lanai_host.simulator import client as module
from lanai_host.simulator.client import SimulatorClient
from lanai_host.simulator.protocol import HEADER, Op, Status


def connected():
    """A client, and the simulator's end of its line, which has answered HELLO."""
    ours, theirs = socket.socketpair()
    answer = b"{}"
    theirs.sendall(HEADER.pack(len(answer), Status.OK, 0, 1000) + answer)
    client = SimulatorClient(ours, 0, 2)
    theirs.recv(4096)
    return client, theirs


def frames(post, watchful=False):
    """Return the bytes that arrive of what `post` posts, with the client's clock after it."""
    client, simulator = connected()
    client.watchful = watchful
    client.charge(40)
    post(client)
    client.post(Op.UNPIN)
    client._flush()
    clock = client.clock
    client.close()
    module._clients.remove(client)
    with simulator, simulator.makefile("rb") as stream:
        return clock, stream.read()


@pytest.mark.parametrize("watchful", [False, True])
@pytest.mark.parametrize("most", [module.FLUSH_BYTES, 10])
def test_two_requests_are_posted_as_one_after_the_other(monkeypatch, watchful, most):
    monkeypatch.setattr(module, "FLUSH_BYTES", most)

    def one_by_one(client):
        client.post(Op.PIO_WRITE, b"the first")
        client.charge(7)
        client.post(Op.PIO_WRITE, b"second")

    def both(client):
        client.post_two(Op.PIO_WRITE, b"the first", 7, b"second")

    assert frames(both, watchful) == frames(one_by_one, watchful)
