"""The types that the native engine and Python share, declared once: `header` is the same in C++, with
sizes and offsets asserted."""

import struct
from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum, IntFlag

from lanai_firmware.vocabulary import Touch
from lanai_hdl.link.format import FlitKind

from .base import EventKind, FaultKind
from .words import Stage

Column = tuple[str, str] | tuple[str, str, tuple[int]]  # name, type as numpy writes it, and the length of an array
_TYPES = {"u1": "uint8_t", "u2": "uint16_t", "u4": "uint32_t", "u8": "uint64_t", "i8": "uint64_t"}
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Ending(IntFlag):
    """The end of a call of `run` in stepping.h, if neither by an event nor at the limit."""

    STILL = 1
    CUT = 2
    ENDED = 4  # another part of the machine cannot go on


class Shared:
    """A struct. Its members are all unsigned: times, which Python has as signed numbers, are not
    negative here."""

    def __init__(self, name: str, columns: Sequence[Column], *, packed: bool = False) -> None:
        self.name = name
        self.columns = tuple(columns)
        self.packed = packed
        self.offsets: dict[str, int] = {}
        code, at, widest = "=", 0, 1
        for member, kind, count in map(_whole, columns):
            width = int(kind[-1])
            widest = max(widest, 1 if packed else width)
            pad = 0 if packed else -at % width
            self.offsets[member] = at + pad
            code += f"{pad}x{count}{_CODES[width]}"
            at += pad + count * width
        self.struct = struct.Struct(code + f"{-at % widest}x")
        self.size = self.struct.size

    @property
    def text(self) -> str:
        members = "".join(
            f"    {_TYPES[kind[-2:]]} {member}{'' if count == 1 else f'[{count}]'};\n"
            for member, kind, count in map(_whole, self.columns)
        )
        asserts = [f"sizeof({self.name}) == {self.size}"]
        asserts += [f"offsetof({self.name}, {member}) == {at}" for member, at in self.offsets.items()]
        body = f"struct {self.name} {{\n{members}}};\n"
        if self.packed:
            body = f"#pragma pack(push, 1)\n{body}#pragma pack(pop)\n"
        return body + "".join(f'static_assert({one}, "lanai_sim.engines.declared");\n' for one in asserts)


def _whole(column: Column) -> tuple[str, str, int]:
    return column[0], column[1], column[2][0] if len(column) == 3 else 1


def _words(*names: str) -> list[Column]:
    return [(name, "u4") for name in names]


