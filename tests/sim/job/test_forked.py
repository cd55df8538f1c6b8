"""Ranks forked from one process behave as an interpreter of their own does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pairs import first_of, in_turn

from lanai_host.errors import UserError
from lanai_host.simulator.forking import hides, may_fork
from lanai_sim.job.forked import WarmServers
from lanai_sim.job.launcher import Run
from lanai_sim.job.output import Output
from lanai_sim.job.processes import resolve_program
from openlanai import Job

PROBE = """
import os, random, sys, warnings
seen = sorted(name for name in globals())
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
text = [sys.argv, sys.path[0], len(sys.path), __name__, globals().get("__file__"), str(__spec__)[:30]]
text += [sys.flags, sys.orig_argv, seen]
text += [os.getcwd(), sys.stdin.read() if rank == 0 else sys.stdin.read(1), sys.stdout.isatty(), hash("a")]
text += [os.getsid(0) == os.getpid(), sys.modules["__main__"].__dict__ is globals(), sys.getrecursionlimit()]
text += ["numpy.random" in sys.modules, os.environ["LANAI_RANK"], os.environ["LANAI_SIZE"]]
print(rank, *text, sep="\\n")
"""
ENDS = {
    "code": "import sys; sys.exit(3)",
    "text": "import sys; sys.exit('a last word')",
    "exception": "def f():\n    raise KeyError('x')\nf()",
    "syntax": "def f(:",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGUSR1)",
    "at exit": "import atexit; atexit.register(print, 'bye'); print('end')",
}


def lanai(*words, cwd=None, stdin="", **variables):
    return subprocess.run(
        [sys.executable, "-P", "-m", "lanai_sim", "run", "-q", *words],
        capture_output=True, text=True, cwd=cwd, input=stdin, env={**os.environ, **variables}, check=False,
    )  # fmt: skip


def arguments(way, folder, text):
    """Return Python's arguments that run `text` in one of its ways."""
    (folder / "probe.py").write_text(text)
    return {"script": ["probe.py"], "text": ["-c", text], "module": ["-m", "probe"]}[way]


@pytest.mark.parametrize("way", first_of("script", "text", "module"))
def test_a_program_sees_what_it_would_see_in_a_process_of_its_own(tmp_path, way):
    command = ["python", *arguments(way, tmp_path, PROBE), "one", "--two"]
    runs = [
        lanai("-n", "2", "--prefix", *flags, *command, cwd=tmp_path, stdin="words") for flags in ([], ["--no-fork"])
    ]
    forked, executed = (sorted(run.stdout.splitlines()) for run in runs)
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    assert forked == executed
    assert "[0] words" in forked


@pytest.mark.parametrize(("way", "end"), in_turn(["script", "text", "module"], ENDS, 3))
def test_it_ends_as_it_would(tmp_path, way, end):
    command = ["python", *arguments(way, tmp_path, ENDS[end])]
    runs = [lanai("-n", "1", *flags, *command, cwd=tmp_path) for flags in ([], ["--no-fork"])]
    forked, executed = ((run.returncode, run.stdout, told(run.stderr)) for run in runs)
    assert forked == executed


LEAVES = """
class Left:
    def __init__(self):
        self.file = open("left", "w")
        self.file.write("in a buffer")

    def __del__(self):
        print("finalized")

left = Left()
"""


@pytest.mark.parametrize("way", first_of("script", "text", "module"))
def test_files_are_flushed_and_finalizers_called_at_its_end(tmp_path, way):
    run = lanai("-n", "1", "python", *arguments(way, tmp_path, LEAVES), cwd=tmp_path)
    assert (run.stdout, run.stderr) == ("finalized\n", "")
    assert (tmp_path / "left").read_text() == "in a buffer"


def told(text):
    """Without process ids, and without the frames of the interpreter's own start."""
    lines = [line.partition(" (pid ")[0] for line in text.splitlines()]
    return [line for line in lines if "frozen runpy" not in line]


