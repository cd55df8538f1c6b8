"""`lanai check` on a handful of programs of the corpus; all of it is in `test_corpus`."""

import json

import pytest
from warm import lanai

from .programs import has_compiler, programs

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


def test_sarif_names_both_lines(tmp_path):
    program = BY_NAME["messages/type-py-i4-f4"]
    checked(program, tmp_path, "--once", "--sarif", tmp_path / "found.sarif")
    (run,) = json.loads((tmp_path / "found.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("datatype-mismatch", "error")
    places = [place["physicalLocation"] for place in [*result["locations"], *result["relatedLocations"]]]
    assert [place["region"]["startLine"] for place in places] == [6, 7]


def test_a_program_that_fails_by_itself_keeps_its_exit_code(tmp_path):
    done = lanai("check", "-n", 1, "--", "sh", "-c", "exit 7", timeout=60)
    assert done.returncode == 7
    assert "verdict: nothing found" in done.stderr
    assert "none of its processes has called MPI_Init" in done.stderr


def test_no_program():
    done = lanai("check", "-n", 2, timeout=60)
    assert done.returncode == 2
    assert "no program was named" in done.stderr
