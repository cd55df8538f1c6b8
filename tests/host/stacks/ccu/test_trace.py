"""The vocabulary by which traces read the daemons' packets."""

import struct

from lanai_firmware.programs.ccu.layout import ACK, DATA, MPI_HEAD, MPI_TAIL
from lanai_firmware.vocabulary import SeenFragment
from lanai_host.stacks.ccu.messages import HEADER, Kind
from lanai_host.stacks.ccu.stack import VOCABULARY, Type, see

WORDS = 10  # of a packet that traces keep


def data(source, targets, tag, content):
    """The first words of a packet; each target: node, clients, number."""
    words = [int(DATA) << 24 | len(targets) << 16 | source]
    words += [node << 24 | clients << 16 | number for node, clients, number in targets]
    words += [tag, len(content), *struct.unpack(f">{len(content) // 4}I", content)]
    return (words + [0] * WORDS)[:WORDS]


def envelope(kind, context, tag, length=0):
    return HEADER.pack(kind, context, tag, length, 0)


def test_a_message_in_one_packet():
    words = data(2, [(1, 0b10, 65535)], 5 | int(MPI_HEAD) | int(MPI_TAIL), envelope(Kind.MESSAGE, 3, -1))
    assert see(words) == SeenFragment(2, Type.DATA, ((1, 2, 65535),), 5, True, True, (3, -1))
    assert VOCABULARY.text(words) == "DATA_from2_to1_no65535"


def test_the_middle_of_a_message_tells_no_envelope():
    seen = see(data(0, [(1, 1, 7)], 4, bytes(64)))
    assert (seen.rank, seen.begins, seen.ends, seen.envelope) == (4, False, False, None)


def test_an_answer_to_a_synchronous_message_is_not_one_of_the_program():
    assert see(data(0, [(1, 1, 7)], int(MPI_HEAD) | int(MPI_TAIL), envelope(Kind.TAKEN, 0, 0))).envelope is None


def test_a_packet_for_several_nodes_as_far_as_its_words_reach():
    head = envelope(Kind.MESSAGE, 3, 9)
    five = [(node, 1, node) for node in range(5)]
    assert see(data(7, five, int(MPI_HEAD), head)).envelope == (3, 9)
    six = see(data(7, [*five, (5, 1, 5)], int(MPI_HEAD), head))
    assert (len(six.targets), six.begins, six.envelope) == (6, True, None)
    twelve = see(data(7, [(node, 1, node) for node in range(12)], int(MPI_HEAD), head))
    assert (len(twelve.targets), twelve.rank) == (9, -1)


def test_acknowledgements_and_packets_cut_short():
    assert see([int(ACK) << 24 | 3, 65535, 0]) == SeenFragment(3, Type.ACK, expects=65535)
    assert see([int(ACK) << 24 | 3]) == SeenFragment(3, Type.ACK)
    assert VOCABULARY.text([int(ACK) << 24 | 3]) == "ACK_from3"
    assert VOCABULARY.text(data(2, [(1, 1, 8)], 0, b"")[:2]) == "DATA_from2_to1_no8"
    assert VOCABULARY.text([]) == "packet"
