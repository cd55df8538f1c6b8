"""Fixtures of firmware tests: sources are written to files, since the compiler compiles files."""

import itertools
import textwrap

import pytest

from lanai_firmware.compiler import build, load_module
from lanai_firmware.iss import Memory, PlainRegisters, Processor

PRELUDE = """\
from lanai_firmware.lang import (
    Array, Const, Global, Ptr, Struct, address_of, at, barrier, cast, copy, fill, firmware, i32, inline, leading_zeros,
    local, maximum, minimum, null, offset_of, popcount, register, sizeof, trailing_zeros, trap, u8, u16, u32,
)
"""
numbers = itertools.count()


@pytest.fixture
def module(tmp_path):
    """`module(text)`: the module with that text after the usual import. Its first own line has
    number 5."""

    def make(text):
        path = tmp_path / f"firmware_{next(numbers)}.py"
        path.write_text(PRELUDE + textwrap.dedent(text))
        return load_module(path)

    return make


class Lanai:
    """An image on the golden model. `registers` answer the on-chip registers."""

    def __init__(self, image, registers=None):
        self.image = image
        self.memory = Memory(image.sram_size)
        self.memory.write(0, image.sram())
        self.processor = Processor(self.memory, registers or PlainRegisters())
        self.processor.add_breakpoint(image.halt)

    def run(self, limit=1_000_000):
        """main's result as an unsigned word."""
        self.stop = self.processor.run(limit)
        return self.word("__result")

    def word(self, symbol, offset=0):
        return int.from_bytes(self.memory.read(self.image.address(symbol) + offset, 4), "big")


@pytest.fixture
def lanai():
    return Lanai


@pytest.fixture
def run_lanai():
    """`run_lanai(function)`: build without the cache, run on the golden model, give the result."""

    def run(function, **options):
        machine = Lanai(build(function, use_cache=False, **options))
        result = machine.run()
        assert machine.stop.name == "BREAKPOINT", (machine.stop, machine.processor.trap)
        return result

    return run
