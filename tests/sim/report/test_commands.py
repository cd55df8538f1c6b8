"""The commands that show a trace."""

import json
import re
from pathlib import Path

import pytest

from lanai_sim.cli import main
from lanai_sim.trace import Trace
from lanai_sim.trace.schema import State

from .sample import sample


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trace, "open", classmethod(lambda cls, path: sample()))


def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "report", "t", "--html", str(tmp_path / "p.html"), "--json", str(tmp_path / "f.json")]) == 0
    shown = capsys.readouterr().out
    for text in ("1.000 µs simulated, 1 message, 4 bytes", "MPI_Recv", "fw.poll", "eager"):
        assert text in shown
    assert (tmp_path / "p.html").read_text().startswith("<!doctype html>")
    record = json.loads((tmp_path / "f.json").read_text())
    assert record["figures"]["report.rank.0.total_us"] == 1.0


def test_report_of_a_command_with_brackets(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    trace = sample()
    trace.meta["command"] = ["./a", "[/x]", "[bold]", "data[0:3]"]
    monkeypatch.setattr(Trace, "open", classmethod(lambda cls, path: trace))
    assert main(["trace", "report", "t"]) == 0
    assert "./a [/x] [bold] data[0:3]  " in capsys.readouterr().out


def test_a_report_has_no_empty_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On an adapter the NICs' processors run nothing, and no DMA engine moves a body."""
    trace = sample()
    trace.__dict__["processor"]["state"] = State.HELD
    trace.__dict__["dma"] = trace.dma[:0]
    monkeypatch.setattr(Trace, "open", classmethod(lambda cls, path: trace))
    assert main(["trace", "report", "t"]) == 0
    shown = capsys.readouterr().out
    assert "Messages, from send call to data received" in shown
    assert "Firmware on the messages' way" not in shown
    assert "bodies in host memory" not in shown


def test_report_of_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "report", "t", "--message", "0"]) == 0
    assert "SRAM to link" in capsys.readouterr().out
    assert main(["trace", "report", "t", "--message", "7"]) == 2
    assert "--message 7: the trace has 1 message," in capsys.readouterr().err


def test_where_bodies_lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In the sample four bytes go from a buffer in SRAM to host memory, and none is read there."""
    trace = sample()
    trace.meta["plans"] = [{"buffer_space": 0}, {"buffer_space": 0}]
    monkeypatch.setattr(Trace, "open", classmethod(lambda cls, path: trace))
    assert main(["trace", "report", "t", "--json", str(tmp_path / "f.json"), "--html", str(tmp_path / "p.html")]) == 0
    line = "its body: at the sender written to the NIC with the request; at the receiver 1 page in 1 piece"
    assert line in (tmp_path / "p.html").read_text()
    assert "The messages' bodies in host memory" in capsys.readouterr().out
    figures = json.loads((tmp_path / "f.json").read_text())["figures"]
    assert [figures[f"report.body.0.{name}"] for name in ("sent_pages", "received_pages", "received_pieces")] == [
        0,
        1,
        1,
    ]
    assert main(["trace", "report", "t", "--message", "0"]) == 0
    assert line in capsys.readouterr().out


def test_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("f.svg", "f.txt"):
        assert main(["trace", "profile", "t", "--flame", str(tmp_path / name), "--json", str(tmp_path / "f.json")]) == 0
    shown = capsys.readouterr().out
    assert "main.py:2" in shown
    assert "look()" in shown
    assert (tmp_path / "f.txt").read_text() == "fw.poll 240\nfw.poll;fw.send 80\n"
    assert json.loads((tmp_path / "f.json").read_text())["figures"]["profile.fw.send.cycles"] == 40
    assert main(["trace", "profile", "t", "--flame", "f.jpg"]) == 2
    assert ".svg (a picture) or .txt" in capsys.readouterr().err


def test_annotated_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "profile", "t", "--source", "main.py"]) == 0
    assert "120.0  75.0 %        110    2     look()" in capsys.readouterr().out


def test_timeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "timeline", "t", "-o", str(tmp_path / "t.pftrace")]) == 0
    assert re.search(r"wrote .*t.pftrace: \d+ events; open it at ui.perfetto.dev", capsys.readouterr().out)
    assert b"MPI_Send" in (tmp_path / "t.pftrace").read_bytes()


def test_matrix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["matrix", "t", "--plot", str(tmp_path / "m.png"), "--json", str(tmp_path / "m.json")]
    assert main(arguments) == 0
    assert "4 to 7" in capsys.readouterr().out
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "m.json").read_text())["figures"] == {"matrix.0.1.bytes": 4, "matrix.0.1.messages": 1}
    assert main(["trace", "matrix", "t", "--plot", "m.gif"]) == 2
    assert "ends in .svg, .png, .pdf" in capsys.readouterr().err


def test_report_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "report", "t", "--lines"]) == 0
    shown = capsys.readouterr().out
    assert "main.py:2 (fw.poll)" in shown
    assert "main.py:3 (fw.send)" in shown
