"""Parameters of which a few run by default, the others in .ci/run."""

from itertools import product

import pytest


def in_turn(first, second, count=None):
    """Pairs for `parametrize`: by default `count`, or as many as give every value of both a turn; the
    others for .ci/run."""
    first, second = list(first), list(second)
    count = max(len(first), len(second)) if count is None else count
    chosen = {(n % len(first), n % len(second)) for n in range(count)}
    pairs = product(range(len(first)), range(len(second)))
    return [pytest.param(first[a], second[b], marks=[] if (a, b) in chosen else pytest.mark.ci) for a, b in pairs]


def some_of(count, values):
    """Values for `parametrize`: so many by default, the others for .ci/run."""
    values = list(values)
    return [*values[:count], *(pytest.param(value, marks=pytest.mark.ci) for value in values[count:])]


def first_of(*values):
    """Values for `parametrize`, tuples for several names: the first by default; the others for
    .ci/run."""
    first, *others = values
    rest = (value if isinstance(value, tuple) else (value,) for value in others)
    return [first, *(pytest.param(*value, marks=pytest.mark.ci) for value in rest)]
