"""The examples of docs/extending.md: each is one folder on LANAI_PATH, and nothing else in the
project knows it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_sim.report.tracks import timeline as lanes_of
from lanai_sim.trace import Trace

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "extending"
PACKETS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
for size in (0, 1, 2037, 2038, 2048, 9000):
    mine, theirs = bytearray([world.rank]) * size, bytearray(size)
    left, right = (world.rank - 1) % world.size, (world.rank + 1) % world.size
    world.Sendrecv(mine, right, 0, theirs, left, 0)
    assert theirs == bytearray([left]) * size
    sends = [world.Isend(mine, peer, 7) for peer in range(world.size)]
    for peer in reversed(range(world.size)):
        world.Recv(theirs, peer, 7)
        assert theirs == bytearray([peer]) * size
    MPI.Request.Waitall(sends)
if world.rank == 0:
    print("done at", MPI.Wtime())
"""
SIZES = """
from mpi4py import MPI
world = MPI.COMM_WORLD
for size in (16, 4000):
    world.Sendrecv(bytearray(size), 1 - world.rank, 0, bytearray(size), 1 - world.rank, 0)
"""


def lanai(*arguments, path=EXAMPLES, **environment):
    """A run of the command in a process of its own, as LANAI_PATH is read once."""
    environment = {**os.environ, "LANAI_PATH": str(path), **environment}
    command = [sys.executable, "-m", "lanai_sim", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_a_messaging_system_runs_mpi_programs_and_is_deterministic():
    runs = [lanai("run", "-q", "-n", "3", "--device", "echo", sys.executable, "-c", PACKETS) for _ in range(2)]
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * 2
    assert re.fullmatch(r"done at 0\.00\d+\n", runs[0].stdout)
    assert runs[0].stdout == runs[1].stdout


def test_a_board_is_listed_and_its_nic_is_known():
    listed = lanai("build", "--list")
    assert listed.returncode == 0
    assert "ulx3s-12f    Radiona ULX3S, ECP5 LFE5U-12F, NIC at 60 MHz with 64 KiB of block RAM" in listed.stdout
    run = lanai("run", "-n", "2", "--device", "mpi-np", "--board", "ulx3s-12f", "true")
    assert run.returncode == 2
    assert "bytes of SRAM, less than 4608: use more NICs, more SRAM" in run.stderr


def test_its_deadlock_is_reported():
    body = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.recv(source=1 - w.rank, tag=5)"
    run = lanai("run", "-q", "-n", "2", "--device", "echo", sys.executable, "-c", body)
    assert run.returncode == 3
    assert "tag 5" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--ranks-per-node", "2"), "echo puts one rank on a NIC, not 2"),
        (("--option", "boot_polls=0"), "boot_polls"),
        (("--option", "boot_poll=5"), "has no key 'boot_poll'; did you mean 'boot_polls'?"),
        (("--trace", "no.trace"), "--trace cannot show the packets of the device 'echo'"),
    ],
)
def test_what_it_cannot_do_is_refused(arguments, text, tmp_path):
    arguments = [str(tmp_path / word) if word == "no.trace" else word for word in arguments]
    run = lanai("run", "-n", "2", "--device", "echo", *arguments, sys.executable, "-c", PACKETS)
    assert (run.returncode, run.stdout) == (2, "")
    assert text in run.stderr


@pytest.mark.ci
def test_an_engine_evaluates_a_run(tmp_path):
    program = ROOT / "examples" / "mpi" / "ring.py"
    journal = tmp_path / "accesses.txt"
    common = ("run", "-q", "-n", "2", "--device", "echo")
    plain = lanai(*common, sys.executable, program)
    run = lanai(*common, "--engine", "journal", sys.executable, program, JOURNAL=str(journal))
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == plain.stdout
    lines = journal.read_text().splitlines()
    assert len(lines) > 100
    assert all(re.fullmatch(r"slot \d+ nic [01]: (read 0x\w+|write 0x\w+ = 0x\w+)", line) for line in lines)


def test_an_engine_is_refused_what_it_cannot_do(tmp_path):
    wave = ("--wave", tmp_path / "a.vcd")
    run = lanai("run", "-n", "2", "--device", "echo", "--engine", "journal", *wave, sys.executable, "-c", PACKETS)
    assert run.returncode == 2
    assert "the engine 'journal' cannot serve waveforms" in run.stderr
    assert "rtl" in run.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.ci
