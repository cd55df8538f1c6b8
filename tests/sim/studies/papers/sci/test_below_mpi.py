"""Stores and loads without MPI."""

import pytest

from lanai_sim.studies.papers.sci import below_mpi


@pytest.mark.ci
def test_a_load_takes_a_round_trip_for_each_word_and_stores_do_not():
    """SC-02."""
    found = below_mpi.figures(below_mpi.by_processor)
    word = found["pio.load_us.8"] / 2
    assert found["pio.load_us.256"] == pytest.approx(64 * word, rel=0.2)
    assert found["pio.store_us.256"] < 4 * found["pio.store_us.8"]
    assert found["pio.load_MiBps"] < 0.1 * found["pio.store_MiBps"]
    assert word < 2
