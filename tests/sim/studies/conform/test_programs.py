"""`lanai dev conform programs`: programs on a device beside real MPICH."""

import subprocess
import sys
from dataclasses import replace

import pytest

from lanai_host.errors import UserError
from lanai_sim.studies.conform import command as conform
from lanai_sim.studies.conform import jobs, program_runs, programs, suite
from lanai_sim.studies.conform import programs as demos
from lanai_sim.studies.conform.program_runs import Run, Verdict
from lanai_sim.studies.conform.programs import PROGRAMS, Program

SUM = "from mpi4py import MPI; print('sum', MPI.COMM_WORLD.allreduce(1), flush=True)"
ONE = Program("a sum", "mpi4py", "mpi4py", ("-c", SUM), r"^sum ")
ABSENT = Program("nothing", "pip install a-package", "no_such_module", (), ".")


def verdict(here, there, trouble=""):
    return Verdict(ONE, Run(here, 1.0, {"run.simulated_us": 2500.0}, trouble), Run(there, 2.0, {}))


def test_results_are_compared():
    assert verdict(("sum 2",), ("sum 2",)).text() == "same result as MPICH"
    other = verdict(("sum 2",), ("sum 3",))
    assert "another result" in other.text()
    failed = verdict((), ("sum 2",), "exit code 1: no")
    assert "fails**: exit code 1: no" in failed.text()
    assert [one.good for one in (verdict(("a",), ("a",)), other, failed, Verdict(ABSENT))] == [True, False, False, True]


def test_the_page_has_a_row_for_each():
    found = [verdict(("sum 2",), ("sum 2",)), Verdict(ABSENT)]
    text = program_runs.page(found, "ideal", 2, "lanai dev conform programs", {"d": "e"})
    assert "## Left out\n\n- d: e\n\n## Results" in text
    assert "| a sum | 2.500 | 1.0 | 2.0 | same result as MPICH |" in text
    assert "| nothing | | | | not installed: pip install a-package |" in text
    assert "```\nsum 2\n```" in text


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "ImportError: /home/me/.cache/libmpi.so.12: undefined symbol: x",
            "ImportError: libmpi.so.12: undefined",
        ),
        ("cannot open '/usr/lib/a b.so'", "cannot open 'a b.so'"),
        ("a/b per second, 3 / 4", "a/b per second, 3 / 4"),
        ("(see /etc/hosts)", "(see hosts)"),
    ],
)
def test_a_page_names_no_folder_of_this_machine(said, shown):
    assert program_runs.without_folders(said).startswith(shown)


def test_a_program_runs_here_and_on_mpich(monkeypatch):
    """MPICH's mpiexec is replaced: what is held here is how both are started and read."""
    files = jobs.mpich_files()
    started = []

    def run(command, **options):
        started.append(command)
        return subprocess.CompletedProcess(command, 0, "noise\nsum 2\nsum 2\n", "")

    monkeypatch.setattr(program_runs.subprocess, "run", run)
    (found,) = program_runs.run([ONE], "ideal", 2, 60)
    assert found.text() == "same result as MPICH"
    assert found.here.result == ("sum 2", "sum 2")
    assert started[0][1:4] == ["-m", "lanai_sim", "run"]
    assert started[1] == [str(files[0]), "-n", "2", sys.executable, "-c", SUM]


def test_of_a_line_only_its_groups_are_kept(monkeypatch):
    """Times and counts of repetitions differ from run to run."""
    program = Program("sizes", "mpi4py", "mpi4py", ("-c", SUM), r"^(\d+ bytes).* (passed)$")
    found = subprocess.CompletedProcess([], 0, "8 bytes 17 times passed\n9 bytes failed\n", "")
    monkeypatch.setattr(program_runs.subprocess, "run", lambda command, **options: found)
    (verdict,) = program_runs.run([program], "ideal", 2, 60)
    assert verdict.here.result == ("8 bytes passed",)


def test_lines_of_lammps_are_kept_whole(monkeypatch):
    line = "         5   2.8524045     -6.5531182      0             -2.2912248     -2.4844923"
    program = replace(ONE, kept=PROGRAMS[0].kept)
    found = subprocess.CompletedProcess([], 0, f"{line}\n", "")
    monkeypatch.setattr(program_runs.subprocess, "run", lambda command, **options: found)
    (verdict,) = program_runs.run([program], "ideal", 2, 60)
    assert verdict.here.result == (line,)