def test_a_fabric_joins_the_nics_of_a_run():
    program = ROOT / "examples" / "mpi" / "ring.py"
    run = lanai("run", "-q", "-n", "4", "--device", "echo", "--fabric", "hypercube:2", sys.executable, program)
    assert (run.returncode, run.stderr) == (0, "")
    plain = lanai("run", "-q", "-n", "4", "--device", "echo", sys.executable, program)
    assert run.stdout != plain.stdout, "some messages pass two switches"


def test_a_fabric_is_refused_what_it_cannot_be():
    for fabric, text in (("hypercube:2", "joins 4 NICs, not 3"), ("hypercube:4", "write 1 to 3 dimensions")):
        run = lanai("run", "-n", "3", "--device", "echo", "--fabric", fabric, sys.executable, "-c", PACKETS)
        assert run.returncode == 2
        assert text in run.stderr


@pytest.mark.ci
def test_a_paper_is_measured():
    run = lanai("paper", "echo", "--quick")
    assert run.returncode == 0, run.stderr
    assert "Of 2 claims 2 are answered" in " ".join(run.stdout.split())


@pytest.mark.ci
def test_a_block_is_in_each_nic_and_what_it_counts_is_told(tmp_path):
    figures = tmp_path / "figures.json"
    common = ("run", "-v", "-n", "2", "--device", "echo", "--json", figures)
    run = lanai(*common, "--block", "tally:limit=512", sys.executable, "-c", SIZES)
    assert run.returncode == 0, run.stderr
    assert re.search(r"the NICs' block tally: TALLY_SHORT \d+, TALLY_LONG \d+", run.stderr), run.stderr
    counted = json.loads(figures.read_text())["figures"]
    assert counted["run.tally_short"] > counted["run.tally_long"] > 0
    assert lanai(*common, sys.executable, "-c", SIZES).returncode == 0
    assert json.loads(figures.read_text())["figures"]["run.simulated_us"] == counted["run.simulated_us"]


@pytest.mark.by_hand
def test_a_trace_shows_when_its_events_happen_and_what_it_counts(tmp_path):
    trace, figures, timeline = (tmp_path / name for name in ("run.trace", "report.json", "run.pftrace"))
    block = ("--block", "tally:limit=512")
    run = lanai("run", "-v", "-n", "2", "--device", "mpi-np", *block, "--trace", trace, sys.executable, "-c", SIZES)
    assert run.returncode == 0, run.stderr
    [counted] = re.findall(r"the NICs' block tally: TALLY_SHORT (\d+), TALLY_LONG (\d+)", run.stderr)
    report = lanai("trace", "report", trace, "--json", figures)
    assert re.search(r"^tally +TALLY_RECORD +0 +2 ", report.stdout, re.MULTILINE), report.stdout
    rows = json.loads(figures.read_text())["tables"]["blocks"]
    for name, count in zip(("TALLY_SHORT", "TALLY_LONG"), counted, strict=True):
        assert sum(row["times"] for row in rows if row["signal"] == name) == int(count)
    assert lanai("trace", "timeline", trace, "-o", timeline).returncode == 0
    assert b"TALLY_RECORD" in timeline.read_bytes()
    lanes = {lane.path: len(lane.slices) for lane in lanes_of(Trace.open(trace)).lanes}
    assert sum(lanes["NICs", f"NIC {node}", "tally", "TALLY_RECORD"] for node in (0, 1)) == 4


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--block", "tali"), "block 'tali' is not known; did you mean 'tally'? choose one of barrier, remote, tally"),
        (("--block", "tally:limit=-1"), "[nic.tally]: limit=-1 must be a whole number from 0 to 65535"),
        (("--block", "tally:limits=1"), "[nic.tally] has no key 'limits'; did you mean 'limit'?"),
        (("--block", "tally:limit"), "--block 'tally.limit' is not understood; write NAME=VALUE"),
        (("--block", "tally", "--block", "tally"), "blocks has 'tally' 2 times"),
    ],
)
def test_a_block_that_cannot_be_is_refused(arguments, text):
    run = lanai("run", "-n", "2", "--device", "echo", *arguments, sys.executable, "-c", SIZES)
    assert (run.returncode, run.stdout) == (2, "")
    assert text in run.stderr


