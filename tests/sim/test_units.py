"""Counts as people read them."""

import pytest

from lanai_sim.units import counted


@pytest.mark.parametrize(
    ("number", "what", "text"),
    [(0, "run", "0 runs"), (1, "run", "1 run"), (4096, "rank", "4,096 ranks"), (1, "entry", "1 entry"),
     (2, "entry", "2 entries")],
)  # fmt: skip
def test_a_count_has_the_form_that_its_number_needs(number, what, text):
    assert counted(number, what) == text
