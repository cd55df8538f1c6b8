"""Sessions with tests on ranks, and sessions without `--lanai`."""

import signal
import subprocess
import sys
import time

import pytest

from .conftest import installed, session

pytestmark = pytest.mark.ci

PARALLEL = """
import pytest
from mpi4py import MPI

@pytest.mark.parallel(2)
def test_sum():
    assert MPI.COMM_WORLD.allreduce(1) == 2
"""


def test_nothing_happens_unless_asked(run):
    """The marker is unknown then, and the test runs in the session's own process."""
    said = run(PARALLEL, "-W", "ignore", code=1)
    assert "assert 1 == 2" in said
    assert "lanai:" not in said


def test_loading_the_plugin_imports_nothing_else():
    loading = "import lanai_sim.pytest_plugin.entry"
    program = f"import pytest, sys; before = set(sys.modules); {loading}; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"lanai_sim", "lanai_sim.pytest_plugin", "lanai_sim.pytest_plugin.entry"}


def test_an_ini_line_asks(run, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nlanai = true\naddopts = --strict-markers\n")
    assert "1 passed" in run(PARALLEL)


AT_THREE = """
import pytest
from mpi4py import MPI

@pytest.mark.parallel(2)
@pytest.mark.parametrize("word", ["a"])
def test_not_three(word):
    assert MPI.COMM_WORLD.size != 3

@pytest.mark.mpi(min_size=2)
def test_min_size():
    assert MPI.COMM_WORLD.size >= 2

def test_plain():
    pass
"""


def test_rank_counts_of_the_session(run):
    said = run(AT_THREE, "--lanai-ranks", "1-4", code=1)
    assert "1 failed, 7 passed" in said  # four, three, and the plain one
    assert "lanai: test_it.py::test_not_three[a] fails at 3 ranks, passes at 1-2, 4" in said


def test_all_tests_on_ranks(run):
    text = "from mpi4py import MPI\ndef test_it():\n    assert MPI.COMM_WORLD.size == 3\n"
    assert "1 passed" in run(text, "--lanai-all", "--lanai-ranks", "3")


FIXTURES = """
import pytest

@pytest.fixture(scope="module")
def table():
    yield []
    print("dropped")

def test_before(table):
    table.append(1)

@pytest.mark.parallel(2)
def test_on_ranks(table):
    assert table == []

def test_after(table):
    assert table == [1]
"""


def test_fixtures_of_the_session_live_on_around_a_test_on_ranks(run, tmp_path):
    (tmp_path / "test_next.py").write_text("def test_next(): pass\n")
    assert "4 passed" in run(FIXTURES, "--lanai")


def test_another_device_with_simulated_clocks(run):
    """Ranks sleep in simulated time there."""
    text = (
        PARALLEL
        + "    import time\n    begin = MPI.Wtime()\n    time.sleep(1000)\n    assert MPI.Wtime() - begin > 999\n"
    )
    assert "1 passed" in run(text, "--lanai-device", "mpi-np")


def test_each_rank_collects_by_itself(run):
    text = PARALLEL.replace("@pytest", "if MPI.COMM_WORLD.rank == 1:\n    raise OSError('no file')\n\n@pytest")
    said = run(text, "--lanai", code=1)
    assert "rank 1 of 2" in said
    assert "OSError: no file" in said
    assert "rank 1 could not collect the test" in said


def test_warnings_are_in_the_summary_once(run):
    text = PARALLEL + "    import warnings\n    warnings.warn('old', DeprecationWarning)\n"
    said = run(text, "--lanai")
    assert "1 passed, 1 warning" in said
    assert "DeprecationWarning: old" in said


def test_the_first_failure_ends_a_session_with_x(run):
    text = PARALLEL.replace("== 2", "== 3") + PARALLEL.replace("test_sum", "test_other")
    assert "1 failed" in run(text, "--lanai", "-x", code=1)


def test_output_is_shown_at_once_if_nothing_is_captured(run):
    said = run(PARALLEL + "    print('here')\n", "--lanai", "-s")
    assert "[0] here" in said
    assert "[1] here" in said


def test_a_module_imported_ahead(run, tmp_path):
    """It is imported in one process for all ranks; one that begins MPI is left to the ranks."""
    (tmp_path / "ahead.py").write_text("import os\npid = os.getpid()\n")
    (tmp_path / "begins.py").write_text("import os\nfrom mpi4py import MPI\npid = os.getpid()\n")
    text = PARALLEL + "    import ahead, begins, os\n    assert ahead.pid != os.getpid() == begins.pid\n"
    assert "1 passed" in run(text, "--lanai", "-o", "lanai_preload=ahead begins")


def test_a_module_that_cannot_be_imported_ahead_is_told(run, tmp_path):
    (tmp_path / "begins.py").write_text("from mpi4py import MPI\n")
    said = run(PARALLEL, "--lanai", "-o", "lanai_preload=begins nmpy")
    assert "lanai: lanai_preload: 'nmpy' cannot be imported: ModuleNotFoundError: No module named 'nmpy'" in said
    assert "'begins' cannot" not in said


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--lanai-ranks", "1-"], "--lanai-ranks '1-' is not understood; write rank counts such as 4, 1-8 or 2,4,6"),
        (["--lanai-ranks", "0"], "0 is not a count of ranks from 1 to 4096"),
        (["--lanai-device", "idael"], "did you mean 'ideal'?"),
        (["--lanai-timeout", "-1"], "--lanai-timeout '-1' must be a positive number of seconds"),
        (["--lanai-max-sim-time", "5 days"], "5 days"),
    ],
)
def test_wrong_options(run, tmp_path, words, text):
    done = session(tmp_path, *words)
    assert done.returncode == 4
    assert text in done.stderr


@pytest.mark.parametrize(
    ("marker", "text"),
    [
        ("parallel(nproc=2)", "the marker parallel has no argument 'nproc'; it takes nprocs"),
        ("parallel('2')", "nprocs = '2' is not a count of ranks or a list of counts"),
        ("mpi(min_size=0)", "min_size = 0 is not a count of ranks"),
        ("mpi(timeout=1, unit='d')", "timeout = 1 d is not a time; units are s, m, h"),
        ("parallel(2, 3)", "the marker parallel takes one number or list, not 3 as well"),
    ],
)
def test_wrong_markers(run, marker, text):
    said = run(PARALLEL.replace("parallel(2)", marker), "--lanai", code=2)
    assert text in said


def test_ctrl_c_ends_ranks_and_session(tmp_path):
    (tmp_path / "test_it.py").write_text(PARALLEL + "    print('on ranks', flush=True)\n    while True: pass\n")
    loaded = [] if installed() else ["-p", "lanai_sim.pytest_plugin.entry"]
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *loaded, "--lanai", "-s"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as popen:
        for line in popen.stdout:
            if "on ranks" in line:
                break
        began = time.monotonic()
        popen.send_signal(signal.SIGINT)
        rest = popen.stdout.read()
        assert popen.wait(60) == 2
    assert "KeyboardInterrupt" in rest
    assert time.monotonic() - began < 30
