"""`lanai build`: what the tools' reports are turned into, what cannot be built; with `slow`, the tools themselves."""

import dataclasses

import pytest

from lanai_hdl.boards import find
from lanai_host.errors import UserError
from lanai_sim import bitstream
from lanai_sim.bitstream import Block, area_by_block, block_of, build, synthesize
from lanai_sim.cli import main

BOARD = find("ulx3s-85f")


@pytest.mark.parametrize(
    ("cell", "block"),
    [
        ("top.nic.send_dma.piece_TRELLIS_FF_Q_15", "send_dma"),
        ("top.nic.control$538.run_LUT4", "control"),
        ("top.nic.host_bus.master.state_LUT4", "host_bus"),
        ("top.bridge.gather.count_LUT4", "bridge"),
        ("top.nic.idle_TRELLIS_FF_Q", "nic"),
        ("clock.pll", "pins"),
        ("$nextpnr_CCU2C_29$CCU2_COMB0", "pins"),
    ],
)
def test_a_cell_belongs_to_the_block_that_its_name_tells(cell, block):
    assert block_of(cell) == block


def test_area_counts_carries_and_distributed_memory_as_luts():
    cells = {
        "top.nic.sram.memory.0.0": "DP16KD",
        "top.nic.sram.a_LUT4": "LUT4",
        "top.nic.counters.a_CCU2C": "CCU2C",
        "top.nic.counters.a_FF": "TRELLIS_FF",
        "top.nic.send_dma.storage": "TRELLIS_DPR16X4",
        "top.nic.send_dma.mux": "PFUMX",
    }
    netlist = {"modules": {"top": {"cells": {name: {"type": kind} for name, kind in cells.items()}}}}
    assert area_by_block(netlist) == (
        Block("top", luts=7, ffs=1, brams=1, multipliers=0),
        Block("send_dma", luts=4, ffs=0, brams=0, multipliers=0),
        Block("counters", luts=2, ffs=1, brams=0, multipliers=0),
        Block("sram", luts=1, ffs=0, brams=1, multipliers=0),
    )


def test_critical_path_is_the_longest_within_the_slot_clock_by_block():
    def hop(kind, cell, delay):
        return {"type": kind, "delay": delay, "to": {"cell": cell}}

    short = [hop("clk-to-q", "top.nic.lbus.a", 1.0)]
    long = [
        hop("clk-to-q", "top.nic.send_dma.a", 0.5),
        hop("routing", "$nextpnr_carry", 1.0),
        hop("logic", "top.nic.send_dma.b", 0.25),
        hop("routing", "top.nic.sram.c", 2.0),
    ]
    other = [hop("clk-to-q", "top.bridge.a", 99.0)]
    paths = [("clock", "clock", short), ("clock", "clock", long), ("clock", "<async>", other)]
    timing = {"critical_paths": [{"from": start, "to": end, "path": path} for start, end, path in paths]}
    assert bitstream._critical_path(timing) == (
        "  0.75 ns in cells,   1.00 ns in wires: send_dma",
        "  0.00 ns in cells,   2.00 ns in wires: sram",
    )


def test_a_design_that_does_not_fit_is_told_before_place_and_route(monkeypatch):
    monkeypatch.setitem(bitstream.CAPACITY, "LFE5U-85F", Block("capacity", 83640, 83640, 16, 156))
    with pytest.raises(UserError, match=r"does not fit ulx3s-85f: it takes 64 brams of 16; .*sram_size=131072"):
        bitstream._check_fit(BOARD, Block("top", 8000, 4000, 64, 0))


def test_a_failing_tool_is_quoted(tmp_path):
    with pytest.raises(UserError, match=r"(?s)trial failed with code 3:\nno such thing.*trial.log"):
        bitstream._run(["sh", "-c", "echo no such thing; exit 3"], tmp_path, "trial")


def test_list_names_every_board(capsys):
    assert main(["build", "--list"]) == 0
    assert BOARD.name in capsys.readouterr().out


def test_an_unknown_board_ends_with_a_message(capsys):
    assert main(["build", "--board", "icestick"]) == 2
    assert "'icestick'" in capsys.readouterr().err


def test_an_output_that_is_a_file_ends_with_a_message(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot make the output directory"):
        synthesize(BOARD, tmp_path / "file")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_synthesis_gives_area_by_block(tmp_path):
    small = dataclasses.replace(BOARD, config=BOARD.config.but(sram_size=32 * 1024))
    built = synthesize(small, tmp_path)
    assert built.total.brams == 32 * 1024 * 8 // 16384
    assert {"processor", "host_dma", "send_dma", "receive_dma", "lbus"} <= {block.name for block in built.blocks}
    assert built.lbus_fmax_mhz is None


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_place_and_route_gives_a_bitstream(tmp_path):
    built = build(BOARD, tmp_path)
    assert built.bitstream.stat().st_size > 100_000
    assert built.lbus_fmax_mhz > 25, built.critical_path
    assert {"build.lbus_fmax_mhz", "build.luts", "build.ffs", "build.brams"} <= set(built.figures())
