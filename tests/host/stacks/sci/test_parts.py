"""Control packets and the layout of a segment."""

import pytest

from lanai_host.stacks.sci.layout import CHUNKS, LINE, Layout
from lanai_host.stacks.sci.options import SciOptions
from lanai_host.stacks.sci.packets import INLINE, PACKET, SEQUENCE_AT, SEQUENCES, WORD, Kind, Packet


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