PARENT = "import os; print(os.getppid())"


def test_all_ranks_come_from_one_process_unless_refused(tmp_path):
    assert len(set(lanai("-n", "3", "python", "-c", PARENT).stdout.split())) == 1
    forked = int(
        lanai("-n", "1", "python", "-c", "import sys; print('lanai_host.abi.runtime' in sys.modules)").stdout
        == "True\n"
    )
    executed = lanai(
        "-n", "1", "--no-fork", "python", "-c", "import sys; print('lanai_host.abi.runtime' in sys.modules)"
    )
    assert forked == 1
    assert executed.stdout == "False\n"


def test_ranks_have_their_own_random_numbers():
    text = "import random, numpy; print(random.random(), numpy.random.rand())"
    found = lanai("-n", "3", "python", "-c", text).stdout.split()
    assert len(found) == len(set(found)) == 6


def test_ranks_lie_at_the_same_addresses_in_every_run():
    text = (
        "import ctypes, mpi4py.MPI as m; buffer = ctypes.create_string_buffer(5000); "
        "print(m.COMM_WORLD.rank, [id(object()), id(bytearray(99999)), ctypes.addressof(buffer)])"
    )
    runs = [sorted(lanai("-n", "3", "python", "-c", text).stdout.splitlines()) for _ in range(2)]
    assert runs[0] == runs[1]
    assert len(runs[0]) == 3


def test_a_module_beside_the_program_goes_before_one_that_is_loaded(tmp_path):
    (tmp_path / "json.py").write_text("mine = 5\n")
    (tmp_path / "program.py").write_text("import json; print(json.mine)")
    assert lanai("-n", "1", "python", "program.py", cwd=tmp_path).stdout == "5\n"
    assert hides(str(tmp_path), {"json": json_of("/usr/lib/json.py")})
    assert not hides(str(tmp_path), {"json": json_of(str(tmp_path / "json.py"))})
    (tmp_path / "socket").mkdir()
    assert not hides(str(tmp_path), {"socket": json_of("/usr/lib/socket.py")})


def json_of(place):
    module = type(sys)("json")
    module.__file__ = place
    return module


@pytest.mark.parametrize(
    ("words", "variables", "may"),
    [
        (["-c", "pass"], {}, True),
        (["-m", "this"], {}, True),
        ([__file__], {}, True),
        ([], {}, False),
        (["-c"], {}, False),
        (["-O", __file__], {}, False),
        (["-"], {}, False),
        (["nowhere.py"], {}, False),
        ([os.path.dirname(__file__)], {}, False),
        (["-c", "import os; os.environ['OMP_NUM_" + "THREADS'] = '1'"], {}, False),
        (["-c", "pass"], {"PYTHONPROFILEIMPORTTIME": "1"}, False),
        (["-c", "pass"], {"COVERAGE_PROCESS_START": "x"}, False),
    ],
)
def test_what_python_reads_at_its_start_keeps_a_rank_from_being_forked(words, variables, may):
    assert may_fork(words, variables) is may


def test_a_file_that_is_not_there_is_pythons_own_error(tmp_path):
    run = lanai("-n", "1", "python", "nowhere.py", cwd=tmp_path)
    assert run.returncode == 2
    assert "can't open file" in run.stderr


@pytest.mark.parametrize(("limit", "forked"), [(256, True), (100, False)])
def test_more_ranks_than_one_process_may_hold_files_for_are_executed(limit, forked):
    """64 files beside the ranks' own, four for each."""
    shell = f"ulimit -n {limit}; exec {sys.executable} -P -m lanai_sim run -q -n 10 python -c '{PARENTS}'"
    run = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.split()
    assert lines == 10 * [str(forked)]


PARENTS = 'import sys; print("lanai_host.abi.runtime" in sys.modules)'


