"""The command line of mpiexec."""

import os
import shutil
from pathlib import Path

import pytest

from lanai_host.errors import UserError
from lanai_sim.commands import env
from lanai_sim.mpiexec import Part, config_of, parse


@pytest.mark.parametrize("flag", ["-n", "-np", "--np", "-c"])
def test_ranks(flag):
    assert parse([flag, "3", "a.out", "-n", "7"]).parts == [Part(3, ("a.out", "-n", "7"))]


def test_one_rank_unless_told():
    assert parse(["a.out"]).parts == [Part(1, ("a.out",))]


def test_a_value_may_stand_behind_an_equals_sign():
    asked = parse(["--np=2", "--timeout=2.5", "a.out"])
    assert (asked.parts[0].ranks, asked.timeout) == (2, 2.5)


def test_several_programs(tmp_path):
    asked = parse(["-n", "2", "-env", "A", "1", "first", "x", ":", "-n", "3", "-wdir", str(tmp_path), "second"])
    assert asked.parts == [
        Part(2, ("first", "x"), environment={"A": "1"}),
        Part(3, ("second",), str(tmp_path)),
    ]


def test_variables():
    variables = {"KEPT": "yes"}
    asked = parse(["-genv", "G", "1", "-x", "KEPT", "-x", "SET=2", "-x", "MISSING", "a.out"], variables)
    assert asked.environment == {"G": "1"}
    assert asked.parts[0].environment == {"KEPT": "yes", "SET": "2"}


def test_the_whole_run():
    asked = parse(["-ppn", "2", "-usize", "8", "-l", "-n", "4", "a.out"])
    assert (asked.per_node, asked.universe, asked.label) == (2, 8, True)


def test_what_does_nothing_here_is_remembered():
    words = ["--oversubscribe", "--allow-run-as-root", "--mca", "btl", "self", "-bind-to", "core", "-hosts", "a,b"]
    asked = parse([*words, "-n", "2", "a.out"])
    assert asked.ignored == ["--oversubscribe", "--allow-run-as-root", "--mca", "-bind-to", "-hosts"]
    assert asked.parts == [Part(2, ("a.out",))]


def test_help_needs_no_program():
    assert parse(["--help"]).help
    assert parse(["-version"]).version


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "no program was named; write, for example: mpiexec -n 2 python script.py"),
        (["-n", "2", "a", ":", "-n", "2"], "no program was named"),
        (["--with-ft", "maybe", "a"], "--with-ft 'maybe' is not understood; write ulfm or no"),
        (["--output-filename", "log:copy", "a"], "'copy' is not known behind the colon; write nocopy or nojobid"),
        (["--output-filename", ":nocopy", "a"], "--output-filename ':nocopy' names no folder"),
        (["-n", "0", "a"], "-n '0' is not a count; write a whole number from 1"),
        (["-np", "two", "a"], "-np 'two' is not a count"),
        (["-n"], "-n needs 1 value behind it"),
        (["-env", "A"], "-env needs 2 values behind it"),
        (["--oversubscrib", "a"], "--oversubscrib is not an option of mpiexec; did you mean '--oversubscribe'?"),
        (["-wdr", ".", "a"], "did you mean '-wdir'?"),
        (["-zzzzz", "a"], "-zzzzz is not an option of mpiexec; `mpiexec -help` lists the options"),
        (["-wdir", "/no/such", "a"], "-wdir '/no/such' is not a directory"),
        (["--timeout", "-1", "a"], "--timeout '-1' must be a positive number of seconds"),
        (["--timeout", "inf", "a"], "must be a positive number of seconds"),
    ],
)
def test_wrong_words(words, text):
    with pytest.raises(UserError) as refused:
        parse(words)
    assert text in str(refused.value)


# mpiexec and its relatives, as test suites and build systems call them.


HELLO = """
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
number = world.Get_attr(MPI.APPNUM)
sys.stdout.write(f"{world.rank}/{world.size} {number} {os.environ.get('A')} {os.environ['PMI_RANK']}\\n")
"""


def test_env_prints_a_line_for_the_shell(tmp_path, capsys):
    from lanai_sim.cli import main

    assert main(["env", str(tmp_path / "my tools")]) == 0
    assert capsys.readouterr().out == f"export PATH='{tmp_path}/my tools':$PATH\n"
    names = {path.name for path in (tmp_path / "my tools").iterdir()}
    assert names >= {"mpiexec", "mpirun", "mpicc", "mpicxx", "mpic++", "mpifort", "mpif90"}


def test_env_names_a_folder_that_cannot_be_made(tmp_path, capsys):
    from lanai_sim.cli import main

    (tmp_path / "file").write_text("")
    assert main(["env", str(tmp_path / "file")]) == 2
    assert f"cannot write the commands to '{tmp_path}/file'" in capsys.readouterr().err


def test_two_programs(call, tmp_path):
    (tmp_path / "hello.py").write_text(HELLO)
    done = call("mpiexec", "-n", "1", "python", "hello.py", ":", "-n", "2", "-env", "A", "5", "python", "hello.py")
    assert sorted(done.stdout.split("\n")) == ["", "0/3 0 None 0", "1/3 1 5 1", "2/3 1 5 2"]
    assert done.stderr == ""


