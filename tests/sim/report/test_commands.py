"""The commands that show a trace."""

import json
import re
import sys
from pathlib import Path

import pytest

from lanai_sim.cli import main
from lanai_sim.job.job import Job
from lanai_sim.report import export
from lanai_sim.trace import Trace
from lanai_sim.trace.schema import State

from .sample import sample


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trace, "open", classmethod(lambda cls, path: sample()))


@pytest.mark.usefixtures("opened")
def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "report", "t", "--html", str(tmp_path / "p.html"), "--json", str(tmp_path / "f.json")]) == 0
    shown = capsys.readouterr().out
    for text in ("1.000 µs simulated, 1 message, 4 bytes", "MPI_Recv", "fw.poll", "eager"):
        assert text in shown
    assert (tmp_path / "p.html").read_text().startswith("<!doctype html>")
    record = json.loads((tmp_path / "f.json").read_text())
    assert record["figures"]["report.rank.0.total_us"] == 1.0


@pytest.mark.usefixtures("opened")
def test_report_of_a_command_with_brackets(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    trace = sample()
    trace.meta["command"] = ["./a", "[/x]", "[bold]", "data[0:3]"]
    monkeypatch.setattr(Trace, "open", classmethod(lambda cls, path: trace))
    assert main(["trace", "report", "t"]) == 0
    assert "./a [/x] [bold] data[0:3]  " in capsys.readouterr().out


@pytest.mark.usefixtures("opened")
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


@pytest.mark.usefixtures("opened")
def test_report_of_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "report", "t", "--message", "0"]) == 0
    assert "SRAM to link" in capsys.readouterr().out
    assert main(["trace", "report", "t", "--message", "7"]) == 2
    assert "--message 7: the trace has 1 message," in capsys.readouterr().err


@pytest.mark.usefixtures("opened")
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


@pytest.mark.usefixtures("opened")
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


@pytest.mark.usefixtures("opened")
def test_annotated_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "profile", "t", "--source", "main.py"]) == 0
    assert "120.0  75.0 %        110    2     look()" in capsys.readouterr().out


@pytest.mark.usefixtures("opened")
def test_timeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "timeline", "t", "-o", str(tmp_path / "t.pftrace")]) == 0
    assert re.search(r"wrote .*t.pftrace: \d+ events; open it at ui.perfetto.dev", capsys.readouterr().out)
    assert b"MPI_Send" in (tmp_path / "t.pftrace").read_bytes()


@pytest.mark.usefixtures("opened")
def test_matrix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["matrix", "t", "--plot", str(tmp_path / "m.png"), "--json", str(tmp_path / "m.json")]
    assert main(arguments) == 0
    assert "4 to 7" in capsys.readouterr().out
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "m.json").read_text())["figures"] == {"matrix.0.1.bytes": 4, "matrix.0.1.messages": 1}
    assert main(["trace", "matrix", "t", "--plot", "m.gif"]) == 2
    assert "ends in .svg, .png, .pdf" in capsys.readouterr().err


@pytest.mark.usefixtures("opened")
def test_report_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "report", "t", "--lines"]) == 0
    shown = capsys.readouterr().out
    assert "main.py:2 (fw.poll)" in shown
    assert "main.py:3 (fw.send)" in shown


# `lanai trace export`: schedules in GOAL, and archives in OTF2.


PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
other = 1 - world.rank
data = bytearray(8)
if world.rank == 0:
    waits = world.Irecv(data, other, 3)
    world.Send(bytes(4), other, 7)
    waits.Wait()
    world.Send(bytes(2), other, 7)
else:
    world.Recv(data, other, 7)
    world.Send(bytes(8), other, 3)
    world.Recv(data, other, 7)
"""


@pytest.fixture(scope="module")
def trace():
    return Job(["python", "-c", PROGRAM], 2).run(trace=True).check().trace


def operations(text, rank):
    """Return the operations of a rank by label, and what each waits for."""
    body = text.split(f"rank {rank} {{\n")[1].split("}")[0]
    found = dict(re.findall(r"(l\d+): (.*)", body))
    after = {label: [] for label in found}
    for label, how, other in re.findall(r"(l\d+) (i?requires) (l\d+)", body):
        after[label].append((how, other))
    return found, after


def test_goal_has_each_message_at_both_ends(trace):
    text = export.text(trace)
    assert text.startswith("num_ranks 2\n")
    sends = re.findall(r"send (\d+)b to \d+ tag (\d+)", text)
    assert sorted(sends) == sorted(re.findall(r"recv (\d+)b from \d+ tag (\d+)", text))
    assert len(sends) == len(trace.messages)


def test_goal_waits_as_the_program_did(trace):
    found, after = operations(export.text(trace), 0)
    receive, first, second = (
        next(one for one in found if text in found[one]) for text in ("recv 8b", "send 4b", "send 2b")
    )
    assert after[first] == [("irequires", receive)]  # it was posted before, and nobody waited for it
    assert ("requires", receive) in after[second]
    found, after = operations(export.text(trace), 1)
    assert after["l2"] == [("requires", "l1")]


def test_computing_between_calls_is_in_goal():
    busy = "from mpi4py import MPI\nMPI.COMM_WORLD.rank\nfor _ in range(1000): pass\nMPI.COMM_WORLD.Barrier()"
    job = Job.on("ideal", ["python", "-c", busy], 2, host={"compute": 4_000})
    found, _ = operations(export.text(job.run(trace=True).check().trace), 0)
    assert max(int(text.split()[1]) for text in found.values() if text.startswith("calc")) > 10_000


def test_calls_are_nested_and_times_grow(trace):
    for rank in range(2):
        inside, now = [], 0
        for time, kind, row in export._events(trace, rank):
            assert time >= now
            now = time
            if kind == "enter":
                inside.append(row["id"])
            elif kind == "leave":
                assert inside.pop() == row["id"]
        assert inside == []


def test_without_otf2_a_line_says_what_to_install(trace, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "otf2", None)
    path = tmp_path / "run.trace"
    Job(["python", "-c", PROGRAM], 2).run(trace=path).check()
    assert main(["trace", "export", "otf2", str(path), "-o", str(tmp_path / "a")]) == 2
    assert "an archive in OTF2 needs otf2" in capsys.readouterr().err
    assert main(["trace", "export", "goal", str(path), "-o", str(tmp_path / "a.goal")]) == 0
    assert f"wrote {tmp_path}/a.goal: 2 ranks" in capsys.readouterr().out


# The report of a run on `ideal`: no columns for parts of a NIC, and rows that still sum.


def test_a_machine_without_nics_has_no_columns_for_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.sendrecv(0, dest=1 - w.rank, source=1 - w.rank)"
    assert Job((sys.executable, "-c", program), 2, "ideal", trace=str(tmp_path / "t")).run().code == 0
    assert main(["trace", "report", str(tmp_path / "t")]) == 0
    shown = capsys.readouterr().out
    assert "PIO" not in shown
    assert "LBUS" not in shown
    lines = shown.splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("rank "))
    assert lines[head].split() == ["rank", "total", "program", "host", "wire", "waiting", "for", "peer"]
    for line in lines[head + 1 : head + 3]:
        total, *parts = (float(cell.replace("·", "0")) for cell in line.split()[1:])
        assert sum(parts) == pytest.approx(total, abs=0.003)
        assert total > 0
