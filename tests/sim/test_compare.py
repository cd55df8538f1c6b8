"""`lanai compare`: one program on several systems."""

import json
import os
import subprocess
import sys

import pytest
from pairs import first_of

from lanai_host import stacks
from lanai_sim import cli
from lanai_sim.commands import compare
from lanai_sim.commands import list as listing
from lanai_sim.engines import kinds as engines
from lanai_sim.job.forked import WarmServers
from lanai_sim.job.job import Job
from lanai_sim.job.launcher import run
from lanai_sim.job.result import Exit, digest
from lanai_sim.job.systems import SYSTEMS
from lanai_sim.machine import fabrics
from lanai_sim.machine.machine import Machine
from lanai_sim.studies.comparing import measured
from lanai_sim.studies.comparing.measured import Measured
from lanai_sim.units import counted

HELLO = ["python", "-c", "print('hello')"]


def test_a_program_on_two_systems(capsys, tmp_path):
    figures, picture, page = tmp_path / "c.json", tmp_path / "c.svg", tmp_path / "c.html"
    files = ["--json", str(figures), "--plot", str(picture), "--html", str(page)]
    assert cli.main(["compare", "--systems", "ideal", "-n", "1", *files, "--", *HELLO]) == 0
    shown = capsys.readouterr().out
    assert "simulated time, us" in shown
    assert "- (ideal): it has no NIC" in shown
    record = json.loads(figures.read_text())
    assert record["figures"]["compare.ideal.simulated_us"] >= 0
    assert record["config"]["program"] == HELLO
    assert picture.read_text().startswith("<?xml")
    assert '"name":"ideal","parent":-1' in page.read_text()


@pytest.mark.parametrize(
    ("more", "program", "code", "said"),
    [
        (["--no-trace"], "1", 2, "timelines are made of traces; leave --no-trace out"),
        ([], "1/0", 1, "no system has a timeline of this program"),
    ],
)
def test_a_page_without_timelines_is_not_written(capsys, tmp_path, more, program, code, said):
    command = ["compare", "--systems", "ideal", "-n", "1", "--html", str(tmp_path / "c.html"), *more]
    assert cli.main([*command, "--", "python", "-c", program]) == code
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_failure_is_the_exit_code(capsys):
    assert cli.main(["compare", "--systems", "ideal", "-n", "1", "--", "python", "-c", "1/0"]) == 1
    assert "ideal: rank 0 exited with code 1" in capsys.readouterr().out


def test_a_program_that_no_system_runs_is_no_success(capsys):
    assert cli.main(["compare", "--systems", "ccu", "-n", "241", "--", *HELLO]) == 2
    assert "ccu: 241 NICs are too many" in capsys.readouterr().out


def test_the_default_systems_are_on_the_common_testbed():
    assert compare.DEFAULT == ("ideal", "mpi-np", "bip", "t3d", "ccu", "mbcf", "sci", "lanai2")


def test_names_of_figures():
    found = {"sci": Measured({"simulated_us": 2.0}, protocols={"remote write": 3})}
    own = {"sci": {"one way, 4 B, us": 3.5, "hidden behind computing, sender, %": 99.0}}
    assert compare.figures(found, own) == {
        "compare.sci.simulated_us": 2.0,
        "compare.sci.messages.remote_write": 3,
        "compare.sci.one_way_4_b_us": 3.5,
        "compare.sci.hidden_behind_computing_sender_percent": 99.0,
    }


def test_the_picture_of_the_kit_has_latencies():
    own = {"sci": {"one way, 4 B, us": 3.5, "one way, 64 B, us": 8.6, "one way, 4 B, ANY_SOURCE, us": 9.0}, "ccu": {}}
    assert compare.plot({}, own, ()).lines == {"sci": {4.0: 3.5, 64.0: 8.6}}


@pytest.mark.by_hand
def test_the_kit_on_all_systems(tmp_path, capsys):
    path = tmp_path / "k.json"
    assert cli.main(["compare", "--json", str(path)]) == 0
    own = json.loads(path.read_text())["kit"]
    assert set(own) == set(compare.DEFAULT)
    assert len({frozenset(values) for values in own.values()}) == 1
    shown = capsys.readouterr().out
    for part in measured.RANKS:
        assert f"{part}: outputs are equal on all {len(own)} systems" in shown
    assert own["ideal"]["one way, 4 B, us"] < min(own[name]["one way, 4 B, us"] for name in compare.DEFAULT[1:])


# `lanai list devices`: what it lists is what `lanai run` takes.


@pytest.fixture
def lists(capsys):
    assert cli.main(["list", "devices", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_everything_that_a_run_can_choose_is_listed(lists):
    assert [row["name"] for row in lists["devices"]] == list(stacks.names())
    assert [row["name"] for row in lists["engines"]] == list(engines.names())
    assert [row["name"].partition(":")[0] for row in lists["fabrics"][:-1]] == list(fabrics.names())
    assert lists["fabrics"][-1]["name"] == "FILE.toml"


def test_what_a_system_needs_and_offers(lists):
    ideal, np = (next(row for row in lists["devices"] if row["name"] == name) for name in ("ideal", "mpi-np"))
    assert ideal["needs"] == "nothing"
    assert "--trace" not in ideal["offers"]
    assert np["needs"] == "NICs with the firmware mpi-np"
    assert np["offers"] == "--trace; presets default, paper, thesis-code, small"


def test_the_tables_hold_each_cell(capsys):
    assert cli.main(["list", "devices"]) == 0
    words = set(capsys.readouterr().out.split())
    for rows in (listing.devices(), listing.engine_kinds(), listing.fabric_kinds()):
        for row in rows:
            assert set(" ".join(row.values()).split()) <= words


# `lanai list systems`: what it lists is what `lanai run --system` takes.


def test_each_system_is_listed_with_its_parts(capsys):
    assert cli.main(["list", "systems", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(SYSTEMS)
    for row in rows:
        job = Job.on(row["name"])
        assert row["device"] == job.device
        assert Machine(host=row["host"]).host == job.machine.host
        assert row["what it stands for"]


def test_parts_that_a_system_does_not_say_are_the_default_ones():
    assert Machine(**listing.TESTBED) == Machine()


def test_the_table_holds_each_cell(capsys):
    assert cli.main(["list", "systems"]) == 0
    words = set(capsys.readouterr().out.split())
    for name, system in SYSTEMS.items():
        assert set(" ".join(listing.system(name, system).values()).split()) <= words


def test_the_list_of_devices_refers_to_it(capsys):
    assert cli.main(["list", "devices"]) == 0
    assert "`lanai list systems`" in capsys.readouterr().out


# Output where the locale's encoding lacks letters, and names of files that no encoding has.


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
    done = subprocess.run([sys.executable, "-c", BODY], capture_output=True, env=environment, check=False, timeout=500)
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
