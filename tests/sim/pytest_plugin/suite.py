"""A test suite of a user, for test_suite.py: what is in it and what is to come of it."""

CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def everywhere():
    from mpi4py import MPI
    yield MPI.COMM_WORLD.allreduce(1)
    MPI.COMM_WORLD.barrier()
"""
SUITE = """
import os
import signal
import subprocess
import sys

import pytest
from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.rank  # also at the import

def helper(value):
    assert value == 3, "rank by rank"

@pytest.mark.parallel(nprocs=2)
def test_passes():
    assert world.size == 2 and world.allreduce(rank) == 1

@pytest.mark.parallel
def test_bare():
    assert world.size == 3

@pytest.mark.parallel(2)
def test_one_rank_raises():
    print("printed by", rank)
    if rank == 0:
        raise ValueError("the reason")
    world.barrier()

@pytest.mark.parallel(2)
def test_hangs():
    print("before it, rank", rank)
    world.recv(source=1 - rank)

@pytest.mark.parallel(3)
def test_all_fail_alike():
    helper(world.size - 1)

@pytest.mark.parallel([1, 2])
def test_counts(lanai_ranks):
    assert world.size == lanai_ranks == 1

@pytest.mark.mpi(ranks=2, timeout=50, unit="s")
@pytest.mark.parametrize("word", ["a::b", "c[d]"])
def test_parameters(word, comm, mpi_ranks):
    assert comm.size == mpi_ranks == 2 and word in ("a::b", "c[d]")

@pytest.mark.mpi(min_size=3)
class TestInClass:
    kept = []

    @pytest.fixture(autouse=True)
    def around(self, everywhere):
        self.sum = everywhere

    def test_method(self):
        assert world.size == self.sum == 3

@pytest.mark.mpi
def test_paths(tmp_path, mpi_tmp_path):
    (tmp_path / "mine").write_text(str(rank))
    assert len(set(world.allgather(str(tmp_path)))) == world.size == 2
    (mpi_tmp_path / str(rank)).touch()
    world.barrier()
    assert sorted(os.listdir(mpi_tmp_path)) == ["0", "1"]

@pytest.mark.skip(reason="not today")
@pytest.mark.parallel(2)
def test_skip_marker():
    raise AssertionError

@pytest.mark.skipif("world.size == 2", reason="two are too few")
@pytest.mark.parallel(2)
def test_skipped_in_ranks():
    raise AssertionError

@pytest.mark.xfail(reason="known")
@pytest.mark.parallel(2)
def test_xfail_while_others_wait():
    if rank == 1:
        raise KeyError
    world.barrier()

@pytest.mark.xfail(reason="known hang")
@pytest.mark.parallel(2)
def test_xfail_hang():
    world.recv()

@pytest.mark.xfail(strict=True, reason="mended")
@pytest.mark.parallel(2)
def test_xpass_strict():
    pass

@pytest.mark.xfail(reason="mended")
@pytest.mark.parallel(2)
def test_xpass():
    pass

@pytest.fixture
def broken():
    raise RuntimeError("no such table")

@pytest.mark.parallel(2)
def test_setup_fails(broken):
    pass

@pytest.fixture
def leaves_badly():
    yield
    raise OSError("cannot put it back")

@pytest.mark.parallel(2)
def test_teardown_fails(leaves_badly):
    pass

@pytest.mark.parallel(2)
def test_killed():
    sys.stdout.write("half a line")
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    world.barrier()

@pytest.mark.parallel(2)
def test_exits():
    if rank == 1:
        os._exit(0)
    world.barrier()

@pytest.mark.parallel(2)
def test_aborts():
    if rank == 1:
        world.Abort(7)
    world.barrier()

@pytest.mark.parallel(2)
def test_wrong_root():
    world.bcast(1, root=rank)

@pytest.mark.parallel(2)
def test_binary():
    os.write(1, bytes(range(256)))
    raise ValueError(rank)

@pytest.mark.parallel(2)
def test_forks():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert subprocess.run(["true"]).returncode == 0
    world.barrier()

@pytest.mark.parallel(2)
def test_without_mpi():
    assert sys.stdin.read() == ""

@pytest.mark.parallel(2)
def test_captured(capfd, recwarn):
    print("out")
    assert capfd.readouterr().out == "out\\n"

@pytest.mark.parallel(2)
def test_logs(caplog):
    import logging
    logging.getLogger("here").warning("careful %d", rank)
    assert caplog.messages == [f"careful {rank}"]
    assert rank == 0

@pytest.mark.mpi(ranks=2, timeout=2)
def test_computes_forever():
    while rank == 0:
        pass
    world.barrier()

def test_unmarked():
    assert "LANAI_TEST" not in os.environ
"""
