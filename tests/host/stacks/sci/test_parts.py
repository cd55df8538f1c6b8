"""Control packets and the layout of a segment."""

import pytest

from lanai_host.stacks.sci.layout import (
    CHUNKS,
    INLINE,
    LINE,
    PACKET,
    SEQUENCE_AT,
    SEQUENCES,
    WORD,
    Kind,
    Layout,
    Packet,
    SciOptions,
)
from lanai_host.stacks.sci.messages import LAST, next_chunk


@pytest.mark.parametrize(
    "packet",
    [
        Packet(Kind.SHORT, 65535, 2**31 - 1, 5, 1, data=b"hello"),
        Packet(Kind.SHORT, 1, 0, INLINE, data=bytes(range(INLINE))),
        Packet(Kind.CHUNK, length=2**32 - 1, a=2**32 - 1, b=1, c=1),
    ],
)
def test_a_packet_is_what_was_packed_and_its_sequence_number_is_last(packet):
    data = packet.pack(SEQUENCES - 1)
    assert len(data) == PACKET
    assert data[SEQUENCE_AT:] == WORD.pack(SEQUENCES - 1)
    assert Packet.unpack(data) == packet


def test_the_parts_of_a_segment_do_not_overlap():
    options = SciOptions(ring=4, eager=128, eager_slots=3, chunk=192)
    layout = Layout(3, options)
    taken = set()
    for peer in range(3):
        parts = [(layout.state(peer), PACKET)]
        parts += [(layout.packet(peer, number), PACKET) for number in range(options.ring)]
        parts += [(layout.slot(peer, number), options.eager) for number in range(options.eager_slots)]
        parts += [(layout.chunk(peer, number), options.chunk) for number in range(CHUNKS)]
        for first, size in parts:
            found = set(range(first, first + size))
            assert not found & taken
            assert first % PACKET == 0, "a packet that crosses a page would not arrive whole"
            taken |= found
        assert layout.slot(peer, 1) % LINE == layout.chunk(peer, 1) % LINE == 0
    assert taken <= set(range(layout.size))
    assert layout.part < PACKET * (1 + options.ring) + 3 * 128 + 2 * 192 + 7 * LINE
    assert layout.packet(1, 7) == layout.packet(1, 3)


@pytest.mark.parametrize("chunk", [64, 192, 4096, 16384, 32768])
@pytest.mark.parametrize("size", [1, 4097, 8191, 8192, 12287, 65535, 65536, 200_001])
def test_chunks_are_halves_at_the_end_and_begin_with_lines(size, chunk):
    begin, pieces = 0, []
    while begin < size:
        pieces.append(next_chunk(size - begin, chunk))
        assert 0 < pieces[-1] <= chunk
        begin += pieces[-1]
    assert begin == size
    assert pieces == sorted(pieces, reverse=True)
    assert len(pieces) == 1 or pieces[-1] <= LAST
    if chunk % LINE == 0:
        assert not any(piece % LINE for piece in pieces[:-1])


def test_a_long_message_has_whole_chunks_but_for_its_end():
    left, pieces = 65536, []
    while left:
        pieces.append(next_chunk(left, 16384))
        left -= pieces[-1]
    assert pieces == [16384, 16384, 16384, 8192, 4096, 4096]
