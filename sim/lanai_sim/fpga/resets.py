"""A reset of thousands of flip-flops goes by one of the FPGA's global networks.

nextpnr promotes clocks by itself, resets not. Routed as other nets are, a reset of this size fills
the wires of the whole die, and a LUT that reads the same net waits for a branch of that tree: of
the NIC with the remote-memory adapter, such a branch over 22 tiles took 12.7 ns.
"""

from collections import Counter
from copy import deepcopy
from typing import Any

# Flip-flops. The board's NIC without optional blocks has fewer in all, and needs no such network.
MANY = 6000
BUFFER = "DCCA"  # drives a global network


def promote(netlist: dict[str, Any], many: int = MANY) -> list[str]:
    """Change Yosys's netlist of a whole ECP5 design: each net that resets at least `many`
    flip-flops, and comes from a LUT, goes to them through a copy of that LUT and a buffer of a
    global network. Other users of the net stay with the LUT itself. The values of all nets stay
    as they were. Gives the names of the LUTs copied."""
    module = netlist["modules"]["top"]
    cells = module["cells"]
    resets = Counter(cell["connections"]["LSR"][0] for cell in cells.values() if _has_reset(cell))
    sources = [
        name for name, cell in cells.items() if cell["type"] == "LUT4" and resets[cell["connections"]["Z"][0]] >= many
    ]
    free = _first_free(module)
    for name in sources:
        net, copied, buffered = cells[name]["connections"]["Z"][0], free, free + 1
        free += 2
        for cell in cells.values():
            if _has_reset(cell) and cell["connections"]["LSR"] == [net]:
                cell["connections"]["LSR"] = [buffered]
        copy, buffer = f"{name}_resets", f"{name}_resets_{BUFFER}"
        cells[copy] = deepcopy(cells[name])
        cells[copy]["connections"]["Z"] = [copied]
        cells[buffer] = {
            "hide_name": 0,
            "type": BUFFER,
            "parameters": {},
            "attributes": {},
            "port_directions": {"CLKI": "input", "CLKO": "output"},
            "connections": {"CLKI": [copied], "CLKO": [buffered]},
        }
        for cell, bit in ((copy, copied), (buffer, buffered)):
            module["netnames"][f"{cell}_net"] = {"hide_name": 0, "bits": [bit], "attributes": {}}
    return sources


def _has_reset(cell: dict[str, Any]) -> bool:
    return cell["type"] == "TRELLIS_FF" and "LSR" in cell["connections"]


def _first_free(module: dict[str, Any]) -> int:
    """The first number that no net bears."""
    named = (bit for net in module["netnames"].values() for bit in net["bits"])
    connected = (bit for cell in module["cells"].values() for bits in cell["connections"].values() for bit in bits)
    return 1 + max((bit for bits in (named, connected) for bit in bits if isinstance(bit, int)), default=1)
