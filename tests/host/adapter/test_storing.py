"""Transfers by the processor: which bytes it moves itself, which a command moves, and what one NOP tells of. No
adapter is there: the aperture keeps what is stored.
"""

import ctypes

import pytest

from lanai_hdl.remote.packets import MARK, Op, ReplyWord, RequestWord, SizeWord, Status, TargetWord, word
from lanai_hdl.remote.tables import EXPOSURES
from lanai_host.adapter.aperture import MOST_MAPPED, Storing
from lanai_host.adapter.operation import Token
from lanai_host.adapter.trace import VOCABULARY, see
from lanai_host.adapter.transfers import Transfer
from lanai_host.body import NOTHING, Run, Runs

SIZE = 64


class Aperture:
    """Memory of a peer, whose first byte is byte `first` of its exposure. `blocks`: the sizes of the stores."""

    def __init__(self, first=0, content=bytes(SIZE)):
        self.first, self.content, self.blocks = first, bytearray(content), []

    def store(self, token, offset, data):
        assert (token.first + offset) % 4 == len(data) % 4 == 0
        self.content[offset : offset + len(data)] = data
        self.blocks.append(len(data))

    def load(self, token, offset, size):
        assert (token.first + offset) % 4 == size % 4 == 0
        assert 0 <= offset <= token.size - size
        return bytes(self.content[offset : offset + size])


class Source:
    """Bytes of this process's, and bodies of them."""

    def __init__(self, data):
        self.memory = ctypes.create_string_buffer(bytes(data), len(data))
        self.address = ctypes.addressof(self.memory)

    def body(self, *runs):
        return Runs([(self.address + at, size) for at, size in runs])


def transfer(op, offset, body, *, first=0, own=False, rank=1):
    return Transfer(op, rank, Token(1, 0, 7, first, SIZE), offset, body, own, by_processor=True)


def moved(storing, one):
    """(bytes, whether the processor moves them) of each piece of a transfer; a command's bytes are not moved here."""
    pieces = []
    while one.begun < one.length:
        size = storing.bytes_of(one)
        if size:
            storing.move(one, size)
        else:
            few = storing.command_bytes(one)
            one.begun += few or one.length - one.begun
        pieces.append((one.begun - sum(done for done, _ in pieces), size > 0))
    return pieces


@pytest.mark.parametrize(
    ("first", "offset", "size", "pieces"),
    [
        (0, 0, 16, [(16, True)]),
        (0, 0, 18, [(16, True), (2, False)]),
        (0, 2, 16, [(2, False), (12, True), (2, False)]),
        (1, 3, 8, [(8, True)]),  # the exposure begins at an odd address
        (0, 1, 6, [(6, False)]),  # no whole word in it
        (0, 0, 3, [(3, False)]),
        (0, 1, 7, [(3, False), (4, True)]),
    ],
)
def test_whole_words_are_stored_and_commands_move_the_rest(first, offset, size, pieces):
    source = Source(range(size))
    aperture = Aperture()
    one = transfer(Op.WRITE, offset, source.body((0, size)), first=first)
    assert moved(Storing(aperture), one) == pieces
    at = offset
    for length, stored in pieces:
        found = aperture.content[at : at + length]
        assert found == (bytes(range(at - offset, at - offset + length)) if stored else bytes(length))
        at += length
    assert not any(aperture.content[:offset])
    assert not any(aperture.content[at:])


def test_the_devices_own_memory_takes_whole_words_beyond_the_end():
    source, aperture = Source(b"abcdef"), Aperture(content=b"\xff" * SIZE)
    assert moved(Storing(aperture), transfer(Op.WRITE, 8, source.body((0, 6)), own=True)) == [(6, True)]
    assert aperture.content[8:20] == b"abcdef\0\0\xff\xff\xff\xff"


def test_blocks_leave_from_where_they_lie_and_words_of_several_blocks_together():
    """SC-10."""
    source, aperture = Source(range(100)), Aperture()
    blocks = [(0, 5), (10, 6), (20, 8), (40, 1), (50, 4)]
    moved(Storing(aperture), transfer(Op.WRITE, 0, source.body(*blocks)))
    wanted = bytes(byte for at, size in blocks for byte in range(at, at + size))
    assert aperture.content[: len(wanted)] == wanted
    assert aperture.blocks == [4, 4, 8, 4, 4]


