"""Several programs in one command, and the flags of those that are compiled."""

import json

import pytest
from warm import lanai

from lanai_sim.check.running import programs

from .programs import C_BEGIN, C_END, PY, has_compiler

RIGHT = PY + "w.Bcast(np.zeros(4), root=0)\n"
WRONG = PY + "w.Bcast(np.zeros(4), root=rank)\n"
FAILS = PY + "assert rank == 0\n"
THREADS = C_BEGIN.replace("#define W", "#include <omp.h>\n#define W") + """int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
n += 1;
printf("%d\\n", n);
""" + C_END  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)


def test_each_has_its_verdict(folder):
    write(folder, right=RIGHT, wrong=WRONG, fails=FAILS)
    done = lanai("check", "--json", "a.json", "--sarif", "a.sarif", "right.py", "wrong.py", "fails.py", timeout=500)
    assert done.returncode == 10
    told = "lanai: 3 programs: 1 with findings (wrong.py), 1 failed (fails.py), 1 with nothing found"
    assert done.stderr.splitlines()[-1] == told
    document = json.loads((folder / "a.json").read_text())
    assert document["verdict"] == "wrong"
    assert [(one["program"], one["verdict"], len(one["findings"])) for one in document["programs"]] == [
        ("right.py", "ok", 0), ("wrong.py", "wrong", 1), ("fails.py", "failed", 0),
    ]  # fmt: skip
    (run,) = json.loads((folder / "a.sarif").read_text())["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["collective-root"]


def test_the_exit_code_is_that_of_the_first_that_fails(folder):
    write(folder, right=RIGHT, fails=PY + "if rank:\n    raise SystemExit(5)\n", other=FAILS)
    assert lanai("check", "right.py", "fails.py", "other.py", timeout=500).returncode == 5


def test_programs_that_are_right(folder):
    write(folder, one=RIGHT, other=RIGHT)
    done = lanai("check", "one.py", "other.py", timeout=500)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "lanai: 2 programs: 2 with nothing found")


def test_words_that_are_no_programs_are_arguments(folder):
    write(folder, one=PY + "import sys\nprint(sys.argv[1:])\n")
    done = lanai("check", "-n", 1, "one.py", "data.txt", timeout=500)
    assert (done.returncode, done.stdout) == (0, "['data.txt']\n")


@pytest.mark.skipif(not has_compiler(), reason="no C compiler")
def test_a_source_that_does_not_compile_is_one_of_those_that_failed(folder):
    write(folder, right=RIGHT)
    (folder / "wrong.c").write_text("int main( {\n")
    done = lanai("check", "wrong.c", "right.py", timeout=500)
    assert done.returncode == 2
    assert "lanai: verdict: failed: wrong.c could not be compiled; give its flags as --cflags" in done.stderr
    assert done.stderr.endswith("lanai: 2 programs: 1 failed (wrong.c), 1 with nothing found\n")


@pytest.mark.skipif(not has_compiler(), reason="no C compiler")
def test_executables_are_programs_and_what_starts_them_is_not(folder):
    (folder / "a.c").write_text(C_BEGIN + C_END)
    assert lanai("mpicc", "a.c", "-o", "a", timeout=500).returncode == 0
    (folder / "starts").write_text('#!/bin/sh\nexec "$@"\n')
    (folder / "starts").chmod(0o755)
    (folder / "b").write_bytes((folder / "a").read_bytes())
    (folder / "b").chmod(0o755)
    assert programs(["./a", "./b", "a.c"]) == [["./a"], ["./b"], ["a.c"]]
    assert programs(["./starts", "./a"]) == [["./starts", "./a"]]
    assert programs(["./a", "b"]) == [["./a", "b"]]
    done = lanai("check", "--once", "./a", "./b", timeout=500)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "lanai: 2 programs: 2 with nothing found")


@pytest.mark.skipif(not has_compiler(), reason="no C compiler")
def test_flags_of_the_compiler(folder):
    (folder / "threads.c").write_text(THREADS)
    plain = lanai("check", "-n", 1, "threads.c", timeout=500)
    assert plain.stdout == "1\n"
    assert "not looked at: threads of OpenMP: threads.c was compiled without --cflags=-fopenmp" in plain.stderr
    threads = lanai("check", "-n", 1, "--cflags=-fopenmp", "threads.c", timeout=500)
    assert threads.stdout == "2\n"
    assert "OpenMP" not in threads.stderr
