"""The NIC's pages: their code runs, and what they name is there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_hdl.bfm.verilated import missing

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
FIGURES = Path(__file__).parents[2] / "figures"
BLOCKS = re.findall(r"```python\n(.*?)```", (REFERENCE / "benches.md").read_text(), re.DOTALL)
FILES = {match[1]: block for block in BLOCKS if (match := re.match(r"# (\w+\.py)\n", block))}
SCRIPTS = [block for block in BLOCKS if block not in FILES.values()]


@pytest.mark.parametrize("block", SCRIPTS, ids=lambda block: f"{len(block)} characters")
def test_the_code_on_the_page_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "benches.md", "exec"), {})


@pytest.mark.bench
@pytest.mark.slow
def test_the_cocotb_bench_on_the_page_runs_in_an_empty_directory(tmp_path):
    if lacking := missing():
        pytest.skip(lacking)
    for name, block in FILES.items():
        (tmp_path / name).write_text(block)
    # As a user has it: no path of this repository but where the packages are found.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    for words, said in {
        ("run.py",): "1 test passed\n",
        ("-m", "pytest", "-q", "test_echo.py"): "1 (passed|skipped) in",
    }.items():
        command = [sys.executable, *words]
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
        assert re.search(said, run.stdout)


def test_the_figures_on_the_page_are_those_on_record():
    record = {
        name: value
        for file in ("nic", "core")
        for name, value in json.loads((FIGURES / f"{file}.json").read_text()).items()
    }
    rows = re.findall(r"^\| `((?:nic|core)\.\S+)` \| ([\d.,]+) \|", (REFERENCE / "nic.md").read_text(), re.MULTILINE)
    assert len(rows) > 8
    assert {name: float(value.replace(",", "")) for name, value in rows} == {name: record[name] for name, _ in rows}


def test_the_tests_that_the_page_names_are_there():
    names = set(re.findall(r"`((?:[a-z_]+/)+(?:\w+\.py)?)`", (REFERENCE / "nic.md").read_text()))
    assert len(names) > 20
    tests = Path(__file__).parents[2]
    missing_files = [name for name in names if not any((tests / room / name).exists() for room in ("hdl", ".."))]
    assert missing_files == []
