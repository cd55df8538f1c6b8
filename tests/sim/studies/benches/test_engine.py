"""`lanai bench engine`: the programs of its ranks run."""

import pytest

from lanai_sim.studies.benches import engine


@pytest.mark.parametrize(("program", "ranks"), [(engine.PING_PONG, 2), (engine.REQUESTS, 1)])
def test_a_round_of_its_ranks_takes_time(tmp_path, monkeypatch, program, ranks):
    monkeypatch.setattr(engine, "STARTS", 1)
    monkeypatch.setattr(engine, "SWITCHES", 20)
    assert 0 < engine.rank_seconds(program, ranks, str(tmp_path)) < 1
