"""The area that a design takes of an FPGA, by block, and the FPGAs' own."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from lanai_hdl.boards import Board
from lanai_hdl.boards.board import ECP5, XILINX7
from lanai_host.errors import UserError

KINDS = ("luts", "ffs", "brams", "multipliers")
# What each cell of a family takes: one of KINDS, and how many of it. Carries of an ECP5 and memories of LUTs take LUTs.
CELLS: dict[str, dict[str, tuple[str, int]]] = {
    ECP5: {
        "LUT4": ("luts", 1),
        "CCU2C": ("luts", 2),
        "TRELLIS_DPR16X4": ("luts", 4),
        "TRELLIS_FF": ("ffs", 1),
        "DP16KD": ("brams", 1),
        "PDPW16KD": ("brams", 1),
        "MULT18X18D": ("multipliers", 1),
    },
    XILINX7: {
        **dict.fromkeys((*(f"LUT{n}" for n in range(1, 7)), "SRL16E", "SRLC32E"), ("luts", 1)),
        **dict.fromkeys(("RAM32X1D", "RAM64X1D"), ("luts", 2)),
        **dict.fromkeys(("RAM32M", "RAM64M", "RAM128X1D"), ("luts", 4)),
        **dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), ("ffs", 1)),
        "RAMB18E1": ("brams", 1),
        "RAMB36E1": ("brams", 2),
        "DSP48E1": ("multipliers", 1),
    },
}


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


def block_of(cell: str) -> str:
    """The block that a cell of the flattened design belongs to, by its name: a part of the NIC, or
    of the top beside it."""
    path = [part.partition("$")[0] for part in cell.split(".")]
    if path[0] != "top" or len(path) < 3:
        return "pins"
    return path[2] if path[1] == "nic" and len(path) > 3 else path[1]


def area_by_block(netlist: dict[str, Any], family: str = ECP5) -> tuple[Block, ...]:
    """Areas from Yosys's netlist: the whole first, then by block, the largest first."""
    kinds = CELLS[family]
    counts: dict[str, Counter[str]] = {}
    for name, cell in netlist["modules"]["top"]["cells"].items():
        what, number = kinds.get(cell["type"], ("", 0))
        if number:
            counts.setdefault(block_of(name), Counter())[what] += number
    blocks = [Block(name, *(count[what] for what in KINDS)) for name, count in counts.items()]
    total = Block("top", *(sum(getattr(block, what) for block in blocks) for what in KINDS))
    return (total, *sorted(blocks, key=lambda block: (-block.luts, block.name)))


CAPACITY = {
    device: Block("capacity", *room)
    for device, room in {
        "LFE5U-85F": (83640, 83640, 208, 156),
        "LFE5U-45F": (43848, 43848, 108, 72),
        "LFE5U-25F": (24288, 24288, 56, 28),
        "LFE5U-12F": (24288, 24288, 56, 28),  # the tools let it use all of the die, which is a 25F's
        "xc7a35ti": (20800, 41600, 100, 90),  # block RAMs of 18 Kbit
        "xc7a100ti": (63400, 126800, 270, 240),
    }.items()
}


def check_fit(board: Board, total: Block) -> None:
    """Raise UserError if the FPGA of a board has less than a design takes."""
    room = CAPACITY.get(board.platform().device)
    other = "take fewer --ports" if board.switch else f"choose a smaller NicConfig (sram_size={board.config.sram_size})"
    for what in KINDS:
        if room is not None and getattr(total, what) > getattr(room, what):
            raise UserError(
                f"the design does not fit {board.name}: it takes {getattr(total, what)} {what} of "
                f"{getattr(room, what)}; {other}"
            )
