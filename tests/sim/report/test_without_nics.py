"""The report of a run on `ideal`: no columns for parts of a NIC, and rows that still sum."""

import sys
from pathlib import Path

import pytest

from lanai_sim.cli import main
from openlanai import Job


def test_a_machine_without_nics_has_no_columns_for_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.sendrecv(0, dest=1 - w.rank, source=1 - w.rank)"
    assert Job((sys.executable, "-c", program), 2, "ideal", trace=str(tmp_path / "t")).run().code == 0
    assert main(["report", str(tmp_path / "t")]) == 0
    shown = capsys.readouterr().out
    assert "PIO" not in shown
    assert "LBUS" not in shown
    lines = shown.splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("rank "))
    assert lines[head].split() == ["rank", "total", "program", "host", "wire", "waiting", "for", "peer"]
    for line in lines[head + 1 : head + 3]:
        total, *parts = (float(cell.replace("·", "0")) for cell in line.split()[1:])
        assert sum(parts) == pytest.approx(total, abs=0.003)
        assert total > 0
