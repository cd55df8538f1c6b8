"""The command itself: version, doctor, errors as one line and exit code 2, figures as JSON."""

import dataclasses
import errno
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from rich.table import Table

from lanai_firmware import cache
from lanai_host.errors import UserError
from lanai_sim import cli, commands, console
from lanai_sim.command_line import Parser
from lanai_sim.commands import doctor


def test_version_is_the_distributions(capsys):
    with pytest.raises(SystemExit) as exit_info:
        cli.main(["--version"])
    assert exit_info.value.code == 0
    assert capsys.readouterr().out.strip() == f"openlanai {version('openlanai')}"


def test_each_command_is_found_by_its_modules_name():
    for module in cli.plugins(commands):
        assert module.__name__ == f"{commands.__name__}.{module.NAME}"
        assert list(cli.plugins(commands, module.NAME)) == [module]
        others = getattr(module, "OTHERS", {})
        assert [name for name, own in commands.IN.items() if own == module.NAME] == list(others)


def test_former_names_work_and_tell_the_new_one(monkeypatch, capsys):
    parser = cli.build_parser()
    for former, now in commands.FORMER.items():
        monkeypatch.setattr("sys.argv", ["lanai", former, "--help"])
        with pytest.raises(SystemExit):
            cli.main()
        output = capsys.readouterr()
        assert output.out.startswith(f"usage: lanai {now} ")
        assert output.err == f"lanai: note: `lanai {former}` is now `lanai {now}`\n"
        assert former not in parser.commands.choices
    assert cli.main(["config", "--list", "nic.link_latency", "--json"]) == 0
    assert '"nic.link_latency"' in capsys.readouterr().out


def test_a_run_does_not_load_what_other_commands_need():
    text = "import sys; from lanai_sim.cli import build_parser; build_parser('run'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()
    assert "lanai_sim.commands.run" in loaded
    assert not {"lanai_firmware.compiler", "lanai_sim.studies.benches", "lanai_sim.commands.dev"} & set(loaded)


def doctors_table(capsys):
    """Return the output of `lanai doctor` as one text without borders and line breaks."""
    return " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_doctor_names_the_remedy_of_each_missing_part(monkeypatch, capsys):
    """With the extra's name, which stands in brackets."""
    absent = [dataclasses.replace(part, find=lambda: None) for part in doctor.PARTS]
    assert sum("[" in part.remedy for part in absent) >= 8
    for part in absent:
        monkeypatch.setattr(doctor, "PARTS", (part,))
        assert cli.main(["doctor"]) == int(part.required)
        said = doctors_table(capsys)
        assert f"{part.name} missing {part.without} {part.remedy} " in said


def test_doctor_tells_of_an_llvmlite_that_is_too_old(monkeypatch):
    monkeypatch.setattr("llvmlite.__version__", "0.44.0")
    [part] = [one for one in doctor.PARTS if "llvmlite" in one.name]
    found, why = doctor.look(part)
    assert (found, why.partition(";")[0]) == (None, "missing: llvmlite 0.44.0 is too old to compile with")


def broken(tmp_path, name):
    program = tmp_path / name
    program.write_text("#!/bin/sh\necho cannot execute the compiler proper >&2\nexit 1\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("part", "variable"), [("C compiler", "CC"), ("C++ compiler", "CXX"), ("Fortran with MPI", "FC")]
)
def test_doctor_tries_the_compiler_that_would_be_used(part, variable, monkeypatch, capsys, tmp_path):
    """One that is there and cannot compile is missing."""
    monkeypatch.setattr(doctor, "PARTS", tuple(one for one in doctor.PARTS if one.name == part))
    monkeypatch.setenv(variable, broken(tmp_path, "compiler"))
    cli.main(["doctor"])
    said = doctors_table(capsys)
    assert "missing: compiling a" in said
    assert "cannot execute the compiler proper" in said


def test_doctor_knows_a_fortran_compiler_without_mpi(monkeypatch, capsys, tmp_path):
    """gfortran alone is not enough for `lanai mpifort`."""
    program = tmp_path / "gfortran"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    monkeypatch.setenv("FC", str(program))
    monkeypatch.setattr(doctor.wrappers, "_LIBRARIES", ())
    monkeypatch.setattr(doctor, "PARTS", tuple(one for one in doctor.PARTS if one.name == "Fortran with MPI"))
    assert cli.main(["doctor"]) == 0
    assert "missing: libmpichfort.so was not found" in doctors_table(capsys)


