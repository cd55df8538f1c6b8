"""At how many ranks a test runs."""

import pytest

from lanai_host.errors import UserError
from lanai_sim.pytest_plugin.bench import ranges
from lanai_sim.pytest_plugin.counts import Wish, parse_counts, wish_of


def mark(name, *arguments, **words):
    return pytest.Mark(name, arguments, words, _ispytest=True)


@pytest.mark.parametrize(
    ("text", "counts"), [("4", (4,)), ("1-3", (1, 2, 3)), ("2,4-5,4", (2, 4, 5)), (" 8 , 1", (8, 1))]
)
def test_counts(text, counts):
    assert parse_counts("--lanai-ranks", text) == counts


@pytest.mark.parametrize("text", ["", "3-1", "a", "1-2-3", "5000", "-1"])
def test_what_is_not_a_count(text):
    with pytest.raises(UserError, match="--lanai-ranks"):
        parse_counts("--lanai-ranks", text)


@pytest.mark.parametrize(
    ("marker", "wish"),
    [
        (mark("parallel"), Wish((3,))),
        (mark("parallel", 4), Wish((4,))),
        (mark("parallel", [1, 2]), Wish((1, 2))),
        (mark("parallel", nprocs=range(2, 4)), Wish((2, 3))),
        (mark("mpi"), Wish()),
        (mark("mpi", ranks=2), Wish((2,))),
        (mark("mpi", min_size=4), Wish((), 4)),
        (mark("mpi", ranks=[1, 3], timeout=2, unit="m"), Wish((1, 3), 1, 120.0)),
    ],
)
def test_markers(marker, wish):
    assert wish_of(marker) == wish


def test_ranges():
    assert ranges({1, 2, 3, 5, 8, 7}) == "1-3, 5, 7-8"
