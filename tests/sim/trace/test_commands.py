"""The message that each request of an adapter is part of, with packets made by hand: two nodes with a
rank each, FIFOs in exposure 2, a receive's memory in exposure 9."""

from types import SimpleNamespace

import numpy as np
import pytest

from lanai_hdl.remote.messages import EnvelopeWord, HeaderWord
from lanai_hdl.remote.packets import MARK, Op, ReplyWord, RequestWord, SizeWord, Status, TargetWord, word
from lanai_hdl.remote.tables import EXPOSURES
from lanai_host.adapter.operation import Token
from lanai_host.stacks.lanai2 import messages as lanai2
from lanai_host.stacks.mbcf.layout import HEAD, VOCABULARY, Head, Kind, MbcfOptions, Queue, QueueLayout, Request
from lanai_host.stacks.sci.layout import PACKET, Layout, Packet, SciOptions, plan
from lanai_host.stacks.sci.layout import VOCABULARY as VOCABULARY_controls
from lanai_host.stacks.sci.layout import Kind as Kind_controls
from lanai_sim.engines.declared import HEADER_WORDS
from lanai_sim.trace import commands
from lanai_sim.trace.commands import FollowControls
from lanai_sim.trace.requests import Book
from lanai_sim.trace.requests import Request as Request_controls
from lanai_sim.trace.schema import MESSAGES, PACKETS, Fault, Protocol

FIFOS, MEMORY = 2, 9
LAYOUT = QueueLayout(2, MbcfOptions())
CONTEXT, TAG, KEY = 3, 7, 0xBEEF
PAYLOAD = 1024  # bytes of a packet


class Wire:
    """Packets in the order in which they leave, ten slots apart."""

    def __init__(self, sizes, nodes=((0,), (1,))):
        self.nodes = [list(ranks) for ranks in nodes]
        self.messages = np.zeros(len(sizes), MESSAGES)
        self.messages["id"], self.messages["bytes"] = range(len(sizes)), sizes
        self.messages["target"], self.messages["context"], self.messages["tag"] = 1, CONTEXT, TAG
        self.messages["left"] = self.messages["arrived"] = -1
        self.packets, self.words, self.sequence = [], [], 0

    def _packet(self, source, words, fault=Fault.NONE):
        packet = np.zeros(1, PACKETS)[0]
        packet["source"], packet["target"], packet["fault"], packet["message"] = source, 1 - source, fault, -1
        packet["head"] = 10 * len(self.packets)
        packet["arrival_tail"] = packet["head"] + 5
        self.packets.append(packet)
        self.words.append(([int(one) for one in words] + [0] * HEADER_WORDS)[:HEADER_WORDS])

    def request(
        self, op, length, offset, *data, exposure=FIFOS, key=0, status=Status.OK, again=False, replied=True, source=0
    ):
        self.sequence += not again
        first = word(RequestWord, sequence=self.sequence, source=source, op=op, mark=MARK)
        target = word(TargetWord, key=key, exposure=exposure)
        self._packet(source, (first, target, word(SizeWord, length=length), offset, *data))
        if replied:
            first = word(RequestWord, sequence=self.sequence, source=1 - source, op=Op.ACK, mark=MARK)
            self._packet(1 - source, (first, word(ReplyWord, status=status)))

    def record(self, kind, size, inside, op=Op.APPEND, queue=Queue.MESSAGES, tag=TAG, serial=1, asked=0, **how):
        """The one that begins with a `Head`, and has `inside` bytes of a message."""
        data = np.frombuffer(Head(kind, 0, CONTEXT, tag, serial, asked, size).pack(), ">u4")
        self.request(op, HEAD.size + inside, LAYOUT.control(0, queue), *data, **how)

    def asks(self, number, size, offset=0):
        """Add rank 1's request for a message of so many bytes, with the place to write it to."""
        packed = Request(number, 0, CONTEXT, TAG, MEMORY, KEY, offset, size, FIFOS, 0).pack()
        data = np.frombuffer(packed[: len(packed) & ~3], ">u4")
        self.request(Op.APPEND, len(packed), LAYOUT.control(1, Queue.REQUESTS), *data, source=1)

    def more(self, size, op=Op.APPEND, **how):
        """A record that goes on with a message, and looks like one that begins one."""
        self.request(op, size, LAYOUT.control(0, Queue.MESSAGES), Kind.MESSAGE << 24, **how)

    def write(self, size, offset=0, exposure=MEMORY, key=KEY, **how):
        self.request(Op.WRITE, size, offset, exposure=exposure, key=key, **how)

    def send(self, kind, *data, tag=TAG, **how):
        """A SEND of `lanai2`, with bytes of so many words behind its header."""
        header = word(HeaderWord, context=CONTEXT, note=lanai2.note(kind))
        self.request(Op.SEND, 4 + 4 * len(data), word(EnvelopeWord, tag=tag), header, *data, **how)

    def announces(self, size, offset=0, key=KEY):
        """The first words of a notice: the bytes are at an offset in rank 0's memory."""
        notice = lanai2.Notice(size, Token(0, MEMORY, key, offset, size).pack()).pack()
        self.send(lanai2.Kind.LONG, *np.frombuffer(notice, ">u4"))

    def reads(self, size, offset=0, key=KEY):
        """Rank 1 reads there; the answer has the bytes."""
        self.request(Op.READ, size, offset, exposure=MEMORY, key=key, source=1, replied=False)
        answer = word(RequestWord, sequence=self.sequence, source=0, op=Op.DATA, mark=MARK)
        self._packet(0, (answer, word(ReplyWord, status=Status.OK)))

    def linked(self, vocabulary=VOCABULARY):
        """The message of each request."""
        packets = np.array(self.packets, PACKETS)
        commands.attribute(
            SimpleNamespace(nodes=self.nodes, meta={"plans": [{"payload": PAYLOAD}] * 2}),
            vocabulary,
            self.messages,
            packets,
            np.array(self.words),
        )
        replies = packets["kind"] == Op.ACK
        assert (packets["message"][replies] == -1).all(), "a reply belongs to no message"
        return packets["message"][~replies].tolist()


