"""Every slow test belongs to exactly one group that can be run on its own, and `pytest --markers` lists them."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import warm
from slow_groups import GROUPS, INSTANCES, PARTS, SEEDS, Group, group_of, left_to_hand

TESTS = Path(__file__).parent
PROJECT = TESTS.parent


def test_each_place_of_a_group_has_slow_tests():
    for group in GROUPS.values():
        for place in group.places:
            path = TESTS / place
            files = [path] if path.is_file() else sorted(path.rglob("*.py"))
            assert any("mark.slow" in file.read_text() for file in files), place


def test_a_file_that_no_group_names_is_told():
    with pytest.raises(ValueError, match=r"tests/new/test_new\.py belong to 0 groups .*slow_groups\.py"):
        group_of("new/test_new.py", ["slow"])


def test_a_file_that_two_groups_name_is_told(monkeypatch):
    monkeypatch.setitem(GROUPS, "slow_other", Group("the same again", ("host",)))
    with pytest.raises(ValueError, match=r"2 groups \['slow_mpi', 'slow_other'\]"):
        group_of("host/abi/test_bad_input.py", ["slow"])


def test_the_group_that_names_a_file_most_closely_has_it():
    assert group_of("sim/corebench/test_lockstep.py", ["slow"]) == "slow_gateware"
    assert group_of("sim/corebench/test_firmware_ways.py", ["slow"]) == "slow_firmware"
    assert group_of("sim/job/tracing/test_traced_run.py", ["slow"]) == "slow_studies"


def test_benches_and_proofs_are_one_group_wherever_they_are():
    assert group_of("sim/engines/test_rtl.py", ["slow", "bench"]) == "slow_benches"
    assert group_of("sim/engines/test_rtl.py", ["slow"]) == "slow_gateware"


def test_what_is_too_slow_for_ci_has_the_group_of_its_place():
    assert group_of("sim/engines/test_rtl.py", ["slow", "bench", "by_hand"]) == "slow_gateware"
    assert group_of("host/traffic/test_traffic.py", ["slow", "ci", "by_hand"], 3) == "slow_traffic_1"


def test_what_ci_runs_besides_is_one_group():
    assert group_of("sim/engines/test_rtl.py", ["slow", "ci"]) == "slow_ci"
    assert group_of("host/traffic/test_traffic.py", ["slow", "ci"], 3) == "slow_ci"


@pytest.mark.ci
def test_a_test_for_ci_is_slow(request):
    assert {"slow", "slow_ci"} <= {mark.name for mark in request.node.iter_markers()}


@pytest.mark.parametrize("count", sorted({1, INSTANCES, INSTANCES + 1, 161}))
def test_of_many_instances_ci_runs_some_spread_evenly(count):
    tests = ["one"] * count + ["other"] * INSTANCES
    run = sorted(set(range(len(tests))) - left_to_hand(tests))
    assert run[-INSTANCES:] == list(range(count, count + INSTANCES))
    assert len(run) == min(count, INSTANCES) + INSTANCES
    assert run[0] == 0
    gaps = [later - earlier for earlier, later in pairwise(run[:-INSTANCES])]
    assert all(count // INSTANCES <= gap <= count // INSTANCES + 1 for gap in gaps if count > INSTANCES)


def test_the_others_have_the_group_of_their_place():
    file = "tests/sim/job/test_continuations.py"
    in_ci, by_hand = collected(file, "slow_ci"), collected(file, "slow_faults")
    name = f"{file}::test_the_engine_does_what_python_would["
    assert len([one for one in in_ci if one.startswith(name)]) == INSTANCES
    assert len([one for one in by_hand if one.startswith(name)]) > INSTANCES
    assert in_ci.isdisjoint(by_hand)


def collected(file, group):
    """The names of a file's tests in a group."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", group, file]
    found = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=300, check=True)
    return {line for line in found.stdout.splitlines() if line.startswith(file)}


def test_random_traffic_is_parted_by_seeds():
    parts = [group_of("host/traffic/test_traffic.py", ["slow"], seed) for seed in range(1, SEEDS * PARTS + 1)]
    assert parts == [f"slow_traffic_{part}" for part in range(1, PARTS + 1) for _ in range(SEEDS)]


def test_collection_gives_a_slow_test_its_group(request):
    """This test is not slow and has no group: conftest.py marks tests when it collects."""
    assert not [mark.name for mark in request.node.iter_markers() if mark.name in GROUPS]
    registered = "\n".join(request.config.getini("markers"))
    assert all(f"{name}: " in registered for name in GROUPS)


def test_readme_and_ci_run_the_tests_by_one_command():
    command = "-m pytest -n 2 --dist worksteal\n"
    assert command in (PROJECT / "README.md").read_text()
    checks = (PROJECT / ".ci" / "run").read_text()
    assert f'check tests "$bin/python" {command}' in checks
    assert "-m 'slow_benches or slow_ci'\n" in checks
    named = re.findall(r"tests/\S+\.py", checks)
    assert named
    assert [name for name in named if not (PROJECT / name).exists()] == []


# `warm.lanai` is the command `lanai`, of a process that is there already.


SHOW = """
import os, sys
print(sys.argv[1:], os.environ["OF_A_TEST"], os.getcwd(), os.environ.get("GONE"), sys.stdin.read())
print("also", file=sys.stderr)
sys.exit(3)
"""
COMMAND = ("run", "--quiet", sys.executable, "-c", SHOW, "a", "b c")


def test_it_prints_what_the_command_prints(monkeypatch, tmp_path):
    monkeypatch.setenv("GONE", "yes")
    assert "yes" in warm.lanai(*COMMAND[:4], SHOW.replace("OF_A_TEST", "GONE"), timeout=500).stdout
    monkeypatch.delenv("GONE")
    monkeypatch.setenv("OF_A_TEST", "this one")
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "lanai_sim", *COMMAND]
    plain = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=500)
    found = warm.lanai(*COMMAND, timeout=500)
    assert (found.args, found.returncode, found.stdout) == (plain.args, plain.returncode, plain.stdout)
    assert found.stdout.startswith(f"['a', 'b c'] this one {tmp_path} None")
    assert re.sub(r"pid \d+", "pid", found.stderr) == re.sub(r"pid \d+", "pid", plain.stderr)
    assert found.stderr.startswith("also\n")
    assert found.returncode == 3


def test_wrong_arguments_end_as_the_commands_do():
    found = warm.lanai("run", "--device", "none such", "true", timeout=500)
    assert found.returncode == 2
    assert "'none such'" in found.stderr


def test_what_takes_too_long_is_killed():
    sleeping = ("run", "--quiet", sys.executable, "-c", "import time; time.sleep(1000)")
    with pytest.raises(subprocess.TimeoutExpired, match=r"timed out after 0\.1 seconds"):
        warm.lanai(*sleeping, timeout=0.1)
    assert warm.lanai("run", "--quiet", "true", timeout=500).returncode == 0


def test_all_is_imported_anew_if_the_environment_adds_packages(monkeypatch, tmp_path):
    (tmp_path / "stacks" / "of_a_test").mkdir(parents=True)
    monkeypatch.setenv("LANAI_PATH", str(tmp_path))
    monkeypatch.setattr(warm, "_server", None)
    found = warm.lanai("run", "--device", "of-a-tset", "true", timeout=500)
    assert found.returncode == 2
    assert os.environ["LANAI_PATH"] == str(tmp_path)