def test_doctor_says_whether_what_a_wheel_brought_fits(monkeypatch, tmp_path):
    [part] = [one for one in doctor.PARTS if one.name == "compiled parts"]
    monkeypatch.setattr(doctor.cache, "SHIPPED", tmp_path / "none")
    assert doctor.look(part) == (None, "missing")
    monkeypatch.setattr(doctor.cache, "SHIPPED", tmp_path)
    monkeypatch.setattr(doctor.compilers, "level", lambda: "x86-64-v3")
    (tmp_path / "gates" / "ab" / "abcd").mkdir(parents=True)
    assert doctor.look(part)[0] == f"1 compiled parts in {tmp_path}"
    monkeypatch.setattr(doctor.compilers, "level", lambda: "flags: fpu")
    why = "missing: its models are for processors of x86-64-v3, which this one is not"
    assert doctor.look(part) == (None, why)


def test_doctor_is_content_here():
    assert cli.main(["doctor"]) == 0


def test_the_command_alone_prints_its_help(capsys):
    assert cli.main([]) == 0
    assert "run an MPI program on N simulated NICs" in capsys.readouterr().out


def shown(words, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(words.split())
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["run", "queues"])
def test_the_help_of_a_run_fits_a_screen_and_all_of_it_can_be_asked_for(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    short, whole = (shown(f"{command} {words}", capsys) for words in ("--help", "-h all"))
    assert len(short.splitlines()) <= 24
    assert max(map(len, short.splitlines())) <= 80
    assert "-n N, --ranks N" in short
    assert "--checkpoint" not in short
    assert f"`lanai {command} --help all` shows" in short
    assert "--checkpoint every=TIME" in whole
    assert "--help all" not in shown("trace report --help", capsys)


def test_user_error_is_one_line_and_exit_two(monkeypatch, capsys):
    def fail(args):
        raise UserError("value 'x' is wrong; write 'y'")

    monkeypatch.setattr(doctor, "run", fail)
    assert cli.main(["doctor"]) == 2
    assert capsys.readouterr().err == "lanai: error: value 'x' is wrong; write 'y'\n"


def test_a_shell_completes_commands_options_and_choices():
    pytest.importorskip("shtab", reason="pip install 'openlanai[completion]'")
    words = [("lanai", "trac"), ("lanai", "run", "--tr"), ("lanai", "run", "--device", "mp")]
    asked = [
        f'COMP_WORDS=({" ".join(line)}); COMP_CWORD={len(line) - 1}; _shtab_lanai; echo "${{COMPREPLY[@]}}"'
        for line in words
    ]
    script = subprocess.run(
        [sys.executable, "-m", "lanai_sim", "--completion", "bash"], capture_output=True, text=True, check=True
    ).stdout
    done = subprocess.run(["bash", "-c", "\n".join([script, *asked])], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["trace", "--trace", "mpi-np"]


def test_completion_says_what_it_needs(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["--completion", "zsh"]) == 2
    assert "pip install 'openlanai[completion]'" in capsys.readouterr().err
    assert cli.main(["--completion", "fish"]) == 2
    assert "choose one of bash, zsh, tcsh" in capsys.readouterr().err


def test_a_full_disk_leaves_no_half_a_file(tmp_path):
    """No file may grow beyond 4 kB, which is how a full disk looks."""
    body = (
        "import resource, sys\n"
        "from lanai_sim import cli, figures\n"
        "from lanai_sim.commands import doctor\n"
        "doctor.run = lambda args: figures.write_json('f.json', {str(n): n for n in range(1000)}, {})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "sys.exit(cli.main(['doctor']))\n"
    )
    (tmp_path / "f.json").write_text("old")
    done = subprocess.run(
        [sys.executable, "-B", "-c", body], capture_output=True, text=True, cwd=tmp_path, check=False
    )  # -B: bytecode that is cut at the limit would stay in the cache of all tests
    assert done.returncode == 2
    assert done.stderr == (
        "lanai: error: cannot write the figures 'f.json': File too large; make room, or name a file elsewhere\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["f.json"]
    assert (tmp_path / "f.json").read_text() == "old"


def test_a_file_that_cannot_be_written_is_told_before_the_run(tmp_path, capsys):
    path, ran = tmp_path / "none" / "figures.json", tmp_path / "ran"
    assert cli.main(["run", "--json", str(path), "touch", str(ran)]) == 2
    told = f"cannot write --json '{path}': No such file or directory; name a writable file"
    assert capsys.readouterr().err == f"lanai: error: {told}\n"
    assert not ran.exists()


def test_a_full_standard_output_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lanai_sim", "list", "systems"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(
        "lanai: error: cannot write: No space left on device; make room where the output goes, "
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("folder", ["commands", "report", "trace", "waves"])
def test_what_a_user_asks_for_is_written_whole(folder):
    """Through `output_file`: nothing is written in its place. A compiler is tried in a folder of its own, and a
    script gets its mode before it is there."""
    places = Path(cli.__file__).with_name(folder)
    found = {path.name for path in places.rglob("*.py") if re.search(r"\.write_(text|bytes)\(", path.read_text())}
    assert found - {"doctor.py", "env.py"} == set()


def test_all_output_goes_through_one_console():
    """The one console leaves square brackets alone."""
    sources = Path(cli.__file__).parent
    makers = [
        path.name
        for path in sources.rglob("*.py")
        if re.search(r"\b_?Console\(m|\bConsole\(\)|markup=True", path.read_text())
    ]
    assert makers == ["console.py"]


@pytest.mark.parametrize("make", [console.plain, console.wide])
def test_brackets_and_colons_come_out_as_they_are(make, capsys):
    text = "pip install 'openlanai[formal]' [/x] [bold]:smile: {0}"
    table = Table(text, title=text)
    table.add_row(text)
    shown = make()
    shown.width = 200
    shown.print(text)
    shown.print(table)
    assert capsys.readouterr().out.count(text) == 4


def test_a_reader_that_goes_away_stops_no_work(tmp_path):
    """`lanai ... | head -1`: what was to be written is written, and nothing is said."""
    body = (
        "from lanai_sim import commands, console, cli\n"
        "def run(args):\n"
        "    shown = console.wide()\n"
        "    for number in range(20000): shown.print(f'line {number}')\n"
        "    open('page', 'w').write('whole')\n"
        "from lanai_sim.commands import doctor\n"
        "doctor.run = run\n"
        "raise SystemExit(cli.main(['doctor']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", body], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout.readline() == "line 0\n"
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == ""
    process.stderr.close()
    assert (tmp_path / "page").read_text() == "whole"


def test_a_limit_on_the_size_of_files_is_named(capsys):
    def write():
        raise OSError(errno.EFBIG, "File too large", "out.json")

    assert cli.guarded("lanai", write) == 2
    assert capsys.readouterr().err == "lanai: error: cannot write 'out.json': File too large; raise `ulimit -f`\n"


def test_a_cache_that_may_not_be_removed_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path))
    cache.build("ab" * 32, "thing", lambda: b"content")

    def refuse(path, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    assert cli.main(["cache", "prune", "--to", "0"]) == 2
    told = capsys.readouterr()
    assert told.out == "removed 0 entries, 0.0 MB\n"
    assert re.match("lanai: error: 1 entry of .* cannot be removed by this user", told.err)


@pytest.mark.parametrize("program", ["{program}", "-m lanai_sim.version", "-c pass"])
def test_a_program_runs_in_a_directory_that_was_removed(program, tmp_path):
    file, gone = tmp_path / "program.py", tmp_path / "gone"
    file.write_text("pass\n")
    gone.mkdir()
    words = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", "1", "python", *program.format(program=file).split()]
    leave = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); os.execv({words[0]!r}, {words!r})"
    done = subprocess.run([sys.executable, "-c", leave], stderr=subprocess.PIPE, text=True, check=False, timeout=500)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_that_needs_a_directory_that_was_removed_is_one_line(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert cli.guarded("lanai", Path.cwd) == 2
    assert capsys.readouterr().err == "lanai: error: the working directory was removed; change to one that is there\n"


def test_the_package_is_the_command():
    done = subprocess.run([sys.executable, "-m", "lanai_sim", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"openlanai {version('openlanai')}\n"
    for path in [*Path(cli.__file__).parent.rglob("*.py"), *Path(__file__).parents[1].rglob("*.py")]:
        if path != Path(__file__) and path.name != "test_mpicc.py":
            assert '"import sys; from lanai_sim.cli import main' not in path.read_text(), path


def test_help_shows_each_command_once_by_what_a_person_wants(capsys):
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert capsys.readouterr().out == shown
    rows = [row for rows in commands.GROUPS.values() for row in rows]
    known = cli.build_parser().commands.choices
    assert sorted(name for row in rows for name in row.split()) == sorted(known)
    lines = shown.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert [row for row in rows if f"  {row} " not in shown] == []


def test_help_shows_commands_that_are_in_no_group():
    parser = Parser(prog="lanai", groups={"run": {"run": ""}})
    found = parser.add_subparsers(dest="command")
    for name in ("run", "yours"):
        found.add_parser(name, help=f"the command {name}")
    assert parser.format_groups().splitlines()[-2:] == ["more:", f"  {'yours':30}the command yours"]