def test_a_message_by_fifo_is_its_first_record_and_those_that_hold_the_rest():
    wire = Wire([2500, 4])
    wire.record(Kind.MESSAGE, 2500, 1000)
    wire.more(1000)
    wire.more(500)
    wire.record(Kind.MESSAGE, 4, 4)
    assert wire.linked() == [0, 0, 0, 1]
    assert wire.messages["protocol"].tolist() == [Protocol.FIFO] * 2
    assert wire.messages["left"].tolist() == [0, 60]
    assert wire.messages["arrived"].tolist() == [45, 65]


def test_a_message_that_is_written_is_the_writes_to_where_its_request_said_and_the_notice():
    wire = Wire([1500, 1000, 8])
    for number, (size, offset) in enumerate([(1500, 0), (1000, 4096), (8, 8192)]):
        wire.asks(number, size, offset)
    wire.write(1000)
    wire.write(500, 1000)
    wire.write(1000, 4096)
    wire.record(Kind.WRITTEN, 1500, 0, asked=0)
    wire.record(Kind.WRITTEN, 1000, 0, asked=1)
    wire.record(Kind.WRITTEN, 8, 8, asked=2)
    assert wire.linked() == [-1, -1, -1, 0, 0, 1, 0, 1, 2]
    assert wire.messages["protocol"].tolist() == [Protocol.REMOTE_WRITE] * 3


@pytest.mark.parametrize("other", [{"exposure": MEMORY + 1}, {"key": KEY + 1}, {"offset": 4096}])
def test_what_a_program_puts_itself_belongs_to_no_message(other):
    wire = Wire([1000])
    wire.asks(5, 1000)
    wire.write(1000, **other)
    wire.write(1000)
    wire.record(Kind.WRITTEN, 1000, 0, asked=5)
    assert wire.linked() == [-1, -1, 0, 0]


def test_a_message_that_the_nic_matches_is_one_send():
    wire = Wire([8, 4])
    wire.send(lanai2.Kind.MESSAGE, 1, 2, status=Status.FULL)
    wire.send(lanai2.Kind.MESSAGE, 1, 2)
    wire.send(lanai2.Kind.ANSWER, tag=0)
    wire.send(lanai2.Kind.SYNCHRONOUS, 3)
    assert wire.linked(lanai2.VOCABULARY) == [0, 0, -1, 1]
    assert wire.messages["protocol"].tolist() == [Protocol.MATCHED] * 2


def test_a_message_that_its_receiver_reads_is_its_notice_and_the_answers():
    wire = Wire([1500, 400])
    wire.announces(1500)
    wire.announces(400, offset=4096)
    for size, offset in ((400, 4096), (1024, 0), (476, 1024)):
        wire.reads(size, offset)
    wire.reads(400, 8192)  # the program's own
    wire.reads(400, 4096, key=KEY + 1)
    assert wire.linked(lanai2.VOCABULARY) == [0, 1, 1, 1, 0, 0, 0, 0, -1, -1, -1, -1]
    assert wire.messages["protocol"].tolist() == [Protocol.RENDEZVOUS] * 2
    assert wire.messages["arrived"].tolist() == [95, 55]


def test_messages_of_one_pair_context_and_tag_are_taken_in_order_whatever_way_they_go():
    wire = Wire([100, 100, 0])
    wire.record(Kind.MESSAGE, 100, 100)
    wire.asks(1, 100)
    wire.write(100)
    wire.record(Kind.WRITTEN, 100, 0, asked=1)
    wire.record(Kind.MESSAGE, 0, 0)
    assert wire.linked() == [0, -1, 1, 1, 2]


