"""`lanai bench engine`: the programs of its ranks run, and its speeds are of the models that they name."""

import pytest

from lanai_sim.studies.benches import engine


@pytest.mark.parametrize(("program", "ranks"), [(engine.PING_PONG, 2), (engine.REQUESTS, 1)])
def test_a_round_of_its_ranks_takes_time(tmp_path, monkeypatch, program, ranks):
    monkeypatch.setattr(engine, "STARTS", 1)
    monkeypatch.setattr(engine, "SWITCHES", 20)
    assert 0 < engine.rank_seconds(program, ranks, str(tmp_path)) < 1


@pytest.mark.ci
def test_the_models_are_faster_than_the_gateware_as_it_is_synthesized(monkeypatch):
    monkeypatch.setattr(engine, "ROUNDS", 15)
    figures = engine.speeds(100_000)
    rates = {nics: figures[f"engine.nic_cycles_per_second.{nics}"] for nics in engine.BUSY}
    bare = figures["engine.bare_cycles_per_second"]
    for nics, reached in rates.items():
        assert figures[f"engine.ratio.{nics}"] == pytest.approx(reached / bare)
    assert figures["engine.speedup"] > 1.5  # 2.8 on record; noise takes some of it
