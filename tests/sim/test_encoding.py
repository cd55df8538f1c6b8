"""Output where the locale's encoding lacks letters, and names of files that no encoding has."""

import os
import subprocess
import sys

import pytest
from pairs import first_of

from lanai_sim.job.forked import WarmServers
from lanai_sim.job.launcher import run
from lanai_sim.job.result import Exit, digest
from lanai_sim.units import counted
from openlanai import Job

# Counts as people read them.


@pytest.mark.parametrize(
    ("number", "what", "text"),
    [(0, "run", "0 runs"), (1, "run", "1 run"), (4096, "rank", "4,096 ranks"), (1, "entry", "1 entry"),
     (2, "entry", "2 entries")],
)  # fmt: skip
def test_a_count_has_the_form_that_its_number_needs(number, what, text):
    assert counted(number, what) == text


BODY = """
from lanai_sim import cli
from lanai_sim.commands import doctor
from lanai_sim.console import wide
from lanai_sim.report.tables import table
def run(args):
    made = table("Where the time went (\\u00b5s)", ["rank", "total"])
    made.add_row("0", "\\u00b7")
    wide().print(made)
    print("caf\\u00e9 and \\udcff")
    raise UserError("5 \\u00b5s")
from lanai_host.errors import UserError
doctor.run = run
raise SystemExit(cli.main(["doctor"]))
"""
PLAIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


@pytest.mark.parametrize("variables", [PLAIN, {"PYTHONIOENCODING": "ascii"}], ids=["the C locale", "PYTHONIOENCODING"])
def test_letters_that_ascii_lacks_come_out_as_what_is_near(variables):
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", BODY], capture_output=True, env=environment, check=False, timeout=100)
    assert done.stderr == b"lanai: error: 5 us\n"
    assert b"Where the time went (us)" in done.stdout
    assert done.stdout.split()[-4:] == [b".", b"caf?", b"and", b"\xff"]


NAME = b"bad\xff\xfe"
STUCK = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
window = MPI.Win.Create(bytearray(8), comm=world)
window.Fence()
window.Put(bytearray(1), 1 - world.rank)
window.Fence()
world.Recv(bytearray(1), 1 - world.rank)
"""
RAISES = "from mpi4py import MPI\nif MPI.COMM_WORLD.rank: raise ValueError(__file__)\nMPI.COMM_WORLD.Barrier()\n"
STUCK_IN_C = """\
#include <mpi.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Recv(argv, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
"""


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / os.fsdecode(NAME)
    found.mkdir()
    return found


@pytest.mark.parametrize("device", first_of("ideal", "mpi-np", "bip", "ccu", "sci", "mbcf", "t3d"))
def test_a_rank_that_waits_in_a_folder_whose_name_is_not_utf_8(device, folder):
    program = folder / "stuck.py"
    program.write_text(STUCK)
    result = Job((sys.executable, str(program)), 2, device, max_wall=100, trace=str(folder / "a.trace")).run()
    assert result.code == Exit.DEADLOCK, result.report
    assert result.report.count(f"waits in MPI_Recv at {program}:7, peer") == 2


def test_a_rank_that_fails_in_a_folder_whose_name_is_not_utf_8(folder):
    program = folder / "raises.py"
    program.write_text(RAISES)
    result = Job((sys.executable, str(program)), 2, max_wall=100).run()
    assert result.code == 1
    assert f"ValueError at {program}:2" in result.report


def test_a_c_program_in_a_folder_whose_name_is_not_utf_8(folder):
    """Its lines are in folders that the compiler names."""
    (folder / "stuck.c").write_text(STUCK_IN_C)
    lanai = [sys.executable, "-m", "lanai_sim", "mpicc", "-g", "-o", str(folder / "stuck"), str(folder / "stuck.c")]
    subprocess.run(lanai, check=True)
    result = Job((str(folder / "stuck"),), 1, max_wall=100).run()
    assert result.code == Exit.DEADLOCK
    assert "stuck.c:4" in result.report


RING = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
assert world.sendrecv(rank, (rank + 1) % size, source=(rank - 1) % size) == (rank - 1) % size
requests = [world.irecv(source=(rank + 1) % size, tag=tag) for tag in range(3)]
for tag in range(3): world.send(tag, (rank - 1) % size, tag=tag)
assert MPI.Request.waitall(requests) == [0, 1, 2]
"""
NAMES = ("plain", "a space", "a\nline", "\N{LATIN SMALL LETTER A WITH DIAERESIS}", os.fsdecode(NAME))
RUNS = 2  # in each folder


@pytest.mark.ci
@pytest.mark.parametrize("device", ["ideal", pytest.param("mpi-np", marks=pytest.mark.by_hand)])
def test_runs_have_one_digest_in_folders_of_all_names_beside_other_work(device, busy_machine, tmp_path):
    found, servers = set(), WarmServers()
    for number in range(RUNS * len(NAMES)):
        folder = tmp_path / NAMES[number % len(NAMES)]
        folder.mkdir(exist_ok=True)
        (folder / "ring.py").write_text(RING)
        result = run(Job((sys.executable, str(folder / "ring.py")), 2, device), servers=servers)
        assert (result.code, result.report, result.notes) == (0, "", ())
        found.add(digest(result))
    servers.close()
    assert len(found) == 1
