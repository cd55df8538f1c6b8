"""The signals that end a command."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import weakref

import pytest

from lanai_firmware import cache_upkeep
from lanai_sim import cli, programs
from lanai_sim.cli import main
from lanai_sim.commands import verilog
from lanai_sim.job.job import Job
from lanai_sim.job.result import Result
from lanai_sim.signals import none_lost, signals_to
from lanai_sim.signatures import fits, words


def interrupt(number, frame):
    raise KeyboardInterrupt


@contextlib.contextmanager
def limited(seconds):
    """Set an alarm, as a run with a limit of time has one."""
    before = signal.signal(signal.SIGALRM, lambda number, frame: pytest.fail("the alarm came"))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Thing:
    pass


def test_ctrl_c_in_the_callback_of_a_weak_reference_is_not_lost():
    """Python drops the exception there, which happens while modules are imported."""
    things = [Thing()]
    reference = weakref.ref(things[0], lambda _: signal.raise_signal(signal.SIGINT))

    def wait():
        things.clear()
        assert reference() is None
        time.sleep(10)

    with signals_to(interrupt), none_lost(), limited(9), pytest.raises(KeyboardInterrupt):
        wait()


def test_what_else_is_dropped_is_told():
    seen = []
    before, sys.unraisablehook = sys.unraisablehook, lambda found: seen.append(found.exc_type)
    try:
        with none_lost():
            thing = Thing()
            reference = weakref.ref(thing, lambda _: 1 / 0)
            del thing
    finally:
        sys.unraisablehook = before
    assert reference() is None
    assert seen == [ZeroDivisionError]


def test_the_hook_is_as_before():
    before = sys.unraisablehook
    with none_lost():
        assert sys.unraisablehook != before
    assert sys.unraisablehook == before


@pytest.mark.parametrize(
    ("words", "rank", "said"),
    [((), None, "name: interrupted\n"), (("--parts",), "0", "name: interrupted\n"), (("--parts",), "1", "")],
)
def test_a_program_that_is_still_being_loaded_ends_with_one_line(words, rank, said):
    code = "import signal; from lanai_sim.signals import end_at_once; end_at_once('name'); signal.raise_signal(2)"
    environment = {**os.environ, **({} if rank is None else {"PMI_RANK": rank})}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=environment, capture_output=True, text=True, check=False, timeout=20
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


# The installed programs: Ctrl-C before a command is loaded.

NAMES = {"lanai": "lanai", "mpiexec": "mpiexec", "mpicc": "lanai", "mpicxx": "lanai", "mpifort": "lanai"}
# Python calls the finder for each import: the first one of the command is interrupted.
CODE = """
import signal, sys
from lanai_sim import programs
class Finder:
    def find_spec(name, *_):
        if name == "lanai_sim.cli":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder)
