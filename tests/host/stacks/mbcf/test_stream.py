"""Records that a full FIFO refuses are issued again in their order, whatever comes in between
(MB-07)."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from lanai_hdl.remote.packets import Op, Status
from lanai_host.adapter import Token
from lanai_host.stacks.mbcf.stream import Stream

TOKEN = Token(1, 0, 7, 0, 4096)
REVOKED = Token(1, 1, 8, 0, 4096)


class Peer:
    """Jobs that end when they are told to, at a FIFO with room for `room` records."""

    def __init__(self, room):
        self.room, self.waiting, self.taken = room, deque(), []
        self.refusing = False
        self.refusals = 0  # times that it began to refuse

    def add(self, job):
        self.waiting.append(job)

    def end_one(self):
        job = self.waiting.popleft()
        if job.token is REVOKED:
            job.ended(Status.KEY)
        elif (self.refusing and job.op is not Op.RETRY) or len(self.taken) >= self.room:
            self.refusals += not self.refusing
            self.refusing = True
            job.ended(Status.FULL)
        else:
            self.refusing = False
            self.taken.append(job.data)
            job.ended(Status.OK)


@given(st.integers(1, 4), st.lists(st.sampled_from(["append", "revoked", "end", "room"]), max_size=60))
def test_order_is_kept(room, actions):
    peer, ended, sent = Peer(room), [], []
    stream = Stream(peer, 16, "test")
    told = 0

    def append(token):
        number = len(sent)
        data = bytes([number])
        sent.append((data, token))
        stream.append(data, token, lambda status: ended.append((data, status)))

    def empty():
        nonlocal told
        peer.room = len(peer.taken) + room
        if told < peer.refusals:
            told = peer.refusals
            stream.room(told)

    for action in actions:
        if action == "append":
            append(TOKEN)
        elif action == "revoked":
            append(REVOKED)
        elif action == "end" and peer.waiting:
            peer.end_one()
        elif action == "room":
            empty()
    while not stream.idle:
        while peer.waiting:
            peer.end_one()
        empty()
    assert peer.taken == [data for data, token in sent if token is TOKEN]
    assert sorted(ended, key=lambda one: one[0]) == [
        (data, Status.OK if token is TOKEN else Status.KEY) for data, token in sent
    ]
