"""The rules on records that are written by hand."""

import json

import pytest
from warm import lanai

from lanai_sim.check.finding import Kind, PythonNames, finding
from lanai_sim.check.judge import judge
from lanai_sim.check.messages import Log
from lanai_sim.check.outcome import crashes, failure
from lanai_sim.check.records import Call, Rank, read
from lanai_sim.check.running import sarif
from lanai_sim.job.result import Result

from .programs import PY


def test_the_last_calls_of_other_ranks():
    log = Log()
    for rank, number, begin in ((0, 1, 10), (0, 2, 20), (1, 1, 15), (2, 1, 5)):
        log.add("lock", begin, (rank, number))
    assert sorted(log.last("lock", 18, 2)) == [(0, 1), (1, 1)]
    assert sorted(log.last("lock", 10, 2)) == []
    assert sorted(log.last("another", 18, 2)) == []


def write(folder, *ranks):
    """The records of ranks: (call, line, records of it) each; their clocks are rounds of all ranks."""
    for rank, calls in enumerate(ranks):
        lines = []
        for number, (name, line, *records) in enumerate(calls, 1):
            at = 100 * number + rank
            lines.append({"k": "call", "n": number, "t": at, "c": name, "s": line})
            lines += [{"n": number, "t": at, **record} for record in records]
            lines.append({"k": "end", "n": number, "t": at + 50})
        (folder / f"rank{rank}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return judge(read(folder), Result(0, 0))


def coll(name, **fields):
    return {"k": "coll", "c": name, "on": "0", "label": "MPI_COMM_WORLD", "of": [0, 1], **fields}


def test_collective_calls_in_another_order(tmp_path):
    verdict = write(
        tmp_path,
        [("MPI_Barrier", "a.c:1", coll("MPI_Barrier"))],
        [("MPI_Bcast", "a.c:2", coll("MPI_Bcast", root=0))],
    )
    (found,) = verdict.findings
    assert (found.kind, found.ranks, found.lines) == (Kind.ORDER, (0, 1), ("a.c:1", "a.c:2"))
    assert verdict.exit_code == 10


def test_a_last_record_that_was_cut_short_is_left_out(tmp_path):
    write(tmp_path, [("MPI_Barrier", "a.c:1", coll("MPI_Barrier"))])
    with (tmp_path / "rank0.jsonl").open("a") as file:
        file.write('{"k":"call","n":2,"t"')
    assert len(read(tmp_path)[0].calls) == 1


def put():
    return {"k": "rma", "c": "MPI_Put", "win": "w", "does": "put", "target": 1, "rank": 1, "at": [[0, 4]]}


WINDOW = {"k": "win", "win": "w", "base": 4096, "size": 16, "label": "a window"}


def test_puts_of_two_ranks_race_unless_a_fence_is_between(tmp_path):
    fence = ("MPI_Win_fence", "a.c:3", coll("MPI_Win_fence"), {"k": "sync", "win": "w", "what": "fence"})
    create = ("MPI_Win_create", "a.c:1", coll("MPI_Win_create"), WINDOW)
    one, other = ("MPI_Put", "a.c:4", put()), ("MPI_Put", "a.c:5", put())
    together = write(tmp_path, [create, fence, one, fence], [create, fence, other, fence])
    (found,) = together.findings
    assert (found.kind, set(found.lines)) == (Kind.RACE, {"a.c:4", "a.c:5"})
    idle = ("MPI_Wtime", "a.c:6")
    apart = write(tmp_path, [create, fence, one, fence, idle, fence], [create, fence, idle, fence, other, fence])
    assert apart.findings == []


@pytest.mark.parametrize(
    ("report", "told"),
    [
        ("rank 1 (pid 7) exited with code 3", " (exit 3)"),
        ("rank 1 (pid 7) exited with code 3, by a.Error at my dir/x.py:9", " by a.Error at my dir/x.py:9 (exit 3)"),
        ("rank 0 left by KeyError at x.py:9 and finalized; rank 1 waits for it", " by KeyError at x.py:9 (exit 3)"),
        ("rank 1 (pid 7) exited with code 3, by KeyError", " by KeyError (exit 3)"),
        ("rank 0 aborted with code 3\nmore", ": rank 0 aborted with code 3 (exit 3)"),
        ("", " (exit 3)"),
    ],
)
def test_how_a_program_has_failed(report, told):
    assert failure(Result(3, 0, report)) == told
    assert judge([], Result(3, 0, report)).document()["verdict"] == "failed"


@pytest.mark.parametrize(("place", "memory"), [(" at x.c:3", "this line uses"), ("", "MPI calls and the program use")])
def test_a_crash_speaks_of_a_line_that_it_names(place, memory):
    (one,) = crashes(Result(139, 0, f"rank 0 (pid 7) was killed by SIGSEGV{place}"), [])
    assert one.hint.startswith(f"look at the memory that {memory}")


def test_a_crash_without_a_place_is_in_the_call_that_had_not_ended():
    ended, began = Call(0, 1, "MPI_Send", "x.py:3", 10, 20), Call(0, 2, "MPI_Exscan", "x.py:4", 30)
    (one,) = crashes(Result(139, 0, "rank 0 (pid 7) was killed by SIGSEGV"), [Rank(0, {1: ended, 2: began})])
    assert (one.lines, one.text) == (("x.py:4",), "rank 0 was killed by SIGSEGV in MPI_Exscan at x.py:4")
    (other,) = crashes(Result(139, 0, "rank 0 (pid 7) was killed by SIGSEGV"), [Rank(0, {1: ended})])
    assert other.lines == ("",)


def test_names_of_python_are_told_where_they_are_sure():
    names = PythonNames([
        ("MPI_Send", "x.py:1", "w.send"), ("MPI_Mprobe", "x.py:12", "w.recv"), ("MPI_Send", "x.py:2", "w.send"),
        ("MPI_Send", "x.py:2", "w.Send"), ("MPI_Recv", "x.c:3", ""),
    ])  # fmt: skip
    text = "MPI_Send at x.py:1, MPI_Send at x.py:12, MPI_Mprobe at x.py:12, MPI_Send at x.py:2, MPI_Recv at x.c:3"
    told = (
        "w.send at x.py:1, MPI_Send at x.py:12, w.recv at x.py:12 (MPI_Mprobe), MPI_Send at x.py:2, MPI_Recv at x.c:3"
    )
    assert names.replaced(finding(Kind.ERROR, [], text, "hint")).text == told


def test_a_line_that_is_not_known_has_no_place_in_sarif(tmp_path):
    verdict = write(
        tmp_path, [("MPI_Barrier", "", coll("MPI_Barrier"))], [("MPI_Bcast", "", coll("MPI_Bcast", root=0))]
    )
    ((result,),) = [run["results"] for run in sarif(verdict.findings)["runs"]]
    assert result["locations"] == []


@pytest.mark.parametrize(
    ("line", "uri"),
    [("a.c:3", "a.c"), ("my dir/a b.c:3", "my%20dir/a%20b.c"), ("/src/ä.c:3", "file:///src/%C3%A4.c")],
)
def test_places_in_sarif_are_uris(line, uri):
    found = finding(Kind.ORDER, [(0, "MPI_Barrier", line)], "text", "hint")
    ((result,),) = [run["results"] for run in sarif([found])["runs"]]
    (place,) = result["locations"]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": uri}, "region": {"startLine": 3}}


# The freedoms of MPI that a run has used, as `lanai check --portable` tells them.


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
        done = lanai("check", "-n", ranks, *options, "--json", "x.json", "x.py", timeout=500)
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
