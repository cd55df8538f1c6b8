"""Scratch registers as this firmware uses them."""

from lanai_firmware.lang import register, u32
from lanai_hdl.machine import local_address

NODE = register(u32, local_address("SCRATCH1"))
ERRORS = register(u32, local_address("HDMA_ERRORS"))