programs.NAME()
"""


@pytest.mark.parametrize("program", NAMES)
def test_an_interrupted_import_is_told_in_one_line(program):
    assert callable(getattr(programs, program))
    done = subprocess.run(
        [sys.executable, "-c", CODE.replace("NAME", program)], capture_output=True, text=True, check=False, timeout=500
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", f"{NAMES[program]}: interrupted\n")


def test_an_interrupt_in_an_exec_does_not_change_the_exit_code(tmp_path):
    """`python -m` remembers it, and ends by the signal itself. Each dataclass is made by `exec`."""
    (tmp_path / "interrupted_module.py").write_text(
        "import sys\nfrom lanai_sim.cli import guarded\n"
        "sys.exit(guarded('name', lambda: exec('raise KeyboardInterrupt')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "interrupted_module"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "name: interrupted\n")


# Type signatures: which fit, and how they are said.


@pytest.mark.parametrize(
    ("sent", "received", "whole", "expected"),
    [
        ([["i4", 3]], [["i4", 5]], False, True),
        ([["i4", 3]], [["i4", 5]], True, False),
        ([["i4", 5]], [["i4", 3]], False, True),  # too long is a truncation
        ([["i4", 1], ["f8", 1]], [["f8", 1], ["i4", 1]], False, False),
        ([["i4", 1], ["f8", 1]], [["i4", 1], ["f8", 2]], False, True),
        ([["PACKED", 9]], [["i4", 3]], True, None),
        ([["BYTE", 4]], [["i4", 1]], False, False),
        ([["BYTE", 4]], [["u1", 4]], False, None),
        ([["#aa", 9]], [["#aa", 9]], True, True),
        ([["#aa", 9]], [["#bb", 9]], True, False),
        ([["#aa", 9]], [["i4", 9]], True, None),
        ([], [["i4", 3]], False, True),
    ],
)
def test_signatures(sent, received, whole, expected):
    assert fits(sent, received, whole=whole) is expected


def test_signatures_in_words():
    assert words([["i4", 3], ["f8", 1]]) == "3 int, 1 double"
    assert words([]) == "nothing"


# `lanai verilog`: parameters from the command line and from files, what it says, what it refuses. What it writes:
# tests/hdl/wrap/test_files.py.


def test_it_says_what_it_has_written(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert main(["verilog", "link", "--wrap", "axi-stream", "-o", str(out)]) == 0
    lines = (out / "lanai_link.v").read_text().count("\n")
    others = sum(path.is_file() for path in out.rglob("*")) - 1
    told = capsys.readouterr().out
    assert f"wrote {out}: lanai_link.v, {lines:,} lines, and {others} files more" in told
    for path in re.findall(re.escape(str(out)) + r"/([\w./]+)", told):
        assert (out / path).exists()


def test_what_is_given_later_counts(tmp_path):
    document = tmp_path / "parameters.toml"
    document.write_text("slot_khz = 50_000\n[nic]\nsram_size = 65536\nlink_latency = 9\n[switch]\nports = 3\n")
    words = ["sram_size=8192", str(document), "link_latency=0xA"]
    nic = {"slot_khz": 50_000, "sram_size": 65536, "link_latency": "0xA"}
    assert verilog._values(words, "nic") == nic
    assert verilog._values(words, "switch") == {**nic, "ports": 3}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nicc"], "block 'nicc' is not known; did you mean 'nic'?"),
        (["nic", "--wrap", "axi-light"], "wrapper 'axi-light' is not known; did you mean 'axi-lite'?"),
        (
            ["nic", "--with", "romote"],
            "block 'romote' is not known; did you mean 'remote'? choose one of barrier, remote",
        ),
        (["link", "--with", "remote"], "--with 'remote' is for 'nic'; 'link' has no optional blocks"),
        (["nic", "--config", "srm_size=4"], "parameter 'srm_size' is not known; did you mean 'sram_size'?"),
        (["nic", "--config", "no.toml"], "cannot read --config 'no.toml': No such file or directory; name a TOML file"),
        (["link", "-o", "file/folder"], "cannot make the folder 'file/folder': Not a directory"),
    ],
)
def test_what_it_refuses(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert main(["verilog", *words, *([] if "-o" in words else ["-o", "out"])]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_is_no_toml_is_quoted(tmp_path, capsys):
    (tmp_path / "bad.toml").write_text("sram_size : 4")
    assert main(["verilog", "nic", "--config", str(tmp_path / "bad.toml"), "-o", str(tmp_path / "out")]) == 2
    assert re.search(r"cannot read --config '.*bad.toml': Expected .*; name a TOML file", capsys.readouterr().err)


# `lanai cache warm` and `lanai cache`: what is built ahead, and what becomes of it.


LANAI = [sys.executable, "-m", "lanai_sim"]


@pytest.fixture
def asked(monkeypatch):
    """The runs that are asked for; none happens."""
    found = []
    monkeypatch.setattr(Job, "run", lambda job: found.append(job) or Result(0, 0))
    return found


def test_all_devices_that_the_flags_fit(asked, capsys):
    assert cli.main(["cache", "warm", "-n", "4", "--fabric", "torus:2x2"]) == 0
    assert [config.device for config in asked] == ["bip", "ccu", "lanai2", "mbcf", "mpi-np", "sci", "t3d"]
    assert {(config.ranks, config.machine.fabric, config.trace) for config in asked} == {(4, "torus:2x2", None)}
    said = capsys.readouterr().out
    assert "ideal: left out: --fabric cannot act on the device 'ideal'" in said
    assert re.search(r"mpi-np: ready after \d+\.\d s\n", said)


def test_named_devices_and_what_traces_need(asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["cache", "warm", "sci", "mpi-np", "--trace", "run.trace"]) == 0
    assert [(config.device, config.ranks) for config in asked] == [("sci", 2), ("mpi-np", 2)]
    assert all(config.trace.endswith("/run.trace") for config in asked)
    assert list(tmp_path.iterdir()) == []
    assert cli.main(["cache", "warm", "--device", "t3d"]) == 0
    assert asked[-1].device == "t3d"


def test_a_device_that_is_not_there_is_refused(asked, capsys):
    assert cli.main(["cache", "warm", "ideal", "mpinp"]) == 2
    assert "device 'mpinp' is not known; did you mean 'mpi-np'?" in capsys.readouterr().err
    assert asked == []


@pytest.mark.ci
def test_a_run_after_it_builds_nothing(tmp_path):
    """On `ideal`, which needs libmpi and parts in C. The cache goes to another place in an archive."""
    home = {**os.environ, "LANAI_CACHE": str(tmp_path / "cache"), "LANAI_BUILD_NOTES": "1"}

    def lanai(*words, code=0):
        done = subprocess.run([*LANAI, *words], capture_output=True, text=True, env=home, check=False, timeout=300)
        assert done.returncode == code, done
        return done.stdout + done.stderr

    assert "ideal: ready after" in lanai("cache", "warm", "ideal")
    before = sorted((tmp_path / "cache").glob("*/??/*"))
    assert {path.parents[1].name for path in before} >= {"abi", "native"}
    said = lanai("run", "-n", "2", "python", "-c", "from mpi4py import MPI; print(MPI.COMM_WORLD.rank)")
    assert sorted((tmp_path / "cache").glob("*/??/*")) == before
    assert "building" not in said
    archive = str(tmp_path / "cache.tar.gz")
    portable = [path for path in before if path.parents[1].name != "bindings"]  # links into this machine stay here
    entries = f"{len(portable)} entries"
    assert lanai("cache", "export", archive) == f"wrote {entries} to {archive}\n"
    home["LANAI_CACHE"] = str(tmp_path / "other")
    assert lanai("cache", "import", archive) == f"added {entries}; 0 were here already\n"
    assert f"{entries}, " in lanai("cache")
    assert lanai("cache", "prune").startswith("removed 0 entries")
    assert lanai("cache", "prune", "--to", "0").startswith(f"removed {entries}")
    assert cache_upkeep.VARIABLE in lanai("cache")
    assert "--to 'x' is not a size" in lanai("cache", "prune", "--to", "x", code=2)


def test_ctrl_c_while_a_class_is_made_ends_as_ctrl_c(capsys):
    """Python 3.11 makes a RuntimeError of an exception in `__set_name__`."""

    class Member:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    def load():
        type("Loaded", (), {"member": Member()})

    assert cli.guarded("lanai", load) == 130
    assert capsys.readouterr().err == "lanai: interrupted\n"


@pytest.mark.parametrize(("number", "said"), [("0", "lanai: interrupted\n"), ("1", "")])
def test_one_of_several_parts_tells_of_ctrl_c(number, said, capsys, monkeypatch):
    monkeypatch.setenv("PMI_RANK", number)
    monkeypatch.setattr(sys, "argv", ["lanai", "run", "--parts"])

    def wait():
        raise KeyboardInterrupt

    assert cli.guarded("lanai", wait) == 130
    assert capsys.readouterr().err == said
