"""The message that each write to another rank's segment is part of, with writes made by hand."""

import numpy as np
import pytest

from lanai_hdl.remote.packets import Op
from lanai_host.stacks.sci.layout import PACKET, VOCABULARY, Kind, Layout, Packet, SciOptions, plan
from lanai_sim.trace.commands import FollowControls
from lanai_sim.trace.requests import Book, Request
from lanai_sim.trace.schema import MESSAGES, PACKETS, Protocol

LAYOUT = Layout(2, SciOptions(), 128)
CONTEXT, TAG = 3, 7


class Writes:
    """The writes of two ranks; messages of these sizes go from rank 0 to rank 1."""

    def __init__(self, *sizes):
        self.messages = np.zeros(len(sizes), MESSAGES)
        self.messages["id"], self.messages["bytes"], self.messages["target"] = range(len(sizes)), sizes, 1
        self.messages["context"], self.messages["tag"], self.messages["left"] = CONTEXT, TAG, -1
        self.packets = np.zeros(100, PACKETS)
        self.packets["message"], self.packets["head"] = -1, range(100)
        self.follow = FollowControls(VOCABULARY.messages, Book(self.messages, self.packets), [plan(LAYOUT)] * 2)
        self.count = [0, 0]
        self.rows = 0

    def write(self, offset, length, data=(), source=0, exposure=0, op=Op.WRITE):
        pair = source, 1 - source
        self.follow.run([Request(self.rows, op, pair, pair[1], exposure, 0, offset, length, tuple(data))])
        self.rows += 1

    def control(self, kind, source=0, **members):
        words = np.frombuffer(Packet(kind, **members).pack(1)[:24], ">u4").tolist()
        self.write(LAYOUT.packet(source, self.count[source]), PACKET, words, source)
        self.count[source] += 1

    def message(self, kind, length, **members):
        self.control(kind, context=CONTEXT, tag=TAG, length=length, **members)

    @property
    def linked(self):
        return self.packets["message"][: self.rows].tolist()

    @property
    def protocols(self):
        return [Protocol(int(one)) for one in self.messages["protocol"]]


def test_a_short_message_is_its_control_packet():
    writes = Writes(4, 0)
    writes.message(Kind.SHORT, 4)
    writes.message(Kind.SHORT, 0)
    assert writes.linked == [0, 1]
    assert writes.protocols == [Protocol.INLINE] * 2


def test_an_eager_message_is_the_bytes_before_its_control_packet_too():
    writes = Writes(1500, 100)
    writes.write(LAYOUT.slot(0, 0), 1024)
    writes.write(LAYOUT.slot(0, 0) + 1024, 476)
    writes.write(LAYOUT.slot(0, 1), 100)
    writes.message(Kind.EAGER, 1500, b=0)
    writes.message(Kind.EAGER, 100, b=1)
    assert writes.linked == [0, 0, 1, 0, 1]
    assert writes.protocols == [Protocol.SLOT] * 2


def test_the_chunks_of_two_messages_are_told_apart_by_what_the_receiver_answered():
    """The second is asked for first."""
    writes = Writes(2000, 1000)
    writes.message(Kind.REQUEST, 2000, a=5)
    writes.message(Kind.REQUEST, 1000, a=6)
    writes.control(Kind.READY, source=1, length=1000, a=6, b=1)
    writes.control(Kind.READY, source=1, length=2000, a=5, b=2)
    writes.write(LAYOUT.chunk(0, 0), 1000)
    writes.control(Kind.CHUNK, length=1000, a=1, b=0)
    for buffer in (1, 0):
        writes.write(LAYOUT.chunk(0, buffer), 1000)
        writes.control(Kind.CHUNK, length=1000, a=2, b=buffer)
    assert writes.linked == [0, 1, 1, 0, 1, 1, 0, 0, 0, 0]
    assert writes.protocols == [Protocol.CHUNKS] * 2


@pytest.mark.parametrize("kind", [Kind.EMPTY_SLOT, Kind.EMPTY_CHUNK, Kind.MATCHED])
def test_answers_belong_to_no_message(kind):
    writes = Writes(4)
    writes.control(kind, a=1)
    writes.message(Kind.SHORT, 4)
    assert writes.linked == [-1, 0]


def test_words_of_the_state_and_windows_belong_to_no_message():
    writes = Writes(64)
    writes.write(LAYOUT.state(0), 4)
    writes.write(LAYOUT.slot(0, 0), 64, exposure=5)
    writes.write(LAYOUT.slot(1, 0), 64)
    writes.write(LAYOUT.slot(0, 0), 64, op=Op.APPEND)
    writes.write(LAYOUT.slot(0, 0), 64)
    writes.message(Kind.EAGER, 64)
    assert writes.linked == [-1, -1, -1, -1, 0, 0]
