"""The processor outside its model: what native/core_run.h needs to know of a NIC's model to take the processor's
registers out of it, and to put them back.

native/core.h does what the processor does while nothing else of the NIC works. Here are the processor's registers as
words, which fields change meanwhile, which must be zero, and what reads of registers return.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lanai_hdl.config import NicConfig
from lanai_hdl.csr.declare import Access
from lanai_hdl.lbus.masters import CPU
from lanai_hdl.machine import REGISTERS, REGISTERS_LOCAL, REGISTERS_SIZE

from .code import BYTES, Code, container
from .layout import Layout
from .netlist import SRAM, Netlist
from .sources import Bits, Field, Outside, Source
from .step import Reader
from .values import Values

NIC = "lanai_nic.nic."
# Words of the processor, by the name in C++: the register in the gateware. Amaranth numbers signals without a name,
# each module for itself, so a change of the core may need other numbers here. With names the same gateware takes other
# LUTs of an FPGA, and has another clock.
REGISTERS_OF = {
    "AGAIN": "processor.$signal$46",
    "MOVED": "processor.$signal$75",
    "LOADED": "processor.$signal$73",
    "RESULTS": "processor.$signal$77",
    "ARRIVED": "processor.$signal$76",
    "ARRIVED_TO_PC": "processor.loaded$70",
    "LOADED_RD": "processor.$signal$53",
    "LOADED_TO_PC": "processor.$signal$103",
    "FETCHED": "processor.fetch.$26",
    "FETCHED_FAULT": "processor.fetch.$28",
    "FETCH_PC": "processor.fetch.pc",
    "FETCH_LEFT": "processor.fetch.$signal$11",
    "FETCH_TURNS": "processor.fetch.turns",
    "FETCH_TARGET": "processor.fetch.target",
    "SLOTS_LEFT": "processor.execute.left",
    "FLAGS_RESULT": "processor.execute.flags.result",
    "CARRY": "processor.execute.flags.carry",
    "OVERFLOW": "processor.execute.flags.overflow",
    "SHIFTED": "processor.execute.shifted",
    "IS_HELD": "processor.tracker.is_held",
    "ACCESS_LOADED": "processor.access.loaded",
    "ON_BUS": "processor.access.$signal$21",
    "HALF_OR_MORE": "processor.access.$signal$22",
    "WHOLE": "processor.access.$signal$23",
    "FROM_WINDOW": "processor.access.$signal$26",
    "FIRST": "processor.access.$signal$18",
    "SECOND": "processor.access.$signal$19",
    "SIGN": "processor.access.sign",
    "FILL_SECOND": "processor.access.$signal$24",
    "FILL_UPPER": "processor.access.fill_upper",
    "RDATA": "sram.sram.rdata",
    "NOTED": "counters.$signal",
    "DUE": "counters.due",
    "USED": "counters.slots_cpu_used",
}
NOW = "lanai_nic.$signal"  # the number of the slot
# Registers that are structures, each of whose fields is a word.
STRUCTURES = {"READY": "processor.$signal", "ISSUED": "processor.$signal$58"}
FIELDS = {
    "READY": ("VALID", "PC", "WORD", "FAULT"),
    "ISSUED": (
        "VALID", "PC", "WORD", "FAULT", "SOUND", "UNDEFINED", "UNIT", "OP", "ARITHMETIC", "FUNCTION", "COND", "GUARDED",
        "FLAGS", "CLEAR_CARRY", "RD", "BASE", "MEMORY", "STORE", "PRE", "UPDATE", "SIZE", "SIGNED", "A", "B", "D",
        "HOLDS", "PASSES", "START",
    ),
}  # fmt: skip
WORDS = (*REGISTERS_OF, "NOW", *(f"{name}_{field}" for name, fields in FIELDS.items() for field in fields))
GOES = "processor.$signal$16"  # the wire that is high in a slot in which an instruction is issued
BANKS = {f"bank_{bank}": f"processor.registers.bank_{bank}" for bank in "abd"}
# What changes while nothing but the processor works. Data on its way to the SRAM's other masters is among it, which
# they take in slots of their own only.
OWN = re.compile(
    r"processor\..*|counters\.(\$signal|due|slots_cpu_used)|sram\.sram\.rdata|send_dma\.flits\.\$like|"
    r"registers\.time\.cycles_seen|receive_dma_registers\.wrong"
)
# Registers that are 0 while nothing but the processor works.
QUIET = (
    "host_dma.fsm_state", "host_dma.queue.level", "host_bus.master.fsm_state", "host_bus.master.mem__valid",
    "host_bus.master.reads.level", "host_bus.master.writes.level", "host_bus.target.to_registers",
    "registers.access__host_write", "registers.access__cpu_write", "send_dma.fsm_state", "send_dma.descriptors.level",
    "receive_dma.fsm_state", "receiver.fifo.level", "deframer.fsm_state",
)  # fmt: skip
CYCLES = next(register for register in REGISTERS if register.name == "CYCLES")


def header() -> str:
    """C++ that declares the words, and what they are about."""
    names = ", ".join(f"CORE_{name}" for name in (*WORDS, "WORDS"))
    return "\n".join(
        [
            f"enum CoreWord {{ {names} }};",
            f"constexpr uint32_t REGISTERS_LOCAL = {REGISTERS_LOCAL}, REGISTERS_SIZE = {REGISTERS_SIZE};",
            f"constexpr uint32_t REGISTER_CYCLES = {CYCLES.offset}, CORE_REGISTERS = {REGISTERS_SIZE // 4};",
            "",
        ]
    )


@dataclass
class OutsideCore:
    """The part of a model that native/core_run.h needs. `pieces`: (word, its bit, offset of a field, its bytes, its
    bit, width). `others`, `quiet`: fields that must stay as they are, or be zero. `banks`: offsets in the store.
    `readable`: the registers whose reads are known."""

    pieces: list[tuple[int, int, int, int, int, int]]
    now: int
    others: list[str]
    quiet: list[str]
    banks: dict[str, int]
    readable: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, netlist: Netlist, layout: Layout) -> "OutsideCore | None":
        """None if the model has not all registers that are to be known."""
        registers = dict(_registers())
        pieces = []
        fields: dict[str, list[Field]] = {}
        for one in netlist.fields:
            fields.setdefault(one.wire, []).append(one)
        for number, word in enumerate(WORDS):
            name, low, width = registers[word]
            found = list(_pieces(number, low, width, fields.get(name, []), layout))
            found += _outside_piece(number, name, layout)
            if not found:
                return None
            pieces += found
        names = {one.name: one.name.removeprefix(NIC) for one in netlist.fields}
        memories = {f"{name}": layout.memories.get(NIC + memory, (0, 0, 0))[0] for name, memory in BANKS.items()}
        return cls(
            pieces,
            layout.state.places[NOW][0],
            [name for name, short in names.items() if name != NOW and not OWN.fullmatch(short)],
            [NIC + name for name in QUIET if NIC + name in names],
            memories,
        )

    def described(self) -> dict[str, Any]:
        return asdict(self)


def _registers() -> Iterator[tuple[str, tuple[str, int, int]]]:
    """The words: a register, and of which of its bits they are. All of them if the width is 0."""
    from .core_fields import fields  # brings Amaranth along

    for word, name in REGISTERS_OF.items():
        yield word, (NIC + name, 0, 0)
    yield "NOW", (NOW, 0, 0)
    for structure, name in STRUCTURES.items():
        for one, offset, width in fields(structure):
            yield f"{structure}_{one}", (NIC + name, offset, width)


def _pieces(
    word: int, low: int, width: int, fields: list[Field], layout: Layout
) -> Iterator[tuple[int, int, int, int, int, int]]:
    for one in fields:
        begin = max(low, one.at)
        end = min(low + width, one.at + one.width) if width else one.at + one.width
        if begin < end:
            at, size = layout.state.places[one.name]
            yield word, begin - low, at, container(size) // BYTES, begin - one.at, end - begin


def _outside_piece(word: int, name: str, layout: Layout) -> list[tuple[int, int, int, int, int, int]]:
    """Return the piece of an output of a module that is not in the text."""
    if name != NIC + REGISTERS_OF["RDATA"]:
        return []
    at, width = layout.state.places[name]
    return [(word, 0, at, container(width) // BYTES, 0, width)]


def reads(netlist: Netlist, layout: Layout, core: OutsideCore) -> Code:
    """Return the function `reads(state, in, out, next, store)`, which puts out what the processor's reads give, each
    register at its offset; only those that follow from what stays as it is while nothing but the processor works.
    `core.readable` becomes their offsets."""
    code, reader = Code("reads"), Reader(netlist, layout)
    others, wires = {*core.others}, netlist.wires_of(f"{NIC}registers.")
    for register in REGISTERS:
        wire = wires.get(f"{register.name.lower()}_read")
        if wire is None or not register.access & Access.PR:
            continue
        asked = set[Source]()

        def given(source: Source, asked: set[Source] = asked) -> str:
            asked.add(source)
            return reader.before(code, source)

        value = Values(code, netlist, reader.memories, given, "now").of([(wire, 0, wire.width)])
        if all(_stays(source, others) for source in asked):
            code.store("%out", register.offset, 32, value)
            core.readable.append(register.offset)
    return code


def _stays(source: Source, others: set[str]) -> bool:
    if isinstance(source, Field):
        return source.name in others
    return isinstance(source, Outside) and source.cell.kind != SRAM


def goes(netlist: Netlist) -> Bits:
    """The bit that is high in a slot in which the processor issues an instruction; 0 if there is none."""
    module, _, name = f"{NIC}{GOES}".rpartition(".")
    wire = netlist.wires_of(f"{module}.").get(name)
    return [(None, 0, 1)] if wire is None else [(wire, 0, 1)]


def constants(config: NicConfig) -> Mapping[str, int]:
    """Return the part of `GatesTable` that follows from a NIC's configuration."""
    bit = [counter.name for counter in config.machine.counters].index(CPU.used.name)
    return {"limit": min(config.sram_size, REGISTERS_LOCAL), "cpu_used": 1 << bit}
