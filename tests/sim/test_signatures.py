"""Type signatures: which fit, and how they are said."""

import pytest

from lanai_sim.signatures import fits, words


@pytest.mark.parametrize(
    ("sent", "received", "whole", "expected"),
    [
        ([["i4", 3]], [["i4", 5]], False, True),
        ([["i4", 3]], [["i4", 5]], True, False),
        ([["i4", 5]], [["i4", 3]], False, True),  # too long is a truncation
        ([["i4", 1], ["f8", 1]], [["f8", 1], ["i4", 1]], False, False),
        ([["i4", 1], ["f8", 1]], [["i4", 1], ["f8", 2]], False, True),
        ([["PACKED", 9]], [["i4", 3]], True, None),
        ([["BYTE", 4]], [["i4", 1]], False, False),
        ([["BYTE", 4]], [["u1", 4]], False, None),
        ([["#aa", 9]], [["#aa", 9]], True, True),
        ([["#aa", 9]], [["#bb", 9]], True, False),
        ([["#aa", 9]], [["i4", 9]], True, None),
        ([], [["i4", 3]], False, True),
    ],
)
def test_signatures(sent, received, whole, expected):
    assert fits(sent, received, whole=whole) is expected


def test_signatures_in_words():
    assert words([["i4", 3], ["f8", 1]]) == "3 int, 1 double"
    assert words([]) == "nothing"
