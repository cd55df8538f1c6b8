"""`warm.lanai` is the command `lanai`, of a process that is there already."""

import os
import re
import subprocess
import sys

import pytest
import warm

SHOW = """
import os, sys
print(sys.argv[1:], os.environ["OF_A_TEST"], os.getcwd(), os.environ.get("GONE"), sys.stdin.read())
print("also", file=sys.stderr)
sys.exit(3)
"""
COMMAND = ("run", "--quiet", sys.executable, "-c", SHOW, "a", "b c")


def test_it_prints_what_the_command_prints(monkeypatch, tmp_path):
    monkeypatch.setenv("GONE", "yes")
    assert "yes" in warm.lanai(*COMMAND[:4], SHOW.replace("OF_A_TEST", "GONE"), timeout=100).stdout
    monkeypatch.delenv("GONE")
    monkeypatch.setenv("OF_A_TEST", "this one")
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "lanai_sim", *COMMAND]
    plain = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=100)
    found = warm.lanai(*COMMAND, timeout=100)
    assert (found.args, found.returncode, found.stdout) == (plain.args, plain.returncode, plain.stdout)
    assert found.stdout.startswith(f"['a', 'b c'] this one {tmp_path} None")
    assert re.sub(r"pid \d+", "pid", found.stderr) == re.sub(r"pid \d+", "pid", plain.stderr)
    assert found.stderr.startswith("also\n")
    assert found.returncode == 3


def test_wrong_arguments_end_as_the_commands_do():
    found = warm.lanai("run", "--device", "none such", "true", timeout=100)
    assert found.returncode == 2
    assert "'none such'" in found.stderr


def test_what_takes_too_long_is_killed():
    sleeping = ("run", "--quiet", sys.executable, "-c", "import time; time.sleep(1000)")
    with pytest.raises(subprocess.TimeoutExpired, match=r"timed out after 0\.1 seconds"):
        warm.lanai(*sleeping, timeout=0.1)
    assert warm.lanai("run", "--quiet", "true", timeout=100).returncode == 0


def test_all_is_imported_anew_if_the_environment_adds_packages(monkeypatch, tmp_path):
    (tmp_path / "stacks" / "of_a_test").mkdir(parents=True)
    monkeypatch.setenv("LANAI_PATH", str(tmp_path))
    monkeypatch.setattr(warm, "_server", None)
    found = warm.lanai("run", "--device", "of-a-tset", "true", timeout=100)
    assert found.returncode == 2
    assert os.environ["LANAI_PATH"] == str(tmp_path)