def test_records_that_answer_belong_to_no_message():
    wire = Wire([4])
    wire.record(Kind.MATCHED, 0, 0)
    wire.record(Kind.MESSAGE, 4, 4)
    assert wire.linked() == [-1, 0]


def test_a_message_that_was_cancelled_when_it_had_left_is_none():
    """It is not in the table, and its records must not be taken for the next one's."""
    wire = Wire([1000])
    wire.record(Kind.MESSAGE, 1500, 1000, serial=1)
    wire.more(500)
    back = np.frombuffer(Head(Kind.RETURNED, 0, CONTEXT, TAG, 1, 0, 0).pack(), ">u4")
    wire.request(Op.APPEND, HEAD.size, LAYOUT.control(1, Queue.MESSAGES), *back, source=1)
    wire.record(Kind.MESSAGE, 1000, 1000, serial=2)
    assert wire.linked() == [-1, -1, -1, 0]


def test_bytes_of_a_message_that_look_like_a_record_are_bytes():
    """Like one that gives back message 2 of the other direction."""
    wire = Wire([2000, 4])
    back = np.frombuffer(Head(Kind.RETURNED, 0, CONTEXT, TAG, 2, 0, 0).pack(), ">u4")
    wire.messages["source"][0], wire.messages["target"][0] = 1, 0
    begin = np.frombuffer(Head(Kind.MESSAGE, 0, CONTEXT, TAG, 1, 0, 2000).pack(), ">u4")
    control = LAYOUT.control(1, Queue.MESSAGES)
    wire.request(Op.APPEND, HEAD.size + 1000, control, *begin, source=1)
    wire.request(Op.APPEND, 1000, control, *back, source=1)
    wire.record(Kind.MESSAGE, 4, 4, serial=2)
    assert wire.linked() == [0, 0, 1]


def test_requests_words_for_room_and_unknown_messages_belong_to_none():
    wire = Wire([4])
    wire.record(Kind.MESSAGE, 4, 4, queue=Queue.REQUESTS)
    wire.write(4, LAYOUT.room(0, Queue.MESSAGES), exposure=FIFOS)
    wire.record(Kind.MESSAGE, 4, 4, tag=TAG + 1)
    wire.record(Kind.WRITTEN, 4, 0)
    assert wire.linked() == [-1, -1, -1, 0]


def test_a_record_that_is_refused_belongs_to_the_message_that_it_comes_again_for():
    wire = Wire([2000, 4])
    wire.record(Kind.MESSAGE, 2000, 1000)
    wire.more(1000, status=Status.FULL)
    wire.record(Kind.MESSAGE, 4, 4, status=Status.FULL)
    wire.more(1000, op=Op.RETRY)
    wire.record(Kind.MESSAGE, 4, 4)
    assert wire.linked() == [0, 0, 1, 0, 1]


def test_what_is_written_in_vain_goes_by_fifo():
    wire = Wire([1000])
    wire.write(1000, status=Status.EXPOSURE)
    wire.record(Kind.MESSAGE, 1000, 1000)
    assert wire.linked() == [-1, 0]
    assert wire.messages["protocol"].tolist() == [Protocol.FIFO]


def test_a_request_that_is_sent_again_counts_once_also_if_only_its_reply_was_lost():
    wire = Wire([2500, 4])
    wire.record(Kind.MESSAGE, 2500, 1000, replied=False)
    wire.record(Kind.MESSAGE, 2500, 1000, again=True)
    wire.more(1500)
    wire.more(1500, again=True)
    wire.record(Kind.MESSAGE, 4, 4, replied=False)
    assert wire.linked() == [0, 0, 0, 0, 1]


def test_equal_words_much_later_are_those_of_another_request():
    wire = Wire([4, 4])
    wire.record(Kind.MESSAGE, 4, 4)
    for _ in range((1 << 16) - 1):
        wire.sequence += 1
    for _ in range(commands.AGAIN_WITHIN):
        wire.request(Op.WRITE, 4, LAYOUT.room(0, Queue.MESSAGES), again=True, replied=False)
    wire.sequence = 0
    wire.record(Kind.MESSAGE, 4, 4)
    assert [number for number in wire.linked() if number >= 0] == [0, 1]


def test_the_exposure_tells_which_rank_of_a_node_it_is():
    wire = Wire([4, 8], nodes=((0,), (1, 2)))
    wire.messages["target"][1] = 2
    wire.record(Kind.MESSAGE, 8, 8, exposure=EXPOSURES + FIFOS)
    wire.record(Kind.MESSAGE, 4, 4)
    assert wire.linked() == [1, 0]


# The message that each write to another rank's segment is part of, with writes made by hand.