def test_programs_of_debian_are_found_by_their_binary(tmp_path, monkeypatch):
    program = Program("it", "apt install it", "", ("a",), ".", binary="no-such-binary", files=("scalapack/LU.dat",))
    assert program.missing() == ["no-such-binary"]
    assert Verdict(program).text() == "not installed: apt install it"
    there = tmp_path / "no-such-binary"
    there.write_text("#!/bin/sh\n")
    there.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not program.missing()
    assert program.command() == [str(there), "a"]
    assert replace(program, library="no/such/*.so").missing() == ["no/such/*.so"]
    assert not replace(program, binary="", library=f"{str(tmp_path)[1:]}/no-such-*").missing()


def test_inputs_are_there():
    for program in PROGRAMS:
        assert all((programs.INPUTS / name).is_file() for name in program.files)
        for word in program.arguments:
            if "{inputs}" in word:
                assert programs.Path(word.format(inputs=programs.INPUTS)).is_file()


def test_ranks_may_share_a_line_and_print_in_any_order(monkeypatch):
    program = replace(ONE, kept=r"(rank \d)", any_order=True)
    found = subprocess.CompletedProcess([], 0, "rank 1 of 3 rank 0 of 3\nrank 2\n", "")
    monkeypatch.setattr(program_runs.subprocess, "run", lambda command, **options: found)
    (verdict,) = program_runs.run([program], "ideal", 2, 60)
    assert verdict.here.result == ("rank 0", "rank 1", "rank 2")


def test_a_program_has_its_own_ranks_spares_input_and_folder(tmp_path, monkeypatch):
    started = []

    def run(command, **options):
        started.append((command, options.get("input"), sorted(path.name for path in options["cwd"].iterdir())))
        return subprocess.CompletedProcess(command, 0, "", "")

    (tmp_path / "part").write_text("")
    own = {"ranks": 3, "spares": 2, "typed": "100\n", "folder": tmp_path, "before": (("make", "it"),)}
    program = replace(ONE, silent=True, **own)
    monkeypatch.setattr(program_runs.subprocess, "run", run)
    (found,) = program_runs.run([program], "ideal", 2, 60)
    assert found.good
    assert not found.here.trouble
    (made, ours, theirs) = started
    assert made[0] == ("make", "it")
    assert ours[0][ours[0].index("-n") + 1] == "3"
    assert ours[0][ours[0].index("--universe") + 1] == "5"
    assert ours[1:] == ("100\n", ["part"])
    assert theirs[0][1:3] == ["-n", "3"]
    (failed,) = program_runs.run([replace(program, silent=False)], "ideal", 2, 60)
    assert failed.text() == "**fails**: exit code 0"


def test_demos_are_there():
    known = demos.demos(suite.demos())
    assert len({demo.name for demo in known}) == len(known) > 60
    for demo in known:
        assert demo.folder
        assert demo.folder.is_dir()
        assert all((demo.folder / word).is_file() for word in demo.arguments if word.endswith(".py")), demo.name


def test_demos_have_a_page_of_their_own():
    demo = replace(ONE, name="a|b", ranks=5)
    found = Verdict(demo, Run(("sum 5",), 1.0, {"run.simulated_us": 2500.0}), Run(("sum 5",), 2.0, {}))
    text = program_runs.page_of_demos(
        [found, replace(found, program=replace(demo, name="c"))], "ideal", "x", {"d": "e"}
    )
    assert "real MPICH: 2 of 2 are the same" in text
    assert "| demo | ranks | simulated ms | CPU s | MPICH CPU s | verdict |\n|---|---:|---:|---:|---:|---|\n" in text
    assert "| a\\|b | 5 | 2.500 | 1.0 | 2.0 | same result as MPICH |" in text
    assert text.endswith("## Left out\n\n- d: e\n")


def test_programs_are_chosen_by_pattern():
    assert conform._chosen([ONE, ABSENT], []) == [ONE, ABSENT]
    assert conform._chosen([ONE, ABSENT], ["a*"]) == [ONE]
    with pytest.raises(UserError, match="no program is named 'x'; there are a sum, nothing"):
        conform._chosen([ONE, ABSENT], ["x"])


@pytest.mark.slow
def test_demos_of_mpi4py_give_the_results_of_mpich():
    for found in program_runs.run(demos.demos(suite.demos()), "ideal", 2, 600):
        assert found.good, f"{found.program.name}: {found.text()}"


@pytest.mark.slow
@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_programs_that_are_installed_give_the_results_of_mpich(device):
    for found in program_runs.run(PROGRAMS, device, 2, 600):
        assert found.good, f"{found.program.name}: {found.text()}"
