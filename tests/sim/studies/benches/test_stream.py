"""`lanai bench stream`: figures that are exact, and the bandwidth that mbcf must reach."""

import json

import pytest

from lanai_sim.cli import main


@pytest.mark.ci
def test_mbcf_reaches_120_mb_per_s_also_from_memory_never_sent_from(tmp_path, expected):
    assert main(["bench", "stream", "--json", str(tmp_path / "stream.json")]) == 0
    figures = json.loads((tmp_path / "stream.json").read_text())["figures"]
    assert len(figures) == 12
    for name, value in figures.items():
        expected(name, round(value, 6))
        assert value >= (110 if ".late." in name else 120)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--device", "ideal"], "--device 'ideal' has no NICs to measure"),
        (["--size", "0"], "--size 0 measures nothing"),
        (["--count", "-1"], "--count -1 measures nothing"),
    ],
)
def test_bad_options(options, message, capsys):
    assert main(["bench", "stream", *options]) == 2
    assert message in capsys.readouterr().err
