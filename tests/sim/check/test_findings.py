"""`lanai check` on a handful of programs of the corpus; all of it is in `test_corpus`."""

import json

import pytest
from warm import lanai

from .programs import PY, has_compiler, programs

HANDFUL = (
    "messages/type-py-i4-f4",
    "collectives/root-py",
    "buffers/isend-changed-py",
    "onesided/put-race-py",
    "leaks/communicator-py",
)
RIGHT = ("collectives/collective-py", "onesided/put-parts-py", "buffers/halo-py", "deadlocks/workers-py")
IN_C = ("onesided/target-loads", "onesided/get-read-after-fence")
BY_NAME = {program.name: program for program in programs()}


def checked(program, folder, *options):
    """The exit code, the document of `--json` and what was printed."""
    found = folder / "found.json"
    command = program.built(folder)
    done = lanai("check", "-n", program.ranks, "--json", found, *options, "--", *command, timeout=300)
    return done, json.loads(found.read_text())


def agrees(program, document):
    """Is the verdict that of the label, with its class and one of its lines?"""
    if program.right:
        return not document["findings"]
    lines = {
        line.rpartition("/")[2] for one in document["findings"] if one["class"] == program.kind for line in one["lines"]
    }
    return (
        bool(lines & program.lines)
        if program.lines
        else any(one["class"] == program.kind for one in document["findings"])
    )


@pytest.mark.parametrize("name", [*HANDFUL, *RIGHT])
def test_python(name, tmp_path):
    program = BY_NAME[name]
    done, document = checked(program, tmp_path, "--once")
    assert agrees(program, document), done.stderr
    assert document["verdict"] == ("ok" if program.right else "wrong")
    assert done.returncode == (0 if program.right else 10)


@pytest.mark.parametrize("name", IN_C)
@pytest.mark.skipif(not has_compiler(), reason="no C compiler")
def test_loads_and_stores(name, tmp_path):
    program = BY_NAME[name]
    done, document = checked(program, tmp_path, "--once")
    assert agrees(program, document), done.stderr


def test_sends_that_rely_on_buffers_are_found_by_the_second_run(tmp_path):
    program = BY_NAME["deadlocks/relies-py"]
    done, document = checked(program, tmp_path)
    assert agrees(program, document), done.stderr
    assert "if sends wait for their receives" in done.stderr


ASSUMES_BUFFERS = """request = w.Isend(np.ones(4), dest=1) if rank == 0 else w.Irecv(np.ones(4), source=0)
if rank == 0:
    {does}
    w.send("go", dest=1, tag=1)
else:
    w.recv(source=0, tag=1)
request.Wait()
"""


def second(tmp_path, monkeypatch, does):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text(PY + ASSUMES_BUFFERS.replace("{does}", does))
    found = tmp_path / "found.json"
    done = lanai("check", "-n", 2, "--json", found, "--", "python", "x.py", timeout=500)
    return done, json.loads(found.read_text())


def test_a_second_run_that_fails_is_a_finding(tmp_path, monkeypatch):
    done, document = second(tmp_path, monkeypatch, "assert request.Test()")
    assert done.returncode == 10
    (one,) = document["findings"]
    assert (one["class"], one["ranks"], one["lines"]) == ("relies-on-buffering", [0], ["x.py:7"])
    assert "fails by AssertionError at x.py:7 (exit 1)" in one["text"]
    assert "lanai: [0] AssertionError" in done.stderr


def test_another_output_of_the_second_run_is_a_note(tmp_path, monkeypatch):
    done, document = second(tmp_path, monkeypatch, "print(request.Test())")
    assert (done.returncode, document["findings"]) == (0, [])
    (note,) = document["notes"]
    assert "rank 0 prints 'True' in one run, and 'False' where" in note["text"]
    assert done.stdout == "True\n"
    assert "lanai: the second run, in which sends wait for their receives, printed:\nlanai: [0] False" in done.stderr


def test_the_same_output_of_the_second_run_is_not_shown(tmp_path, monkeypatch):
    done, document = second(tmp_path, monkeypatch, "print('once')")
    assert (document["verdict"], document["notes"]) == ("ok", [])
    assert (done.stdout + done.stderr).count("once") == 1


