"""The places of inputs and outputs of a model as the native engine has them: `declared.INPUTS`, `declared.OUTPUTS` and
`declared.PROBES` of a NIC, and arrays of what joins NICs (native/switch_unit.h)."""

from collections.abc import Iterator, Mapping

from ..declared import INPUTS, OUTPUTS, PROBES, PROBES_AT, Shared
from ..designs import NIC_TOP, Design
from .code import BYTES, container
from .layout import LINE, Block

NIC_INPUTS = {  # by the columns of `INPUTS`
    "left_out": "left_out", "rx_data": "link_rx__data", "rx_kind": "link_rx__kind", "tx_stop": "link_tx__stop",
    "mem_rdata": "mem__rdata", "mem_ready": "mem__ready", "mem_rvalid": "mem__rvalid", "mem_rerror": "mem__rerror",
    "pio_addr": "pio__addr", "pio_wdata": "pio__wdata", "pio_valid": "pio__valid", "pio_write": "pio__write",
    "pio_be": "pio__be",
}  # fmt: skip
NIC_OUTPUTS = {  # by the columns of `OUTPUTS`
    "tx_data": "link_tx__data", "tx_kind": "link_tx__kind", "rx_stop": "link_rx__stop",
    **{name: name for name in ("irq", "idle", "wake_armed", "wake_cycle")},
    **{f"pio_{name}": f"pio__{name}" for name in ("rdata", "ready", "rvalid")},
    **{f"mem_{name}": f"mem__{name}" for name in ("addr", "wdata", "burst", "valid", "write", "be")},
}  # fmt: skip
ISSUES = "core_issues"  # the processor issues an instruction: not a port (`outside`)


def nic_inputs(widths: Mapping[str, int]) -> Block:
    return Block(dict(_placed(INPUTS, NIC_INPUTS, widths, 0)), INPUTS.size)


def nic_outputs(widths: Mapping[str, int]) -> Block:
    """The outputs of a NIC; with those of its probes, if it has some."""
    block = Block(dict(_placed(OUTPUTS, NIC_OUTPUTS, widths, 0)), PROBES_AT)
    block.places[ISSUES] = (OUTPUTS.offsets[ISSUES], 1)
    probes = {name: f"probe_{name}" for name in PROBES.offsets}
    if probes["blocks"] in widths:
        block.places |= _placed(PROBES, probes, widths, PROBES_AT)
        block.size += _lines(PROBES.size)
    return block


def _placed(
    struct: Shared, names: Mapping[str, str], widths: Mapping[str, int], base: int
) -> Iterator[tuple[str, tuple[int, int]]]:
    sizes = {name: int(kind[-1]) for name, kind, *_ in struct.columns}
    for column, port in names.items():
        width = widths[port]
        assert container(width) == sizes[column] * BYTES, f"{port} has {width} bits, and {struct.name} has others"
        yield port, (base + struct.offsets[column], width)


def switch_inputs(widths: Mapping[str, int], ports: int) -> Block:
    block = Block()
    _arrays(block, widths, ports, (("rx", "data"), ("rx", "kind"), ("tx", "stop")))
    for name in ("barrier_members", "barrier_parent"):
        if name in widths:
            size = container(widths[name]) // BYTES
            at = -(-block.size // size) * size
            block.places[name], block.size = (at, widths[name]), at + size
    block.size = _lines(block.size)
    return block


def switch_outputs(widths: Mapping[str, int], ports: int) -> Block:
    block = Block()
    _arrays(block, widths, ports, (("tx", "data"), ("tx", "kind"), ("rx", "stop")))
    block.places["idle"], block.size = (block.size, 1), _lines(block.size + 1)
    return block


def _arrays(block: Block, widths: Mapping[str, int], ports: int, wires: tuple[tuple[str, str], ...]) -> None:
    for side, wire in wires:
        for port in range(ports):
            name = f"{side}__{port}__{wire}"
            block.places[name] = (block.size, widths[name])
            block.size += container(widths[name]) // BYTES


def blocks(design: Design, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> tuple[Block, Block]:
    """Return where inputs and outputs of these widths lie."""
    if design.top == NIC_TOP:
        return nic_inputs(inputs), nic_outputs(outputs)
    ports = sum(name.endswith("__kind") for name in inputs)
    return switch_inputs(inputs, ports), switch_outputs(outputs, ports)


def _lines(size: int) -> int:
    return -(-size // LINE) * LINE
