"""The cache that no put invalidates (T3-17), against memory."""

from hypothesis import given
from hypothesis import strategies as st

from lanai_host.stacks.t3d.heap import LINE, SIZE, Cache


def test_a_line_that_was_read_hides_what_is_put_later():
    memory = bytearray(2 * SIZE)
    cache = Cache(memoryview(memory))
    assert cache.read(40, 4) == bytes(4)
    memory[36:44] = b"abcdefgh"
    assert cache.read(40, 4) == bytes(4)
    assert cache.read(36, 4) == bytes(4), "it is of the same line"
    assert cache.invalidate(40, 4) == 1
    assert cache.read(36, 8) == b"abcdefgh"


def test_another_line_of_the_same_place_pushes_it_out():
    memory = bytearray(2 * SIZE)
    cache = Cache(memoryview(memory))
    cache.read(0, 1)
    memory[0] = 1
    cache.read(SIZE, 1)
    assert cache.read(0, 1) == b"\1"


def test_a_range_over_lines_is_read_whole():
    memory = bytearray(n % 251 for n in range(SIZE))
    cache = Cache(memoryview(memory))
    assert cache.read(30, 2 * LINE) == memory[30 : 30 + 2 * LINE]
    assert cache.invalidate(30, 2 * LINE) == 3


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2 * SIZE - 70), st.integers(1, 70)), max_size=30))
def test_who_alone_writes_sees_what_it_wrote(steps):
    memory, right = bytearray(2 * SIZE), bytearray(2 * SIZE)
    cache = Cache(memoryview(memory))
    for number, (store, offset, size) in enumerate(steps):
        if store:
            data = bytes([number + 1]) * size
            cache.write(offset, data)
            right[offset : offset + size] = data
        assert cache.read(offset, size) == right[offset : offset + size]
    assert memory == right
