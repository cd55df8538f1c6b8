"""Words that a process waits for, in memory of this process."""

import ctypes
import mmap

import pytest

from lanai_host.simulator.requests import WATCHED_WORD, WatchedWord
from lanai_sim.engines.words import Buffers, Stage, Words, watching

FIRST = 0x5000


def listed(*words):
    return b"".join(WATCHED_WORD.pack(WatchedWord(*word)) for word in words)


@pytest.fixture
def memory():
    return mmap.mmap(-1, 4096)


@pytest.fixture
def buffers(memory):
    made = Buffers()
    made.add(0x1000, mmap.mmap(-1, 4096))
    made.add(FIRST, memory)
    return made


def test_words_differ_from_what_was_seen(memory, buffers):
    words = buffers.find(listed((FIRST, 0), (FIRST + 4092, 0x01020304)), 2)
    assert (len(words), words.changed) == (2, True)
    memory[4092:] = b"\1\2\3\4"
    assert not words.changed
    memory[:4] = b"\xff\0\0\1"
    assert words.changed
    assert list(words) == [(FIRST, 0), (FIRST + 4092, 0x01020304)]


@pytest.mark.parametrize("address", [0, FIRST - 4, FIRST + 4093, FIRST + 4096, 0xFFFFFFFC])
def test_a_word_that_is_in_no_buffer(buffers, address):
    assert buffers.find(listed((FIRST, 0), (address, 0)), 2) == 1


def test_parts_are_the_same_words(memory, buffers):
    words = buffers.find(listed((FIRST, 0), (FIRST + 4, 0), (FIRST + 8, 0)), 3)
    memory[4:8] = b"\0\0\0\1"
    assert (words.changed, words.part(1, 3).changed, words.part(2, 3).changed) == (True, True, False)
    assert words.part(1, 3).key == words.key[len(words.part(0, 1).key) :]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_word_that_is_noted_is_waited_for_no_more(memory, buffers, number):
    words = buffers.find(listed((FIRST, 0), (FIRST + 4, 0), (FIRST + 8, 0)), 3)
    polls = words.polled(0, 1000, number, 1, 50)
    memory[4 * number + 3] = 1
    assert (words.changed, polls.again(), polls.noted) == (True, 1050, 1)
    assert not polls.words.changed
    assert list(polls.words) == [(FIRST + 4 * i, 0) for i in range(3) if i != number]


def test_a_poll_in_vain_has_seen_all_words_but_the_decisive_ones(memory, buffers):
    words = buffers.find(listed((FIRST, 0), (FIRST + 4, 0), (FIRST + 8, 0)), 3)
    polls = words.polled(1, 1000, -1, 0, 0)
    memory[4:8] = b"\0\0\0\1"
    assert (polls.again(), list(words)) == (1000, [(FIRST, 0), (FIRST + 4, 1), (FIRST + 8, 0)])
    memory[8:12] = b"\0\0\0\2"
    assert (polls.again(), list(words)[2]) == (None, (FIRST + 8, 0))


def test_a_wait_goes_on_when_it_begins_looks_or_is_told(memory, buffers):
    words = buffers.find(listed((FIRST, 0), (FIRST + 4, 0)), 2)

    def stages():
        return words.wait_begins(), words.wait_looks(), words.wait_told(8, 7), words.wait_told(7, 7)

    assert stages() == (Stage.WATCHES, Stage.WATCHES, Stage.WATCHES, Stage.COMES)
    memory[7] = 1
    assert stages() == (Stage.COMES, Stage.ENDS, Stage.ENDS, Stage.COMES)


def test_keys_are_equal_for_the_same_words_of_which_the_same_was_seen(buffers):
    first, again, other = (buffers.find(listed((FIRST, seen)), 1) for seen in (0, 0, 1))
    assert first.key == again.key != other.key


def test_memory_stays_as_long_as_there_are_words_in_it(memory, buffers):
    words = buffers.find(listed((FIRST, 0)), 1)
    buffers.clear()
    assert buffers.find(listed((FIRST, 0)), 1) == 0
    with pytest.raises(BufferError):
        memory.close()
    assert not words.changed
    del words
    memory.close()


def test_an_engine_watches_the_words_one_by_one(buffers):
    words = buffers.find(listed((FIRST, 7), (FIRST + 4, 0xFFFFFFFF)), 2)
    watched = []
    numbers = [ctypes.c_uint32] * 4
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *numbers)(lambda *given: watched.append(given))
    words.watch(*watching(ctypes.cast(function, ctypes.c_void_p).value, 0x1234), 3, 2**32 - 1)
    assert watched == [(0x1234, 3, FIRST, 7, 2**32 - 1), (0x1234, 3, FIRST + 4, 0xFFFFFFFF, 2**32 - 1)]


def test_no_words_have_not_changed():
    assert not Words.of([]).changed
