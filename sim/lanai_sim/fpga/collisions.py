"""Reads that may get anything from a word that is written in the same slot (`ANY_ON_COLLISION`).

Amaranth puts a memory's attributes on the memory. Yosys asks each read port instead. So they are
carried over in the design as Amaranth writes it (RTLIL), whatever its hierarchy is.
"""

import re

from lanai_hdl.memory_attributes import ANY_ON_COLLISION

MARK = "".join(f"attribute \\{name} {value}\n" for name, value in ANY_ON_COLLISION.items())
MODULE = re.compile(r"^module .*?^end$", re.MULTILINE | re.DOTALL)
# A memory's attributes stand right before it.
MEMORY = re.compile(r"((?:^ *attribute \\.*\n)+) *memory .*?(\\\S+)$", re.MULTILINE)
READ = re.compile(r"^ *cell \$memrd_v2 .*?^ *end$", re.MULTILINE | re.DOTALL)
MASK = re.compile(r"(parameter \\COLLISION_X_MASK )(\d+)'0+$", re.MULTILINE)


def allow(rtlil: str) -> str:
    """Return the design with each synchronous read of a marked memory allowed to get anything from
    a word that is written in the same slot."""
    return MODULE.sub(lambda module: _in_module(module.group()), rtlil)


def _in_module(module: str) -> str:
    marked = {name for attributes, name in MEMORY.findall(module) if MARK in _unindented(attributes)}
    if not marked:
        return module
    return READ.sub(lambda read: _allowed(read.group()) if _memory(read.group()) in marked else read.group(), module)


def _unindented(lines: str) -> str:
    return "".join(line.lstrip() for line in lines.splitlines(keepends=True))


def _memory(read: str) -> str | None:
    found = re.search(r'parameter \\MEMID "\\(\\\S+)"', read)
    return found and found.group(1)


def _allowed(read: str) -> str:
    if "parameter \\CLK_ENABLE 1" not in read:
        return read
    return MASK.sub(lambda mask: f"{mask.group(1)}{mask.group(2)}'{'1' * int(mask.group(2))}", read)
