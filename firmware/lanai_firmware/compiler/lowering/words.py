"""The few IR types that firmware is made of."""

from typing import Any

from llvmlite import ir

WORD = ir.IntType(32)
BIT = ir.IntType(1)
BYTE = ir.IntType(8)
VOID = ir.VoidType()


def word_constant(value: int) -> Any:
    return ir.Constant(WORD, value & 0xFFFFFFFF)


def bit_constant(value: bool) -> Any:
    return ir.Constant(BIT, int(value))