PLACES = """
import os, sys
parent = open(f"/proc/{os.getppid()}/stat").read().split()[3]
sys.stdout.write(f"{len(sys.path)} {sys.path[0]} {parent if len(sys.argv) > 1 else ''}\\n")
"""


def test_several_programs_share_a_process_and_find_what_one_alone_does(call, tmp_path):
    (tmp_path / "places.py").write_text(PLACES)
    alone = call("mpiexec", "-n", "1", "python", "places.py").stdout
    both = call("mpiexec", "-n", "1", "python", "places.py", ":", "-n", "1", "python", "places.py").stdout
    assert both == alone * 2
    words = ("-n", "1", "python", "places.py", "parent")
    assert len(set(call("mpiexec", *words, ":", *words).stdout.splitlines())) == 1


def test_options_of_other_launchers_are_one_line(call):
    done = call("mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2", "true")
    assert done.stderr == "mpiexec: note: without effect here: --oversubscribe, --allow-run-as-root\n"


VARIABLES = """
import os, sys
names = ("COMM_WORLD_RANK", "COMM_WORLD_LOCAL_RANK", "COMM_WORLD_SIZE", "COMM_WORLD_LOCAL_SIZE", "UNIVERSE_SIZE")
print(*(os.environ.get(f"OMPI_{name}") for name in names))
sys.stderr.write("warning\\n")
"""


def test_open_mpis_options_bring_its_variables_and_files(call, tmp_path):
    (tmp_path / "show.py").write_text(VARIABLES)
    assert call("mpiexec", "-n", "1", "python", "show.py").stdout == "None None None None None\n"
    words = ("-n", "2", "python", "show.py")
    done = call("mpiexec", "--with-ft", "ulfm", "--output-filename", "log", *words)
    assert sorted(done.stdout.splitlines()) == ["0 0 2 2 2", "1 1 2 2 2"]
    assert (tmp_path / "log" / "1" / "rank.1" / "stdout").read_text() == "1 1 2 2 2\n"
    assert (tmp_path / "log" / "1" / "rank.0" / "stderr").read_text() == "warning\n"
    assert call("mpiexec", "--output-filename", "quiet:nocopy,nojobid", *words).stdout == ""
    assert (tmp_path / "quiet" / "rank.0" / "stdout").read_text() == "0 0 2 2 2\n"
    refused = call("mpiexec", "--output-filename", "show.py", *words, code=2).stderr
    assert "the ranks' output cannot be written to" in refused
    assert "Not a directory" in refused


def test_fault_tolerance_acts_where_there_are_nics(monkeypatch):
    for device, survives, ignored in (("mpi-np", True, []), ("ideal", False, ["--with-ft"])):
        monkeypatch.setenv("LANAI_DEVICE", device)
        asked = parse(["--with-ft", "ulfm", "-n", "2", "true"])
        assert config_of(asked).survive is survives
        assert asked.ignored == ignored


def test_the_exit_code_is_the_programs(call):
    assert "exited with code 7" in call("mpiexec", "-n", "2", "sh", "-c", "exit 7", code=7).stderr


def test_python_is_the_one_on_path(call, tmp_path):
    (tmp_path / "tools").mkdir()
    python = tmp_path / "tools" / "python"
    python.write_text("#!/bin/sh\necho another python\n")
    python.chmod(0o755)
    mpiexec = shutil.which("mpiexec", path=call("sh", "-c", "echo $PATH").stdout.strip())
    done = call(mpiexec, "-n", "1", "python", PATH=os.pathsep.join((str(tmp_path / "tools"), os.environ["PATH"])))
    assert done.stdout == "another python\n"


def test_the_device_comes_from_the_environment(call):
    refused = call("mpiexec", "-n", "1", "true", code=2, LANAI_DEVICE="nosuch")
    assert "nosuch" in refused.stderr
    done = call("mpiexec", "-n", "1", "true", LANAI_RUN="--max-wall 60 --prefix")
    assert done.stderr == ""
    assert "is not understood" in call("mpiexec", "true", code=2, LANAI_RUN="'").stderr


def test_a_test_that_hangs_ends_and_is_explained(call, tmp_path):
    (tmp_path / "hang.py").write_text("from mpi4py import MPI; w = MPI.COMM_WORLD; w.rank and w.recv(source=0)")
    done = call("mpiexec", "-n", "2", "python", "hang.py", code=3)
    assert "deadlock" in done.stderr


def test_sixty_four_ranks_need_no_slots(call, tmp_path):
    body = "from mpi4py import MPI; assert MPI.COMM_WORLD.allreduce(1) == 64"
    call("mpiexec", "-n", "64", "python", "-c", body)


def test_help_names_every_option():
    from lanai_sim.mpiexec import OPTIONS, help_text

    text = help_text()
    assert [name for name in OPTIONS if f"-{name}" not in text] == []
    assert max(map(len, text.split("\n"))) <= 110


def test_a_command_is_written_whole(tmp_path):
    folder = env.make(tmp_path)
    before = (folder / "mpicc").stat().st_ino
    env.make(tmp_path)
    assert (folder / "mpicc").stat().st_ino == before
    assert os.access(folder / "mpicc", os.X_OK)
    assert not [path for path in Path(folder).iterdir() if path.name.startswith(".")]