def test_a_failed_program_is_not_ok(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text(PY + "assert rank == 0\n")
    found = tmp_path / "found.json"
    done = lanai("check", "-n", 2, "--json", found, "--", "python", "x.py", timeout=500)
    assert done.returncode == 1
    assert json.loads(found.read_text())["verdict"] == "failed"
    assert "verdict: failed by AssertionError at x.py:5 (exit 1); no mistake in its MPI calls found" in done.stderr


def found_in(tmp_path, monkeypatch, text, ranks=2):
    """The document of a program in Python, `x.py`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text(text)
    lanai("check", "-n", ranks, "--once", "--json", "found.json", "--", "python", "x.py", timeout=500)
    return json.loads((tmp_path / "found.json").read_text())


FUNNELED = """import threading
import mpi4py
mpi4py.rc.thread_level = "funneled"
from mpi4py import MPI
thread = threading.Thread(target=MPI.COMM_WORLD.Barrier)
thread.start()
thread.join()
"""


def test_the_misuse_of_a_thread_level_is_never_handled(tmp_path, monkeypatch):
    document = found_in(tmp_path, monkeypatch, FUNNELED)
    (one,) = document["findings"]
    assert one["class"] == "thread-level"
    assert "mpi4py.rc.thread_level" in one["hint"]


def test_leaks_of_a_line_are_counted(tmp_path, monkeypatch):
    document = found_in(tmp_path, monkeypatch, PY + "for step in range(20):\n    w.Split(rank, 0)\n")
    (one,) = document["findings"]
    assert (one["class"], one["ranks"]) == ("leak", [0, 1])
    assert one["text"].endswith("made at x.py:6, was not freed (40 times on 2 ranks)")


def test_tags_that_not_every_library_allows_are_a_note(tmp_path, monkeypatch):
    document = found_in(tmp_path, monkeypatch, PY + "w.sendrecv(1, 1 - rank, 32768, None, 1 - rank, 32768)\n")
    (note,) = document["notes"]
    assert (document["verdict"], note["class"]) == ("ok", "portability")
    assert "the tag 32,768" in note["text"]


def test_a_tag_above_ours_is_an_error_of_mpi(tmp_path, monkeypatch):
    document = found_in(tmp_path, monkeypatch, PY + "w.send(1, dest=1 - rank, tag=w.Get_attr(MPI.TAG_UB) + 1)\n")
    (one,) = document["findings"]
    assert one["class"] == "invalid-argument"
    assert "tag is 536870912" in one["text"]


SIDES = """if rank == 0:
    w.{send}(np.arange(40.0), dest=1)
else:
    a = np.zeros(64)
    w.{recv}({a}source=0)
"""


@pytest.mark.parametrize(("send", "recv", "a"), [("send", "Recv", "a, "), ("Send", "recv", "")])
def test_objects_and_buffers_are_told_apart(tmp_path, monkeypatch, send, recv, a):
    text = SIDES.replace("{send}", send).replace("{recv}", recv).replace("{a}", a)
    document = found_in(tmp_path, monkeypatch, PY + text)
    (one,) = document["findings"]
    assert (one["class"], one["lines"]) == ("datatype-mismatch", ["x.py:6", "x.py:9"])
    sent, received = ("a pickled object", "a buffer") if send == "send" else ("a buffer", "a pickled object")
    assert f"sends {sent} by w.{send} at x.py:6, and rank 1 receives {received} by w.{recv} at x.py:9" in one["text"]


TRUNCATED = """if rank == 0:
    w.send(1, dest=1)
    w.Send(np.zeros(4), dest=1)
else:
    w.recv(source=0)
    w.Recv(np.zeros(2), source=0)
"""


def test_an_object_that_was_received_is_not_meant(tmp_path, monkeypatch):
    (one,) = found_in(tmp_path, monkeypatch, PY + TRUNCATED)["findings"]
    assert (one["class"], one["lines"]) == ("truncation", ["x.py:10"])


DROPPED = """if rank == 0:
    for i in range(3):
        w.isend({"i": i}, dest=1)
else:
    assert [w.recv(source=0) for i in range(3)]
"""
FORGOTTEN = """a = np.zeros(4)
forgotten = w.Irecv(a, source=1 - rank)
w.Send(np.ones(4), dest=1 - rank)
w.Barrier()
"""


def test_a_dropped_request_is_one_finding(tmp_path, monkeypatch):
    (one,) = found_in(tmp_path, monkeypatch, PY + DROPPED)["findings"]
    assert (one["class"], one["lines"]) == ("request-leak", ["x.py:7"])
    assert one["text"].startswith("a request of w.isend with rank 1")
    assert "its data may be freed or changed" in one["text"]


def test_a_message_of_a_receive_that_is_not_completed_has_been_received(tmp_path, monkeypatch):
    (one,) = found_in(tmp_path, monkeypatch, PY + FORGOTTEN)["findings"]
    assert (one["class"], set(one["lines"])) == ("request-leak", {"x.py:6"})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("w.Split(w.rank).bcast(w.allreduce(1) if rank else None)", "w.allreduce at x.py:5"),
        ("{'a': [w]}['a'][0].Bcast(np.zeros(1), root=rank)", "{'a': [w]}['a'][0].Bcast at x.py:5"),
        ("list(map(w.bcast, [1], [rank]))", "MPI_Bcast at x.py:5"),
    ],
)
def test_texts_name_what_python_calls(tmp_path, monkeypatch, line, told):
    found = found_in(tmp_path, monkeypatch, PY + line + "\n")["findings"]
    assert any(told in one["text"] for one in found), found


def test_sarif_names_both_lines(tmp_path):
    program = BY_NAME["messages/type-py-i4-f4"]
    checked(program, tmp_path, "--once", "--sarif", tmp_path / "found.sarif")
    (run,) = json.loads((tmp_path / "found.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("datatype-mismatch", "error")
    places = [place["physicalLocation"] for place in [*result["locations"], *result["relatedLocations"]]]
    assert [place["region"]["startLine"] for place in places] == [6, 7]


def test_a_program_that_fails_by_itself_keeps_its_exit_code(tmp_path):
    done = lanai("check", "-n", 1, "--", "sh", "-c", "exit 7", timeout=500)
    assert done.returncode == 7
    assert "verdict: failed (exit 7); no mistake in its MPI calls found" in done.stderr
    assert "none of its processes has called MPI_Init" in done.stderr


def test_no_program():
    done = lanai("check", "-n", 2, timeout=500)
    assert done.returncode == 2
    assert "no program was named" in done.stderr
