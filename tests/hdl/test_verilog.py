"""Verilog for event simulators: a process that reads nothing still runs."""

import shutil
import subprocess

import pytest

from lanai_hdl import verilog

WRITTEN = """\
module top(o, i);
  input i;
  output [5:0] o;
  reg [5:0] o;
  always @*
    o[0] = 1'h1;
  always @*
    o[4:1] = 4'ha;
  always @*
    o[5] = i;
endmodule
"""
BENCH = 'module bench; wire [5:0] o; top top(o, 1\'b1); initial #1 $display("%b", o); endmodule\n'


@pytest.fixture
def text(monkeypatch):
    monkeypatch.setattr(verilog, "by_yosys", lambda *_, **__: WRITTEN)
    return verilog.convert(None)


def test_a_constant_part_of_a_signal_is_assigned_by_a_process_that_reads(text):
    assert text.count("always @* begin") == 2
    assert "  always @*\n    o[5] = i;\n" in text
    assert text.count("<= 0; // after all processes wait") == 2


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
def test_icarus_gives_such_a_part_its_value(text, tmp_path):
    (tmp_path / "top.v").write_text(text + BENCH)
    command = ["iverilog", "-g2012", "-Wall", "-s", "bench", "-o", "bench", "top.v"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    ran = subprocess.run(["vvp", "bench"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "sensitivities" not in built.stderr
    assert ran.stdout.split() == ["110101"]
