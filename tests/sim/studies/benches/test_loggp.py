"""`lanai bench loggp`: the fit, and systems that are not known."""

import json

import pytest

from lanai_sim.cli import main
from lanai_sim.studies.benches import loggp

TRUE = {"L": 10.0, "os": 0.5, "or": 1.5, "g": 4.0, "G": 8.0}


def test_what_follows_the_model_is_fitted_exactly():
    start = TRUE["os"] + TRUE["L"] + TRUE["or"]
    times = {str(size): start + (size - loggp.SHORT) * TRUE["G"] / 1000 for size in loggp.SIZES}
    found = loggp.fit({**times, "send": TRUE["os"], "receive": TRUE["or"], "gap": TRUE["g"]})
    assert {name: found[name] for name in TRUE} == pytest.approx(TRUE)
    assert found["worst"] == pytest.approx(0, abs=1e-9)


def test_the_fit_says_how_far_off_the_model_is():
    times = {str(size): 12.0 + (5.0 if size == 64 else 0.0) for size in loggp.SIZES}
    found = loggp.fit({**times, "send": 1.0, "receive": 1.0, "gap": 1.0})
    assert found["worst"] == pytest.approx(100 * 5 / 17, rel=0.01)
    assert found["mean"] == pytest.approx(found["worst"] / len(loggp.SIZES))


def test_the_ideal_device_follows_the_model(tmp_path, capsys):
    """Its byte time is that of the link of 1999, 6.25 ns; the line is busy for it alone."""
    file = tmp_path / "f.json"
    assert main(["bench", "loggp", "--systems", "ideal", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())["figures"]
    assert figures["loggp.ideal.gap_ns_a_byte"] == pytest.approx(6.25)
    assert figures["loggp.ideal.error_percent.worst"] < 1e-6
    said = capsys.readouterr().out
    assert "Berkeley NOW" in said
    assert "Martin and others, ISCA 1997" in said


def test_systems_that_are_not_known_are_refused(capsys):
    assert main(["bench", "loggp", "--systems", "idael"]) == 2
    assert "did you mean 'ideal'" in capsys.readouterr().err
    assert main(["bench", "loggp", "--systems", ","]) == 2
