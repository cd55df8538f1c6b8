"""Records that a full FIFO refuses are issued again in their order, whatever comes in between
(MB-07)."""

from collections import deque
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_hdl.remote.packets import Op, Status
from lanai_host.adapter import Token
from lanai_host.config import HostConfig
from lanai_host.host_model.meter import Ledger, Meter
from lanai_host.stacks.mbcf.outbox import MASK, ReceiverSerials, SenderSerials, Stream
from lanai_host.stacks.mbcf.receiving import Inbox, Receiving

TOKEN = Token(1, 0, 7, 0, 4096)
REVOKED = Token(1, 1, 8, 0, 4096)


class Peer:
    """Jobs that begin and end when they are told to, at a FIFO with room for `room` records. `bad`:
    data of records behind writes that are refused."""

    def __init__(self, room, bad=()):
        self.room, self.waiting, self.taken = room, deque(), []
        self.begun, self.bad = deque(), bad
        self.refusing = False
        self.refusals = 0  # times that it began to refuse

    def add(self, job):
        self.waiting.append(job)

    def begin_one(self):
        job = self.waiting.popleft()
        if job.begins():
            self.begun.append(job)

    def end_one(self):
        if not self.begun:
            self.begin_one()
        if not self.begun:
            return
        job = self.begun.popleft()
        if job.token is REVOKED:
            job.ended(Status.KEY)
        elif job.conditional and job.data in self.bad:
            self.refusing = True
            job.ended(Status.BEFORE)
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
        elif action == "end" and (peer.begun or peer.waiting):
            peer.end_one()
        elif action == "room":
            empty()
    while not stream.idle:
        while peer.begun or peer.waiting:
            peer.end_one()
        empty()
    assert peer.taken == [data for data, token in sent if token is TOKEN]
    assert sorted(ended, key=lambda one: one[0]) == [
        (data, Status.OK if token is TOKEN else Status.KEY) for data, token in sent
    ]


@given(
    st.integers(1, 4),
    st.lists(st.sampled_from(["plain", "good", "bad", "begin", "end", "end", "room"]), max_size=60),
)
def test_nothing_that_depends_on_a_refused_record_gets_past_it(room, actions):
    """`good` and `bad` records depend on writes, and on all such records before them. A bad one is
    not taken, nor are those that were appended before its end was known. Plain ones all are."""
    bad, ended, sent, unwanted = set(), {}, [], set()
    peer = Peer(room, bad)
    stream = Stream(peer, 16, "test")
    told = 0

    def append(kind):
        data = bytes([len(sent)])
        if kind != "plain" and (stream.barred or unwanted - ended.keys()):
            return  # such a record waits until its writes have ended, or those before it have
        bad.update({data} if kind == "bad" else ())
        sent.append((data, kind))

        def over(status):
            ended[data] = status
            if status is Status.BEFORE:
                behind = sent[sent.index((data, kind)) :]
                unwanted.update(one for one, kind in behind if kind != "plain")

        stream.append(
            data, TOKEN, over, conditional=kind != "plain", wanted=lambda: data not in unwanted
        )  # fmt: skip

    def empty():
        nonlocal told
        peer.room = len(peer.taken) + room
        if told < peer.refusals:
            told = peer.refusals
            stream.room(told)

    for action in actions:
        if action in ("plain", "good", "bad"):
            append(action)
        elif action == "begin" and peer.waiting:
            peer.begin_one()
        elif action == "end" and (peer.begun or peer.waiting):
            peer.end_one()
        elif action == "room":
            empty()
    while not stream.idle:
        while peer.begun or peer.waiting:
            peer.end_one()
        empty()
    assert peer.taken == [data for data, _ in sent if data not in unwanted]
    assert ended == {data: Status.BEFORE if data in unwanted else Status.OK for data, _ in sent}


def test_behind_a_record_that_was_refused_for_its_writes_all_goes_on_at_once():
    """The FIFO has room, so its owner need not say so."""
    peer = Peer(8, {b"1"})
    stream = Stream(peer, 16, "test")
    for n in range(4):
        stream.append(b"%d" % n, TOKEN, lambda status: None, conditional=n == 1)
    while peer.begun or peer.waiting:
        peer.end_one()
    assert peer.taken == [b"0", b"2", b"3"]
    assert stream.idle


# The moments when a sender may answer a request by a remote write: the four combinations, and any history of
# the two sides.


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("successive", [True, False])
def test_a_request_is_answered_only_if_it_is_fresh_and_successive(fresh, successive):
    sender = SenderSerials(sent=5, next_request=9)
    assert sender.accepts(9 if successive else 10, 5 if fresh else 4) == (fresh and successive)


@given(st.lists(st.sampled_from(["message", "take", "request", "look"]), max_size=60), st.booleans())
def test_a_request_is_answered_only_if_the_receiver_knew_of_every_message(actions, near_the_end):
    """`unseen` messages are under way while a request is made; one that is answered was made with
    none unseen, and in turn."""
    start = MASK - 3 if near_the_end else 0
    sender, receiver = SenderSerials(start, start), ReceiverSerials(start, start)
    messages, requests, answered = [], [], []
    sent = taken = 0
    for action in actions:
        if action == "message":
            messages.append((sender.message(), sender.next_request))
            sent += 1
        elif action == "take" and messages:
            receiver.message(*messages.pop(0))
            taken += 1
        elif action == "request":
            requests.append((receiver.request(), receiver.accepted, taken))
        elif action == "look" and requests:
            serial, accepted, known = requests.pop(0)
            if sender.accepts(serial, accepted):
                assert known == sent
                answered.append(serial)
                sender.answered()
    assert answered == [(start + n) & MASK for n in range(len(answered))]


# The reports of a receiver to a peer whose records its FIFO refused.

PEER = 1


class Fifo:
    """So many records of a byte; where it began to refuse, if it does."""

    def __init__(self):
        self.records, self.refused = 0, None

    def look(self):
        return self.records > 0

    def record(self):
        return memoryview(b".")

    def drop(self):
        self.records -= 1


@pytest.fixture
def receiving():
    jobs, matching = Mock(), Mock(any_source=[])
    made = Receiving(Meter(HostConfig(), Mock()), jobs, matching, Mock(), Mock(), 1024, Ledger(0))
    long = Mock(receive=None, data=bytearray(8), here=0, whole=False)  # of which all records are
    made.boxes[PEER] = Inbox(PEER, Fifo(), Mock(), 64, message=long)
    return made


def told(receiving, records, refused):
    """Return how often the peer has been told that there is room, once these records were taken."""
    fifo = receiving.boxes[PEER].fifo
    fifo.records, fifo.refused = records, refused
    receiving.look()
    assert fifo.records == 0
    return receiving._jobs.add.call_count


def test_a_refusal_is_told_once(receiving):
    assert told(receiving, 1, None) == 0
    assert told(receiving, 1, 4096) == 1
    assert told(receiving, 0, 4096) == 1


def test_the_next_refusal_is_told_also_at_the_same_count(receiving):
    """Counts of bytes wrap at 1 MiB. A record that came in between tells the two apart."""
    assert told(receiving, 1, 4096) == 1
    assert told(receiving, 1, 4096) == 2
