"""The rules on records that are written by hand."""

import json

import pytest

from lanai_sim.check.edges import Log
from lanai_sim.check.finding import Kind, finding
from lanai_sim.check.judge import judge
from lanai_sim.check.records import read
from lanai_sim.check.report import sarif
from lanai_sim.job.result import Result


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