def test_this_python_by_another_name_is_forked(tmp_path):
    """`python` and `python3` of an environment are one interpreter; that of another environment is not."""
    folder = Path(sys.executable).parent
    for name in ("python", "python3"):
        assert len(set(lanai("-n", "2", str(folder / name), "-c", PARENT).stdout.split())) == 1
    (tmp_path / "python").symlink_to(os.path.realpath(sys.executable))
    assert resolve_program(str(tmp_path / "python")) == str(tmp_path / "python")


def test_ranks_of_pytest_share_its_import_unless_they_mean_another(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    words = ("-n", "2", "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert lanai(*words, cwd=tmp_path).stdout.count("1 passed") == 2
    (tmp_path / "pytest.py").write_text("print('another')\n")
    assert lanai(*words, cwd=tmp_path).stdout == "another\n" * 2


def test_the_end_of_the_process_that_forks_is_told_as_its_own():
    program = "import os, signal; from mpi4py import MPI; os.kill(os.getppid(), signal.SIGKILL); signal.pause()"
    ended = lanai("-n", "2", "python", "-c", program)
    assert ended.returncode == 128 + 9
    assert "lanai: the process that forks the ranks has ended (killed, or out of memory?), and rank " in ended.stderr


def test_arguments_of_any_length_arrive():
    numbers = list(map(str, range(60_000)))
    ended = lanai("-n", "2", "python", "-c", "import sys; print(len(sys.argv), sys.argv[-1])", *numbers)
    assert (ended.stdout, ended.stderr) == ("60001 59999\n60001 59999\n", "")


# One process that forks the ranks of one run after the other.


TELLS = """
import os, sys
from mpi4py import MPI
from pathlib import Path
parent = Path(f"/proc/{os.getppid()}/stat").read_text().split()[3]
print("warm", parent, os.environ.get("GIVEN"), "this" in sys.modules, flush=True)
"""


@pytest.fixture
def servers():
    made = WarmServers(["this", "mpi4py.MPI", "no_such_module"])
    yield made
    made.close()


def run_by(servers, capfd, text=TELLS, ranks=2, **variables):
    """Return the lines that the ranks of a run print, and its exit code."""
    config = Job((sys.executable, "-c", text), ranks, environment=variables)
    result = Run(config, output=Output(prefix=False), servers=servers).execute()
    return {line for line in capfd.readouterr().out.splitlines() if line.startswith("warm")}, result.code


def test_runs_share_a_process_and_not_an_environment(servers, capfd):
    (first, _), (second, _) = run_by(servers, capfd, GIVEN="yes"), run_by(servers, capfd)
    assert len(first) == len(second) == 1
    (first,), (second,) = first, second
    assert first.split()[1] == second.split()[1]
    assert (first.split()[2:], second.split()[2:]) == (["yes", "True"], ["None", "True"])


def test_what_acts_at_the_start_of_a_process_needs_another(servers, capfd):
    (first,), (second,) = run_by(servers, capfd)[0], run_by(servers, capfd, PYTHONHASHSEED="1")[0]
    assert first.split()[1] != second.split()[1]


def test_a_rank_that_dies_leaves_the_process_to_others(servers, capfd):
    assert run_by(servers, capfd, "import os; os.abort()")[1] == 128 + 6
    assert run_by(servers, capfd)[1] == 0


def test_a_process_that_does_not_start(servers, capfd, monkeypatch):
    monkeypatch.setattr("lanai_sim.job.forked.WARM_BOOT", "raise OSError('no luck')")
    with pytest.raises(UserError, match=r"the process that forks the ranks did not start: (?s:.*)no luck"):
        run_by(servers, capfd)


def test_an_environment_of_any_size_arrives(servers, capfd):
    large = {f"LARGE_{number}": "x" * 120_000 for number in range(4)}
    text = "import os; print('warm', *[len(os.environ[f'LARGE_{number}']) for number in range(4)])"
    assert run_by(servers, capfd, text, **large) == ({"warm 120000 120000 120000 120000"}, 0)
