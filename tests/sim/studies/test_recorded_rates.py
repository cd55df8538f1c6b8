"""Replay of recorded traffic: its rate, and outputs that must be as on record."""

from dataclasses import replace

import pytest

from lanai_host.errors import UserError
from lanai_sim.studies import recordings
from lanai_sim.studies.recordings import TRAFFIC, play, rate


@pytest.mark.ci
@pytest.mark.parametrize("name", ["alltoall", pytest.param("sci", marks=pytest.mark.by_hand)])
def test_traffic_is_recorded_and_replayed(name):
    inputs = play(TRAFFIC[name])
    assert len(inputs.slots) > 1000
    assert rate(inputs, 1) > 1000
    with pytest.raises(UserError, match=r"outputs differ from the gateware's: .* on record 0000"):
        rate(replace(inputs, digest="0" * 16), 1)


def test_figures_have_the_names_of_the_traffic(monkeypatch):
    monkeypatch.setattr(recordings, "play", lambda recording: recording)
    monkeypatch.setattr(recordings, "rate", lambda recording: 1.0)
    assert recordings.rates(["stream", "ccu"]) == {
        "engine.cycles_per_second.stream": 1.0,
        "engine.cycles_per_second.ccu": 1.0,
    }