LAYOUT_CONTROLS = Layout(2, SciOptions(), 128)
CONTEXT_CONTROLS, TAG_CONTROLS = 3, 7


class Writes:
    """The writes of two ranks; messages of these sizes go from rank 0 to rank 1."""

    def __init__(self, *sizes):
        self.messages = np.zeros(len(sizes), MESSAGES)
        self.messages["id"], self.messages["bytes"], self.messages["target"] = range(len(sizes)), sizes, 1
        self.messages["context"], self.messages["tag"], self.messages["left"] = CONTEXT_CONTROLS, TAG_CONTROLS, -1
        self.packets = np.zeros(100, PACKETS)
        self.packets["message"], self.packets["head"] = -1, range(100)
        self.follow = FollowControls(
            VOCABULARY_controls.messages, Book(self.messages, self.packets), [plan(LAYOUT_CONTROLS)] * 2
        )
        self.count = [0, 0]
        self.rows = 0

    def write(self, offset, length, data=(), source=0, exposure=0, op=Op.WRITE):
        pair = source, 1 - source
        self.follow.run([Request_controls(self.rows, op, pair, pair[1], exposure, 0, offset, length, tuple(data))])
        self.rows += 1

    def control(self, kind, source=0, **members):
        words = np.frombuffer(Packet(kind, **members).pack(1)[:24], ">u4").tolist()
        self.write(LAYOUT_CONTROLS.packet(source, self.count[source]), PACKET, words, source)
        self.count[source] += 1

    def message(self, kind, length, **members):
        self.control(kind, context=CONTEXT_CONTROLS, tag=TAG_CONTROLS, length=length, **members)

    @property
    def linked(self):
        return self.packets["message"][: self.rows].tolist()

    @property
    def protocols(self):
        return [Protocol(int(one)) for one in self.messages["protocol"]]


def test_a_short_message_is_its_control_packet():
    writes = Writes(4, 0)
    writes.message(Kind_controls.SHORT, 4)
    writes.message(Kind_controls.SHORT, 0)
    assert writes.linked == [0, 1]
    assert writes.protocols == [Protocol.INLINE] * 2


def test_an_eager_message_is_the_bytes_before_its_control_packet_too():
    writes = Writes(1500, 100)
    writes.write(LAYOUT_CONTROLS.slot(0, 0), 1024)
    writes.write(LAYOUT_CONTROLS.slot(0, 0) + 1024, 476)
    writes.write(LAYOUT_CONTROLS.slot(0, 1), 100)
    writes.message(Kind_controls.EAGER, 1500, b=0)
    writes.message(Kind_controls.EAGER, 100, b=1)
    assert writes.linked == [0, 0, 1, 0, 1]
    assert writes.protocols == [Protocol.SLOT] * 2


def test_the_chunks_of_two_messages_are_told_apart_by_what_the_receiver_answered():
    """The second is asked for first."""
    writes = Writes(2000, 1000)
    writes.message(Kind_controls.REQUEST, 2000, a=5)
    writes.message(Kind_controls.REQUEST, 1000, a=6)
    writes.control(Kind_controls.READY, source=1, length=1000, a=6, b=1)
    writes.control(Kind_controls.READY, source=1, length=2000, a=5, b=2)
    writes.write(LAYOUT_CONTROLS.chunk(0, 0), 1000)
    writes.control(Kind_controls.CHUNK, length=1000, a=1, b=0)
    for buffer in (1, 0):
        writes.write(LAYOUT_CONTROLS.chunk(0, buffer), 1000)
        writes.control(Kind_controls.CHUNK, length=1000, a=2, b=buffer)
    assert writes.linked == [0, 1, 1, 0, 1, 1, 0, 0, 0, 0]
    assert writes.protocols == [Protocol.CHUNKS] * 2


@pytest.mark.parametrize("kind", [Kind_controls.EMPTY_SLOT, Kind_controls.EMPTY_CHUNK, Kind_controls.MATCHED])
def test_answers_belong_to_no_message(kind):
    writes = Writes(4)
    writes.control(kind, a=1)
    writes.message(Kind_controls.SHORT, 4)
    assert writes.linked == [-1, 0]


def test_words_of_the_state_and_windows_belong_to_no_message():
    writes = Writes(64)
    writes.write(LAYOUT_CONTROLS.state(0), 4)
    writes.write(LAYOUT_CONTROLS.slot(0, 0), 64, exposure=5)
    writes.write(LAYOUT_CONTROLS.slot(1, 0), 64)
    writes.write(LAYOUT_CONTROLS.slot(0, 0), 64, op=Op.APPEND)
    writes.write(LAYOUT_CONTROLS.slot(0, 0), 64)
    writes.message(Kind_controls.EAGER, 64)
    assert writes.linked == [-1, -1, -1, -1, 0, 0]
