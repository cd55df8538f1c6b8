"""`lanai build`: what the tools' reports are turned into, what cannot be built; with `slow`, the
tools themselves."""

import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lanai_hdl.boards import find
from lanai_hdl.remote.config import Remote
from lanai_host.errors import UserError
from lanai_sim.cli import main
from lanai_sim.commands import build as build_command
from lanai_sim.fpga import area, bitstream, tools
from lanai_sim.fpga.area import Block, area_by_block, block_of, check_fit
from lanai_sim.fpga.bitstream import Built, build, fmax_by_block, synthesize
from lanai_sim.machine import blocks

BOARD = find("ulx3s-85f")
QUICK = BOARD.with_clock(66.67)


@pytest.mark.parametrize(
    ("cell", "block"),
    [
        ("top.nic.send_dma.piece_TRELLIS_FF_Q_15", "send_dma"),
        ("top.nic.control$538.run_LUT4", "control"),
        ("top.nic.host_bus.master.state_LUT4", "host_bus"),
        ("top.nic.remote.sender.part_LUT4", "remote"),
        ("top.bridge.gather.count_LUT4", "bridge"),
        ("top.nic.idle_TRELLIS_FF_Q", "nic"),
        ("clock.pll", "pins"),
        ("$nextpnr_CCU2C_29$CCU2_COMB0", "pins"),
    ],
)
def test_a_cell_belongs_to_the_block_that_its_name_tells(cell, block):
    assert block_of(cell) == block


def test_optional_blocks_join_the_nic_of_a_board():
    assert BOARD.with_blocks([]) == BOARD
    assert BOARD.with_blocks([blocks.block("remote")]).config.blocks == (blocks.block("remote"),)
    with pytest.raises(UserError, match="block 'barrier' needs a switch that knows it at its link, which a board has"):
        BOARD.with_blocks([blocks.block("barrier")])


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


def test_a_block_is_as_fast_as_the_longest_path_of_the_slot_clock_that_ends_in_it():
    slot, line = "posedge clk", "posedge line"

    def net(event, *ends):
        return {
            "event": event,
            "endpoints": [{"cell": cell, "delay": [0.1, delay], "event": end} for cell, delay, end in ends],
        }

    timing = {
        "fmax": {"line": {"achieved": 10.0, "constraint": 1.0}, "clk": {"achieved": 80.0, "constraint": 66.67}},
        "detailed_net_timings": [
            net(slot, ("top.nic.lbus.a", 4.0, slot), ("top.nic.lbus.b", 5.0, slot), ("top.nic.sram.a", 12.3, slot)),
            net(slot, ("top.nic.lbus.a", 50.0, line)),
            net(line, ("top.nic.lbus.a", 60.0, slot), ("top.bridge.a", 60.0, line)),
        ],
        "critical_paths": [
            {
                "from": slot,
                "to": slot,
                "path": [{"delay": 12.3, "to": {"cell": "x"}}, {"delay": 0.2, "to": {"cell": "top.nic.sram.a"}}],
            },
            {"from": "<async>", "to": slot, "path": [{"delay": 99.0, "to": {"cell": "top.nic.sram.a"}}]},
        ],
    }
    assert fmax_by_block(timing) == pytest.approx({"lbus": 200.0, "sram": 80.0})


