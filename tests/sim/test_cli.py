"""The command itself: version, doctor, errors as one line and exit code 2, figures as JSON."""

import json
import subprocess
import sys
from importlib.metadata import version

import pytest

from lanai_host.errors import UserError
from lanai_sim import cli, commands, figures
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


def test_a_run_does_not_load_what_other_commands_need():
    text = "import sys; from lanai_sim.cli import build_parser; build_parser('run'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()
    assert "lanai_sim.commands.run" in loaded
    assert not {"lanai_firmware.compiler", "lanai_sim.benches", "lanai_sim.commands.bench"} & set(loaded)


def test_doctor_names_the_remedy_of_a_missing_part(monkeypatch, capsys):
    absent = doctor.Part("a part", lambda: None, "nothing works", "pip install it", required=True)
    monkeypatch.setattr(doctor, "PARTS", (absent,))
    assert cli.main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "missing" in out
    assert "pip install it" in out


def test_doctor_is_content_here():
    assert cli.main(["doctor"]) == 0


def test_unknown_command_is_refused(capsys):
    with pytest.raises(SystemExit) as exit_info:
        cli.main(["no-such-command"])
    assert exit_info.value.code == 2
    assert "no-such-command" in capsys.readouterr().err


def test_user_error_is_one_line_and_exit_two(monkeypatch, capsys):
    def fail(args):
        raise UserError("value 'x' is wrong; write 'y'")

    monkeypatch.setattr(doctor, "run", fail)
    assert cli.main(["doctor"]) == 2
    assert capsys.readouterr().err == "lanai: error: value 'x' is wrong; write 'y'\n"


def test_figures_are_sorted_and_versioned(tmp_path):
    path = tmp_path / "figures.json"
    figures.write_json(path, {"b.two": 2, "a.one": 1.5}, {"size": 4})
    record = json.loads(path.read_text())
    assert list(record["figures"]) == ["a.one", "b.two"]
    assert record["config"] == {"size": 4}
    assert record["version"] == version("openlanai")


def test_unwritable_figures_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"missing/figures\.json"):
        figures.write_json(tmp_path / "missing" / "figures.json", {}, {})
