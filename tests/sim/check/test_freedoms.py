"""The freedoms of MPI that a run has used, as `lanai check --portable` tells them."""

import json

import pytest
from warm import lanai

from .programs import PY

GATHERS = """if rank == 0:
    first = w.recv(source=MPI.ANY_SOURCE)
    second = w.recv(source=MPI.ANY_SOURCE)
else:
    w.send(rank, dest=0)
"""
ORDERED = """if rank == 0:
    w.recv(source=MPI.ANY_SOURCE)
    w.send(0, dest=2)
    w.recv(source=MPI.ANY_SOURCE)
elif rank == 1:
    w.send(1, dest=0)
else:
    w.recv(source=0)
    w.send(2, dest=0)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run_(text, ranks, *options):
        (tmp_path / "x.py").write_text(PY + text)
        done = lanai("check", "-n", ranks, *options, "--json", "x.json", "x.py", timeout=120)
        assert done.returncode == 0, done.stderr
        told = [line.removeprefix("lanai: ") for line in done.stderr.splitlines()]
        return told, json.loads((tmp_path / "x.json").read_text())

    return run_


def test_a_wildcard_that_could_take_another_message_is_a_note(run):
    told, document = run(GATHERS, 3)
    (note,) = document["notes"]
    assert note["lines"] == ["x.py:6", "x.py:9"]
    assert "`lanai explore` tries such orders" in note["text"]
    assert told[-1] == "verdict: nothing found"


PROBES = """if rank == 0:
    for _ in range(2):
        s = MPI.Status()
        w.Probe(source=MPI.ANY_SOURCE, status=s)
        w.recv(source=s.source)
else:
    w.send(rank, dest=0)
"""


def test_a_probe_chooses_too(run):
    (note,) = run(PROBES, 3)[1]["notes"]
    assert note["lines"] == ["x.py:8", "x.py:11"]


def test_messages_that_are_ordered_are_no_freedom(run):
    _, document = run(ORDERED, 3)
    assert document["notes"] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "w.Send(np.zeros(8), dest=1) if rank == 0 else w.Recv(np.zeros(8), source=0)",
            "w.Send at x.py:5 may be complete before its receive begins, or wait for it (1 message, up to 64 bytes)",
        ),
        (
            "w.Allreduce(np.ones(3), np.zeros(3))",
            "w.Allreduce at x.py:5 reduces 3 double by MPI_SUM: another order changes the last digits",
        ),
        ("w.Allreduce(np.ones(3, 'i4'), np.zeros(3, 'i4'))", None),
        ("w.Allreduce(np.ones(3), np.zeros(3), op=MPI.MAX)", None),
        ("q = w.Ibarrier(); q.Test(); q.Wait()", "the answer of q.Test at x.py:5 depends on the time"),
    ],
)
def test_freedoms_of_a_line(run, text, told):
    found, _ = run(text + "\n", 2, "--portable")
    shown = [line.removeprefix("portable: ") for line in found if line.startswith("portable: ")]
    assert told in shown if told else shown == ["the run has used no freedom of MPI that is looked at"]


def test_the_run_with_sends_that_wait_is_told(run):
    found, _ = run(GATHERS, 3, "--portable")
    assert "portable: a run in which all sends wait for their receives: ended well" in found
    found, _ = run(GATHERS, 3, "--portable", "--once")
    assert "portable: a run in which all sends wait for their receives: not tried" in found


def test_a_run_that_used_none(run):
    found, _ = run("w.Barrier()\n", 2, "--portable")
    assert "portable: the run has used no freedom of MPI that is looked at" in found
