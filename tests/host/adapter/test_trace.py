"""The words by which traces and waveforms read the adapter's packets, also damaged ones."""

from lanai_hdl.remote.packets import (
    MARK,
    Op,
    ReplyWord,
    RequestWord,
    SizeWord,
    Status,
    TargetWord,
    word,
)
from lanai_hdl.remote.tables import EXPOSURES
from lanai_host.adapter.trace import VOCABULARY, see

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
