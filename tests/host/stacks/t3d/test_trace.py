"""The meaning of a put, which follows from its place."""

import pytest

from lanai_firmware.programs.put.layout import BUS, FLAG, KIND_AT, Kind
from lanai_firmware.vocabulary import Part
from lanai_host.stacks.t3d.heap import HEADER, LONG, REPLY, SHORT, HeapLayout, T3dOptions
from lanai_host.stacks.t3d.trace import VOCABULARY, Type, plan

LAYOUT = HeapLayout(4, T3dOptions())
PLAN = plan(0x1000, LAYOUT)
END_OF_REPLY = LAYOUT.reply(4) - REPLY.size  # of the fourth: where its addresses end


def see(address, length, *content, source=2):
    return VOCABULARY.see([address, length, source << 16 | 5, *content, *[0] * (4 - len(content))], PLAN)


@pytest.mark.parametrize(
    ("address", "length", "content", "part"),
    [
        (LAYOUT.header(2), HEADER.size, (SHORT,), Part.SHORT),
        (LAYOUT.header(2), HEADER.size, (LONG,), Part.LONG),
        (LAYOUT.header(2) - 4, HEADER.size + 4, (LONG, SHORT), Part.SHORT),  # a word of data that looks like a mode
        (LAYOUT.header(2) - 1024, HEADER.size + 1024, (LONG,), Part.SHORT),
        (LAYOUT.slot(2), 100, (LONG,), Part.REST),  # data before a fence
        (END_OF_REPLY - 8, 8 + REPLY.size, (0x5000, 0x6000), Part.REPLY),
        (END_OF_REPLY, REPLY.size, (2,), Part.REST),
        (LAYOUT.flag(2), 4, (0,), Part.FREED),
        (LAYOUT.arrival(7), 4 | int(FLAG), (1,), Part.ARRIVED),
        (0x5000, 2048 | int(BUS), (LONG,), Part.BYTES),
        (LAYOUT.nothing, 4, (0,), None),
    ],
)
def test_the_place_tells_what_a_put_is(address, length, content, part):
    seen = see(address, length, *content)
    assert (seen.source, seen.part) == (2, part)
    assert seen.type == (Type.HEAP if part is None else part)


def test_a_reply_tells_its_number_and_where_the_first_bytes_go():
    seen = see(END_OF_REPLY - 8, 8 + REPLY.size, 0x5000, 0x6000)
    assert (seen.reply, seen.first) == (3, 0x5000)
    assert see(END_OF_REPLY, REPLY.size, 2).reply == 3


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.PUT])
def test_questions_and_answers_belong_to_no_message(kind):
    seen = see(LAYOUT.header(2), HEADER.size | kind << int(KIND_AT), SHORT)
    assert VOCABULARY.type_name(seen.type) == kind.name
    assert seen.part is None


def test_a_waveform_shows_the_header():
    assert VOCABULARY.text([0x20]) == "PUT_address20"
    assert VOCABULARY.text([0x20, 0x8000_0004, 0x2_0005]) == "PUT_address20_length80000004_number20005"
