"""`lanai bench alltoall`: a bound on the bytes under way is faster where NICs would drop packets."""

import json

import pytest

from lanai_sim.cli import main


@pytest.mark.slow
def test_a_bound_on_bytes_under_way_is_faster(tmp_path):
    file = tmp_path / "alltoall.json"
    assert main(["bench", "alltoall", "--ranks", "16", "--size", "4096", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())["figures"]
    assert figures["alltoall.bounded.us.16.4096"] < 0.6 * figures["alltoall.at_once.us.16.4096"]


@pytest.mark.parametrize(("ranks", "size"), [("3", "1024"), ("16", "65536"), ("-1", "0")])
def test_what_is_not_measured_is_refused(ranks, size, capsys):
    assert main(["bench", "alltoall", "--ranks", ranks, "--size", size]) == 2
    assert f"--ranks {ranks} --size {size} is not measured; there are 8 ranks 1024 bytes" in capsys.readouterr().err
