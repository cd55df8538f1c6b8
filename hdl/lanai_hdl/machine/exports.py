"""The registers that the host may use, for other tools, from their declaration: SystemRDL and a C header."""

import re
from collections.abc import Iterable, Iterator
from enum import IntFlag

from ..csr.declare import Access, Behavior, Register
from ..csr.machine import Machine
from . import MACHINE_ID, MACHINE_VERSION, PIO_WINDOW_SIZE, REGISTERS_HOST, SRAM_HOST
from .page import rights


def _of_host(machine: Machine) -> Iterator[tuple[Register, str]]:
    """The registers that the host may use, with its rights: `RW`, `R` or `W`."""
    for register in machine.registers:
        if register.access & (Access.HR | Access.HW):
            yield register, rights(register.access, Access.HR, Access.HW)


def _bits(flags: type[IntFlag]) -> Iterator[tuple[str, int, int]]:
    """Each member that is one run of bits: its name, its first bit, its width."""
    for name, flag in flags.__members__.items():
        first = (flag & -flag).bit_length() - 1
        if flag >> first & (flag >> first) + 1 == 0:
            yield name, first, int(flag >> first).bit_length()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _fields(register: Register, software: str) -> Iterator[str]:
    hardware, also = "r" if register.kept else "w", ""
    if register.behavior is Behavior.W1C and "W" in software:
        also = f" onwrite = {'woset' if register.set_by is Access.HW else 'woclr'};"
    parts = list(_bits(register.fields)) if register.fields else [("VALUE", 0, 32)]
    for name, first, width in sorted(parts, key=lambda part: part[1]):
        where = f"[{first + width - 1}:{first}]"
        yield f"    field {{ sw = {software.lower()}; hw = {hardware};{also} }} {name.lower()}{where};"


def systemrdl(machine: Machine, name: str, sram_size: int) -> str:
    """The window as the host sees it, in SystemRDL 2.0. Addresses are bytes of the window; words are big-endian."""
    lines = [
        f"// Registers and SRAM of {name} as the host sees them. Generated: change the declaration instead.",
        f"addrmap {name} {{",
        "  default regwidth = 32;",
        "  default accesswidth = 32;",
        "  bigendian;",
        "  external mem {",
        f"    mementries = {sram_size // 4}; memwidth = 32; sw = rw;",
        f"  }} sram @ {SRAM_HOST:#x};",
    ]
    for register, software in _of_host(machine):
        lines += [
            f"  reg {{ name = {_quoted(register.name)}; desc = {_quoted(register.doc)};",
            *_fields(register, software),
            f"  }} {register.name.lower()} @ {REGISTERS_HOST + register.offset:#x};",
        ]
    return "\n".join([*lines, "};"]) + "\n"


def _comment(text: str) -> str:
    return "/* " + re.sub(r"\s+", " ", text).replace("*/", "* /") + " */"


def _defines(rows: Iterable[tuple[str, int, str]]) -> Iterator[str]:
    for name, value, text in rows:
        yield f"#define {name} {value:#x}" + (f" {_comment(text)}" if text else "")


def c_header(machine: Machine, name: str) -> str:
    """The same for C and C++: offsets in the window, masks of their bits, events."""
    prefix = name.upper()
    guard = f"{prefix}_REGISTERS_H"
    usable = [register for register, _ in _of_host(machine)]
    fields = {register.fields.__name__: register.fields for register in usable if register.fields}
    registers = ((f"{prefix}_{one.name}", REGISTERS_HOST + one.offset, one.doc) for one in usable)
    told = {event.name: event.doc for event in machine.event_bits}
    masks = (
        (f"{prefix}_{kind.upper()}_{flag}", int(value), told.get(flag, "") if kind == "Event" else "")
        for kind, flags in fields.items()
        for flag, value in flags.__members__.items()
    )
    sizes = (
        (f"{prefix}_WINDOW_SIZE", PIO_WINDOW_SIZE, "bytes of the host's window"),
        (f"{prefix}_MACHINE_ID", MACHINE_ID, "what ID reads"),
        (f"{prefix}_MACHINE_VERSION", MACHINE_VERSION, "what VERSION reads"),
    )
    head = "Registers as the host sees them: offsets in its window, masks of bits. Words are big-endian."
    return "\n".join(
        [
            _comment(f"{head} Generated: change the declaration instead."),
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            *_defines(sizes),
            "",
            *_defines(registers),
            "",
            *_defines(masks),
            "",
            f"#endif {_comment(guard)}",
            "",
        ]
    )