def test_a_design_that_does_not_fit_is_told_before_place_and_route(monkeypatch):
    monkeypatch.setitem(area.CAPACITY, "LFE5U-85F", Block("capacity", 83640, 83640, 16, 156))
    with pytest.raises(UserError, match=r"does not fit ulx3s-85f: it takes 64 brams of 16; .*sram_size=131072"):
        check_fit(BOARD, Block("top", 8000, 4000, 64, 0))

    with pytest.raises(UserError, match=r"it takes 90000 luts of 83640; take fewer --ports"):
        check_fit(BOARD.as_switch(), Block("top", 90_000, 4000, 0, 0))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["switch", "--phy"], "--phy is not for a switch; leave it out"),
        (["switch", "--with", "remote"], "--with is not for a switch"),
        (["switch", "--line", "serial"], "--line is not for a switch"),
        (["switch", "--ports", "9"], "9 ports do not go on 'ulx3s-85f', whose pins hold 4 cables"),
        (["--ports", "2"], "--ports is not for a nic"),
        (["--mhz", "70"], "70 MHz is no slot clock of 'ulx3s-85f'; choose one of 50.00, 60.00, 62.50, 66.67"),
        (["--with", "remote:cells=16"], "--with remote has no key 'cells'; did you mean 'match_cells'?"),
        (["--with", "remote:match_cells"], "--with 'match_cells' is not understood; write NAME=VALUE"),
        (["--with", "remote:match_cells=3"], "match_cells=3"),
        (["swich"], "design 'swich' is not known; did you mean 'switch'"),
    ],
)
def test_what_cannot_be_built_is_refused(words, said, capsys):
    assert main(["build", *words, "--board", BOARD.name]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("what", [["nic", "--with", "remote:processes=1,match_cells=16"], ["switch"]])
def test_clock_and_blocks_are_as_the_flags_say(what, monkeypatch, tmp_path, capsys):
    """The exit code is that of the clock that was asked for."""
    built, reached = [], Built(Block("top", 1, 2, 3, 4), (), lbus_fmax_mhz=63.0)
    monkeypatch.setattr(build_command, "build", lambda board, *_: built.append(board) or reached)
    codes = [main(["build", *what, "--board", BOARD.name, *words]) for words in ([], ["--mhz", "66.67"])]
    assert codes == [0, build_command.SLOW]
    assert [board.config.slot_khz for board in built] == [60_000, 66_666]
    assert "the slot clock reaches 63.00 of 66.67 MHz" in capsys.readouterr().out
    assert built[0].config.blocks == (() if "switch" in what else (Remote(processes=1, match_cells=16),))


def test_a_clock_of_a_phy_must_reach_the_slot_rate_too():
    def clock(constraint, achieved):
        return {"constraint": constraint, "achieved": achieved}

    clocks = {"slot": clock(66.67, 80.0), "phy": clock(66.666, 70.0), "crystal": clock(25.0, 60.0)}
    assert bitstream._fmax({"fmax": clocks}) == 70.0


def test_a_failing_tool_is_quoted(tmp_path):
    with pytest.raises(UserError, match=r"(?s)trial failed with code 3:\nno such thing.*trial.log"):
        tools.run_tool(["sh", "-c", "echo no such thing; exit 3"], tmp_path, "trial")


def test_list_names_every_board(capsys):
    assert main(["build", "--list"]) == 0
    assert BOARD.name in capsys.readouterr().out


def test_names_of_blocks_are_shown_whole(capsys):
    name = "receive_dma_registers_of_a_block_with_a_long_name"
    build_command._show(Built(Block("top", 1, 2, 3, 4), (Block(name, 1, 2, 3, 4),)))
    assert capsys.readouterr().out.count(name) == 4


def test_a_netlist_that_a_full_disk_has_cut_is_told(tmp_path, monkeypatch):
    """Yosys ends with code 0 all the same."""

    def run(command, output, what, **tools):
        (output / "top.json").write_text('{"modules": {"to')

    monkeypatch.setattr(bitstream, "run_tool", run)
    with pytest.raises(UserError, match=r"top.json' is cut, with \d+ MB free on its disk; make room, or name another"):
        synthesize(BOARD, tmp_path)


def test_what_interrupts_a_tool_ends_what_it_has_started(tmp_path):
    """`sh` has started a tool, which would go on for minutes."""
    script = f"sleep 600 & echo $! > {tmp_path / 'pid'}; wait"
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from pathlib import Path; "
    code += f"from lanai_sim.fpga import tools as t; t.run_tool(['sh', '-c', {script!r}], Path({str(tmp_path)!r}), 'a')"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as build_:
        pid = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
        build_.send_signal(signal.SIGINT)
    until(lambda: not Path(f"/proc/{pid}").exists() or ") Z " in Path(f"/proc/{pid}/stat").read_text())


def until(found):
    """Return what is found at last."""
    give_up = time.monotonic() + 60
    while not (answer := found()):
        assert time.monotonic() < give_up
        time.sleep(0.02)
    return answer


def test_an_output_that_is_a_file_ends_with_a_message(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot make the output directory"):
        synthesize(BOARD, tmp_path / "file")


@pytest.fixture
def flow(monkeypatch, tmp_path):
    """`flow(fmax by seed)` puts tools in place that reach these; it gives the list of seeds
    tried."""

    def replace(reached):
        tried = []

        def run(command, output, what, *, SEED, **tools):
            seed = int(SEED)
            tried.append(seed)
            for name in bitstream.PRODUCTS:
                (output / name).write_text(f"{name} of {seed}")
            clock = {"achieved": reached[seed], "constraint": 66.67}
            (output / "timing.json").write_text(json.dumps({"fmax": {"clk": clock}, "critical_paths": []}))

        monkeypatch.setattr(bitstream, "run_tool", run)
        monkeypatch.setattr(bitstream, "synthesize", lambda board, output: Built(Block("top", 1, 2, 3, 4), ()))
        return tried

    return replace


def test_seeds_are_tried_until_one_reaches_the_slot_clock(flow, tmp_path):
    tried = flow({3: 61.0, 4: 66.7, 5: 80.0})
    built = build(QUICK, tmp_path, seed=3, seeds=10)
    assert tried == [3, 4]
    assert (built.seed, built.lbus_fmax_mhz) == (4, 66.7)
    assert built.figures()["build.seed"] == 4
    assert built.bitstream.read_text() == "top.bit of 4"
    assert (tmp_path / "seed-3" / "top.bit").read_text() == "top.bit of 3"


def test_of_seeds_that_do_not_reach_it_the_fastest_is_kept(flow, tmp_path):
    tried = flow({1: 61.0, 2: 64.0, 3: 64.0, 4: 63.0})
    built = build(QUICK, tmp_path)
    assert tried == [1, 2, 3, 4]
    assert (built.seed, built.bitstream.read_text()) == (2, "top.bit of 2")


@pytest.mark.parametrize(
    ("reached", "options", "code", "told"),
    [
        (66.67, [], 0, "reaches 66.67 of 66.67 MHz"),
        (66.3, [], build_command.SLOW, "reaches 66.30 of 66.67 MHz"),
        (66.3, ["--allow-slow"], 0, "reaches 66.30 of 66.67 MHz"),
    ],
)
def test_a_clock_that_is_not_reached_has_an_exit_code(reached, options, code, told, flow, tmp_path, capsys):
    flow({1: reached})
    command = ["build", "--board", BOARD.name, "--mhz", "66.67", "--output", str(tmp_path), "--seeds", "1"]
    assert main([*command, "--json", str(tmp_path / "figures.json"), *options]) == code
    assert capsys.readouterr().out.splitlines()[-1] == f"the slot clock {told}"
    assert json.loads((tmp_path / "figures.json").read_text())["figures"]["build.lbus_fmax_mhz"] == reached
    assert (tmp_path / "top.bit").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed", "0"], "seed 0 cannot be taken; give one from 1 to 2147483647"),
        (["--seed", "-4"], "seed -4 cannot be taken"),
        (["--seeds", "0"], "0 seeds from 1 on cannot be tried; give a number from 1 to 2147483647"),
        (
            ["--seed", "2147483647", "--seeds", "2"],
            "2 seeds from 2147483647 on cannot be tried; give a number from 1 to 1",
        ),
    ],
)
def test_bad_seeds_are_quoted_before_anything_is_built(options, message, tmp_path, capsys):
    assert main(["build", "--board", BOARD.name, "--output", str(tmp_path / "out"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_tools_that_end_without_a_bitstream_are_told(monkeypatch, tmp_path):
    monkeypatch.setattr(bitstream, "run_tool", lambda *args, **tools: None)
    monkeypatch.setattr(bitstream, "synthesize", lambda board, output: Built(Block("top", 1, 2, 3, 4), ()))
    with pytest.raises(UserError, match=r"ended without top\.bit"):
        build(BOARD, tmp_path)


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
    assert 1000 * built.lbus_fmax_mhz >= BOARD.config.slot_khz, built.critical_path
    assert {"build.lbus_fmax_mhz", "build.luts", "build.ffs", "build.brams"} <= set(built.figures())
    by_block = {block.name: block.fmax_mhz for block in built.blocks if block.fmax_mhz}
    assert min(by_block.values()) == pytest.approx(built.lbus_fmax_mhz, rel=1e-3)
    assert {"processor", "host_dma", "send_dma", "receive_dma", "sram"} <= set(by_block)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_switch_reaches_the_slot_clock_on_the_smallest_board(tmp_path):
    built = build(find("ulx3s-25f").as_switch(), tmp_path)
    assert built.bitstream.stat().st_size > 100_000
    assert built.lbus_fmax_mhz >= 66.66, built.critical_path
    assert {"switch", "phy0", "phy3"} <= {block.name for block in built.blocks}