EVENT = Shared("Event", [("slot", "u8"), *_words("kind", "unit", "tag", "value")])  # `base.Event`
PIO = Shared(
    "Pio", [("slot", "u8"), *_words("write", "address", "data", "be", "tag", "program")]
)  # `base.Access`, program
BURST = Shared("Burst", [("elapsed", "u8"), *_words("offset", "size")])  # `base.Burst`
FAULT = Shared("Fault", [("packet", "u8"), ("amount", "u8"), ("chance", "u8"), ("kind", "u4")])  # `base.Planned`
TURN = Shared("Turn", [("limit", "u8"), *_words("done", "pending", "aside", "over")])  # `cut.Turn`
INPUTS = Shared(
    "NicInputs",  # of one slot
    [
        ("left_out", "u8"),
        *_words("rx_data", "mem_rdata", "pio_addr", "pio_wdata"),
        *((name, "u1") for name in ("rx_kind", "tx_stop", "mem_ready", "mem_rvalid")),
        *((name, "u1") for name in ("mem_rerror", "pio_valid", "pio_write", "pio_be")),
    ],
)
OUTPUTS = Shared(
    "NicOutputs",  # after a slot
    [
        *_words("tx_data", "pio_rdata", "mem_addr", "mem_wdata", "wake_cycle"),
        ("mem_burst", "u2"),
        *((name, "u1") for name in ("tx_kind", "rx_stop", "irq", "idle", "wake_armed", "pio_ready", "pio_rvalid")),
        *((name, "u1") for name in ("mem_valid", "mem_write", "mem_be", "core_issues")),
    ],
)
PROBES = Shared(
    "NicProbes",  # what `gateware.verilog.PROBES` tells of the slot before, behind the outputs
    [
        ("blocks", "u8"),
        *_words("pc", "address", "value", "host_local", "host_address", "host_length", "send_pointer", "send_length"),
        *_words("receive_start", "receive_pointer"),
        *((name, "u1") for name in ("run", "waits", "retired", "access", "store", "used", "waited")),
        *((name, "u1") for name in ("host_post", "host_to_host", "host_done", "host_error")),
        *((name, "u1") for name in ("send_post", "send_first", "send_last", "send_done")),
        *((name, "u1") for name in ("receive_busy", "receive_done", "receive_verdict")),
    ],
)
PROBES_AT = -(-OUTPUTS.size // 64) * 64  # bytes from the outputs
GATES_TABLE = Shared(
    "GatesTable",  # a model by LLVM: addresses, sizes and offsets in bytes (`native.table`)
    [
        *((name, "u8") for name in ("step", "show", "reads", "state", "store")),
        *((name, "u8") for name in ("quiet", "others", "pieces", "readable", "cpu_used")),
        *_words("state_bytes", "store_bytes", "inputs_bytes", "outputs_bytes", "sram_words", "probes", "signals"),
        *_words("core", "piece_count", "now", "bank_a", "bank_b", "bank_d", "limit"),  # of a NIC
        *_words("ports", "idle", "cascaded", "members", "parent", "role_bytes"),  # of what joins NICs
    ],
)
CORE_PIECE = Shared("CorePiece", _words("word", "shift", "at", "bytes", "low", "width"))  # a word's part in the state
WAVE_SIGNAL = Shared("WaveSignal", _words("at", "bytes", "width"))  # a signal among the outputs
TOUCH_RANGE = Shared("TouchRange", _words("begin", "end", "stride", "first", "last", "kind", "number"))

HEADER_WORDS = 10  # of a packet that are kept: a command of the adapter, and the head of what it carries

# What a traced NIC tells: rows of the tables of `trace.schema`, without the node's number, which is
# their first column.
ROWS = {
    b"PTX ": Shared(
        "PacketOutRow",
        [("route", "<u4"), ("words", "<u4"), ("header", "<u4", (HEADER_WORDS,)), ("head", "<i8"), ("tail", "<i8")],
        packed=True,
    ),
    b"PRX ": Shared(
        "PacketInRow",
        [("words", "<u4"), ("header", "<u4", (HEADER_WORDS,)), ("head", "<i8"), ("tail", "<i8")],
        packed=True,
    ),
    b"DMA ": Shared(
        "DmaRow",
        [("engine", "u1"), ("flags", "u1"), ("local", "<u4"), ("host", "<u4"), ("bytes", "<u4"),
         ("posted", "<i8"), ("end", "<i8")],
        packed=True,
    ),
    b"PROC": Shared(
        "ProcessorRow",
        [("pc", "<u4"), ("slots", "<u4"), ("stalled", "<u4"), ("count", "<u2"), ("state", "u1")],
        packed=True,
    ),
    b"TUCH": Shared("TouchRow", [("kind", "u1"), ("index", "<u4"), ("slot", "<i8")], packed=True),
    b"LBUS": Shared(
        "LbusRow", [("slots", "<u4"), ("used", "<u4", (5,)), ("waited", "<u4", (5,)), ("begin", "<i8")], packed=True
    ),
    b"HBUS": Shared(
        "HostBusRow",
        [("master", "u1"), ("write", "u1"), ("address", "<u4"), ("bytes", "<u4"), ("begin", "<i8"), ("end", "<i8")],
        packed=True,
    ),
    b"BLCK": Shared("BlockRow", [("signal", "u1"), ("slot", "<i8")], packed=True),
}  # fmt: skip

STRUCTS = (
    EVENT, PIO, BURST, FAULT, TURN, INPUTS, OUTPUTS, PROBES, GATES_TABLE, CORE_PIECE, WAVE_SIGNAL, TOUCH_RANGE,
    *ROWS.values(),
)  # fmt: skip
ENUMS: Mapping[type[IntEnum] | type[IntFlag], str] = {
    EventKind: "",
    FaultKind: "FAULT_",
    Ending: "",
    Stage: "",
    Touch: "TOUCH_",
}


def _enum(kind: type[Enum], name: str, prefix: str = "") -> str:
    members = ", ".join(f"{prefix}{member.name} = {member.value}" for member in kind)
    return f"enum {name} {{ {members} }};\n"


def header() -> str:
    """The text of declared.h."""
    enums = [_enum(kind, f"{kind.__name__} : uint32_t", prefix) for kind, prefix in ENUMS.items()]
    enums.append(_enum(FlitKind, "FlitKind : uint8_t"))  # a byte in the units, as on the link
    head = (
        "// Generated from lanai_sim.engines.declared.",
        "#pragma once",
        "#include <stddef.h>",
        "#include <stdint.h>",
    )
    constants = [f"constexpr uint32_t PROBES_AT = {PROBES_AT};\n"]
    return "\n".join([*head, "", *enums, *(one.text for one in STRUCTS), *constants])
