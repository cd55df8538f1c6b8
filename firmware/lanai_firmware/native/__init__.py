"""Firmware at the host's speed: the same IR through LLVM's JIT, on the same big-endian memory
image."""

from .program import NativeProgram, Stopped

__all__ = ["NativeProgram", "Stopped"]
