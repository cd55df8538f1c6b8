"""`lanai bench start`: what a run of ranks that say hello costs, in Python and in C."""

import argparse

import pytest

from lanai_host.errors import UserError
from lanai_sim.studies.benches import start


def asked(**changes):
    return argparse.Namespace(**({"ranks": [2], "device": "mpi-np", "language": ["python", "c"]} | changes))


@pytest.mark.ci
def test_a_rank_in_c_costs_less_than_one_in_python(monkeypatch):
    monkeypatch.setattr(start, "ROUNDS", 1)
    figures = start.run(asked(ranks=[4, 16]))
    names = {f"start.{name}.{which}" for name in ("cpu_s", "c_cpu_s") for which in (4, 16, "rank")}
    assert set(figures) == names
    assert 0 < figures["start.c_cpu_s.rank"] < figures["start.cpu_s.rank"]


def test_a_rank_costs_what_the_largest_run_takes_more_than_one_of_four():
    assert start.of_a_rank({2: 9.0, 4: 1.0, 16: 9.0, 32: 2.4}) == pytest.approx(0.05)
    assert start.of_a_rank({2: 1.0, 3: 1.5}) == pytest.approx(0.5)
    assert start.of_a_rank({8: 1.0}) == 0


def test_a_run_without_ranks_is_refused():
    with pytest.raises(UserError, match="--ranks 0 is too small; a run has 1 rank or more"):
        start.run(asked(ranks=[4, 0]))
