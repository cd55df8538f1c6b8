"""The message that each put by an adapter is part of, with writes made by hand."""

from types import SimpleNamespace

import numpy as np

from lanai_firmware.vocabulary import Part
from lanai_hdl.remote.packets import Op
from lanai_host.abi.observe import MODES
from lanai_host.device import SendMode
from lanai_host.stacks.t3d.heap import HEADER, LONG, REPLY, SHORT, HeapLayout, T3dOptions
from lanai_host.stacks.t3d.trace import SHELL_VOCABULARY, heap_plan
from lanai_host.stacks.t3d.windows import name_of
from lanai_sim.trace.commands import FollowPlaces
from lanai_sim.trace.requests import Book, FollowPuts, Request
from lanai_sim.trace.schema import MESSAGES, PACKETS, Protocol

LAYOUT = HeapLayout(2, T3dOptions())
HEAP, WINDOW = 0, 3  # exposures


class Writes:
    """The writes of two ranks; messages of these sizes go from rank 0 to rank 1."""

    def __init__(self, *sizes):
        self.messages = np.zeros(len(sizes), MESSAGES)
        self.messages["id"] = self.messages["sequence"] = range(len(sizes))
        self.messages["bytes"], self.messages["target"], self.messages["left"] = sizes, 1, -1
        self.packets = np.zeros(100, PACKETS)
        self.packets["message"], self.packets["head"] = -1, range(100)
        self.packets["arrival_tail"] = range(1, 101)
        requests = np.array([(MODES[SendMode.STANDARD],)], [("mode", "u1")])
        puts = FollowPuts(SimpleNamespace(stored=lambda kind: requests), self.messages)
        plans = [heap_plan(LAYOUT)] * 2
        self.follow = FollowPlaces(
            SHELL_VOCABULARY.messages, Book(self.messages, self.packets), puts, self.packets, plans
        )
        self.rows = 0

    def write(self, offset, length, *data, source=0, exposure=HEAP, op=Op.WRITE):
        target = 1 - source
        self.packets["source"][self.rows], self.packets["to_rank"][self.rows] = source, target
        self.follow.run([Request(self.rows, op, (source, target), target, exposure, 0, offset, length, data)])
        self.rows += 1

    def freed(self):
        self.write(LAYOUT.flag(1), 4, 0, source=1)

    @property
    def linked(self):
        return self.packets["message"][: self.rows].tolist()


def test_the_lines_of_a_short_message():
    writes = Writes(8, 0)
    header = LAYOUT.header(0)
    writes.write(header - 8, 20, LONG, LONG, SHORT)  # data that look like a mode
    writes.write(header + 12, 20, 8, 0, 0)
    writes.freed()
    assert writes.linked == [0, 0, 0]
    assert Protocol(writes.messages["protocol"][0]) is Protocol.SHORT
    assert (writes.messages["left"][0], writes.messages["arrived"][0]) == (0, 2)  # the flag counts to neither


def test_a_long_message_whose_header_takes_two_lines():
    writes = Writes(100, 4)
    header, reply = LAYOUT.header(0), LAYOUT.reply(0) + LAYOUT.reply_size - REPLY.size - 4
    writes.write(header, 12, LONG, 0, 0)
    writes.write(header + 12, 20, 100, 0, 0)
    writes.write(reply, 12, name_of(WINDOW, 16), 1, 100, source=1)
    writes.write(reply + 12, 12, 0, 0, 1, source=1)
    writes.freed()
    for at in range(16, 116, 50):
        writes.write(at, 50, exposure=WINDOW)
    writes.write(LAYOUT.arrival(0), 4, 1)
    writes.write(header - 4, HEADER.size + 4, 7, SHORT, 0)
    assert writes.linked == [0] * 8 + [1]
    assert [Protocol(one) for one in writes.messages["protocol"]] == [Protocol.LONG, Protocol.SHORT]


def test_other_requests_and_the_rest_of_the_heap_belong_to_no_message():
    writes = Writes(4)
    writes.write(LAYOUT.header(0), HEADER.size, SHORT, op=Op.READ)
    writes.write(LAYOUT.nothing, 4, 1)
    writes.write(0, 4, 1, exposure=WINDOW)  # tells a synchronous sender of the match
    assert writes.linked == [-1] * 3


def test_a_header_s_first_line_tells_that_the_message_is_long():
    plan = heap_plan(LAYOUT)
    seen = SHELL_VOCABULARY.messages.see((LONG, 0, 0), HEAP, LAYOUT.header(1), 12, 1, plan)
    assert (seen.part, seen.announces) == (Part.REST, True)