def test_an_edit_of_a_block_lets_its_nic_be_built_anew(tmp_path):
    """The sources of a block are part of the key of what is made of them."""
    copy = tmp_path / "blocks" / "tally"
    shutil.copytree(EXAMPLES / "blocks" / "tally", copy)
    code = (
        "from lanai_hdl.config import NicConfig; from lanai_sim.machine.blocks import block;"
        "from lanai_sim.engines.designs import Design, key;"
        "print(key([Design(NicConfig(blocks=(block('tally'),)))]))"
    )

    def key():
        environment = {**os.environ, "LANAI_PATH": str(tmp_path)}
        return subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True).stdout

    before = key()
    assert key() == before
    with (copy / "block.py").open("a") as file:
        file.write("# more\n")
    assert key() != before


@pytest.mark.parametrize("kind", ["stacks", "blocks", "engines", "fabrics", "papers", "boards"])
def test_a_name_that_is_taken_is_refused(kind, tmp_path):
    taken = {"stacks": "mpi_np", "blocks": "remote", "engines": "rtl", "fabrics": "ring", "papers": "mpi_np"}
    name = {**taken, "boards": "ulx3s_25f"}[kind]
    folder = tmp_path / kind / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    others = {"papers": ("paper", "mpi-np", "--quick"), "boards": ("build", "--list")}
    run = lanai(*others.get(kind, ("run", "-n", "1", sys.executable, "-c", "")), path=tmp_path)
    assert run.returncode == 2
    assert f"{name.replace('_', '-')!r} is found twice; rename the folder on LANAI_PATH" in run.stderr


def test_a_directory_without_any_folder_of_these_is_refused(tmp_path):
    run = lanai("run", "-n", "1", sys.executable, "-c", "", path=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    wanted = "stacks/, blocks/, boards/, engines/, fabrics/, papers/, cases.txt"
    assert f"LANAI_PATH names {str(tmp_path)!r}, which has none of {wanted}" in run.stderr


def test_a_folder_without_its_module_is_named(tmp_path):
    (tmp_path / "stacks" / "empty").mkdir(parents=True)
    (tmp_path / "stacks" / "empty" / "__init__.py").write_text("")
    run = lanai("run", "-n", "1", "--device", "empty", sys.executable, "-c", "", path=tmp_path)
    assert run.returncode == 2
    assert "its folder must hold stack.py" in run.stderr


def test_nothing_else_knows_the_examples():
    for package in ("hdl", "firmware", "host", "sim"):
        for path in (ROOT / package).rglob("*.py"):
            assert not re.search(r"['\"](echo|journal)['\"]|MATCH_MASK", path.read_text()), path


def test_the_page_names_folders_that_exist():
    page = (ROOT / "docs" / "extending.md").read_text()
    named = re.findall(r"`((?:examples|host|sim|hdl|tests)/[\w/.]+)`", page)
    assert len(named) >= 8
    assert [name for name in named if not (ROOT / name).exists()] == []


# A messaging system without NICs that is added from outside: it says itself what carries its messages.


STACK = """
from dataclasses import dataclass

from lanai_host.simulator.transport import TransportHub
from lanai_host.stacks.base import Stack


@dataclass(frozen=True)
class Options:
    latency: int = 7_000_000


class Slow(Stack):
    name = "slow"
    help = "an example without NICs: a message takes 7 us"
    presets = {"default": Options}
    options_table = "slow"

    def network(self, ranks, options, limit, started=None):
        return TransportHub(ranks, options.latency, 0, limit, started)

    def open(self, client, costs):
        from lanai_host.stacks.ideal.device import IdealDevice

        return IdealDevice(client.rank, client.size, client.transport, costs)


STACK = Slow()
"""
JOB = """
import openlanai

def received():
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    if world.rank == 0:
        world.send("text", 1)
    return world.recv(source=0) if world.rank else None

job = openlanai.Job(["python", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"], 2, "slow")
assert openlanai.Job.from_json(job.to_json()) == job
assert job.but(options={"latency": 0}).run().ok
print(openlanai.run(received, 2, "slow"), job.run().figures["run.simulated_us"] > 7)
"""


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "stacks" / "slow"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "stack.py").write_text(STACK)
    return tmp_path


def test_a_system_without_nics_runs(path):
    done = subprocess.run(
        [sys.executable, "-c", JOB], capture_output=True, text=True, timeout=500, check=False,
        env={**os.environ, "LANAI_PATH": str(path)},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[None, 'text'] True\n", "")


def test_flags_of_nics_cannot_act_on_it(path):
    done = subprocess.run(
        [sys.executable, "-m", "lanai_sim", "run", "--device", "slow", "--fabric", "ring", "true"],
        capture_output=True, text=True, timeout=500, check=False, env={**os.environ, "LANAI_PATH": str(path)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "--fabric cannot act on the device 'slow', which has no NICs" in done.stderr
