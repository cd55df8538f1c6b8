"""Route words: what the switches read back is what was asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_hdl.link.format import MOST_BYTES, route_bytes, route_word


def read(word):
    """The ports that switches would use, one after the other, until no byte is left."""
    ports = []
    while word >> 31:
        count, port = word >> 28 & 7, word >> 24 & 15
        word = word - (1 << 28) if count else word << 8 & 0xFFFFFFFF
        ports.append(port)
    assert word == 0
    return ports


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 20)), max_size=4))
def test_switches_read_what_was_asked_for(runs):
    ports = [port for port, times in runs for _ in range(times)]
    if len(route_bytes(ports)) > MOST_BYTES:
        with pytest.raises(ValueError, match=r"a HEAD holds 4"):
            route_word(ports)
    else:
        assert read(route_word(ports)) == ports


@pytest.mark.parametrize(
    ("ports", "word"),
    [
        ([], 0),
        ([3], 0x83000000),
        ([2, 2, 2, 2], 0x82828282),
        ([2, 2, 2, 2, 0], 0xB2800000),
        ([1] * 9, 0xF1810000),
        ([1, 1, 3, 3, 5, 5, 0], 0x91939580),
    ],
)
def test_a_count_is_used_only_where_a_byte_a_switch_would_not_fit(ports, word):
    assert route_word(ports) == word