@pytest.mark.parametrize(
    ("first", "offset", "size", "by_loads"),
    [(0, 3, 5, True), (0, 60, 4, True), (1, 0, 4, False), (1, 3, 8, True), (2, 60, 4, False)],
)
def test_a_get_loads_the_words_around_it_if_they_are_the_targets(first, offset, size, by_loads):
    aperture = Aperture(first, bytes(range(SIZE)))
    found = ctypes.create_string_buffer(size)
    one = transfer(Op.READ, offset, Run(ctypes.addressof(found), size), first=first)
    storing = Storing(aperture)
    assert moved(storing, one) == [(size, by_loads)]
    assert found.raw == (bytes(range(offset, offset + size)) if by_loads else bytes(size))
    assert one.finished
    assert storing.gathered is None


def test_only_a_load_that_may_have_failed_needs_a_nop():
    content = b"\0\0\0\0" + b"\xff" * 4
    for size, asks in ((4, False), (8, True)):
        storing, found = Storing(Aperture(content=content.ljust(SIZE, b"\0"))), ctypes.create_string_buffer(size)
        one = transfer(Op.READ, 0, Run(ctypes.addressof(found), size))
        moved(storing, one)
        assert found.raw == content[:size]
        assert (storing.gathered is not None, one.finished) == (asks, not asks)


def test_a_nop_tells_of_one_rank_and_of_the_devices_own_transfers_apart():
    source, storing = Source(bytes(8)), Storing(Aperture())
    body = source.body((0, 8))
    first, same = transfer(Op.WRITE, 0, body), transfer(Op.WRITE, 8, body)
    other, own = transfer(Op.WRITE, 0, body, rank=2), transfer(Op.WRITE, 0, body, own=True)
    assert storing.joins(first)
    storing.move(first, 8)
    assert [storing.joins(one) for one in (same, other, own)] == [True, False, False]
    storing.move(same, 8)
    stored = storing.take()
    assert stored.transfers == [first, same]
    assert storing.gathered is None
    assert (first.under_way, first.finished) == (1, False)


def test_memory_that_no_map_can_name_and_transfers_by_command_are_left_to_commands():
    storing = Storing(Aperture())
    far = Transfer(Op.WRITE, 1, Token(1, 0, 7, MOST_MAPPED - 8, SIZE), 4, Run(0, 8), by_processor=True)
    by_command = Transfer(Op.WRITE, 1, Token(1, 0, 7, 0, SIZE), 0, Run(0, 8))
    for one in (far, by_command):
        assert (storing.bytes_of(one), storing.command_bytes(one)) == (0, None)
    assert storing.bytes_of(Transfer(Op.WRITE, 1, Token(1, 0, 7, 0, SIZE), 0, NOTHING, by_processor=True)) == 0


# The words by which traces and waveforms read the adapter's packets, also damaged ones.

WRITE = (
    word(RequestWord, sequence=5, source=3, op=Op.WRITE, mark=MARK),
    word(TargetWord, key=0xBEEF, exposure=EXPOSURES + 9, entry=1),
    word(SizeWord, length=100, node=3, process=2),
    0x1230,
)
ACK = (
    word(RequestWord, sequence=5, source=7, op=Op.ACK, mark=MARK),
    word(ReplyWord, status=Status.KEY, entry=1),
)


def test_a_request_names_the_process_that_asked_and_the_one_whose_memory_it_is():
    assert see(WRITE) == (3, Op.WRITE, 2, 1)
    assert see(WRITE[:2]) == (3, Op.WRITE, None, None)


def test_a_reply_names_no_process():
    assert see((*ACK, 0, 0)) == (7, Op.ACK, None, None)


def test_texts_grow_with_the_words_that_are_known():
    assert [VOCABULARY.text(WRITE[:count]) for count in (1, 2, 4)] == [
        "WRITE_seq5_from3",
        "WRITE_seq5_from3_exposure25",
        "WRITE_seq5_from3_exposure25_offset1230_length100",
    ]
    assert VOCABULARY.text(ACK) == "ACK_seq5_from7_KEY"


def test_what_is_damaged_is_shown_as_numbers():
    odd = word(RequestWord, sequence=5, source=3, mark=MARK) | 15 << 24
    assert VOCABULARY.text((odd, 0)) == "type15_seq5_from3_exposure0"
    assert see((odd, 0, 0)).type == 15
    assert VOCABULARY.text((ACK[0], 15 << 8 | 15)).startswith("ACK_seq5_from7_")
    assert VOCABULARY.text((0x1234, 0)) == "packet_00001234"
    assert see((0x1234, 0, 0)) == (-1, Op.NOP, None, None)
