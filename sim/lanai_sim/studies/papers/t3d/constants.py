"""The constants that the paper names, as ours are: read from what the device itself reads."""

from lanai_hdl.remote.config import Remote
from lanai_host.stacks.t3d.heap import LONG, SHORT, WORD, HeapLayout
from lanai_host.stacks.t3d.options import T3dOptions, t3d

from ....machine.presets import t3d_shell

LATENCY_SIZES = range(0, 1025, 32)
MEDIUM_SIZES = range(10_000, 200_001, 10_000)
LARGE_SIZES = range(1_000_000, 5_000_001, 1_000_000)
# A k is taken as 1000 and a megabyte as 10^6 (T3-G6).
RANKS = 2
TORUS = "torus:4x4x4"


def figures(quick: bool) -> dict[str, float]:
    layout = HeapLayout(RANKS, t3d())
    (shell,) = t3d_shell().blocks
    assert isinstance(shell, Remote)
    return {
        "design.slots_per_pair": (layout.slot(1) - layout.slot(0)) / layout.slot_size,
        "design.send_levels": len({SHORT, LONG}),
        "design.alignment": t3d().alignment,
        "design.alignment_first": T3dOptions(alignment=8).alignment,
        "design.transfer_bits": 8 * WORD.size,
        "design.processors": RANKS,
        "design.nodes": shell.peers,
    }
